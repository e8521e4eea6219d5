// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// The manifests of kagent, one file for each form.
var kagentForms = []string{"byo", "byo-complete", "declarative", "models", "next", "servers"}

func importFile(name string) string { return filepath.Join("testdata", "import", name+".yaml") }

func TestImportOfEachFormOfKagent(t *testing.T) {
	for _, form := range kagentForms {
		run(t, "import", "kagent", "-f", importFile(form), "-n", "team").golden(t, "import-kagent-"+form)
	}
	text, err := os.ReadFile(importFile("models"))
	if err != nil {
		t.Fatal(err)
	}
	r := runIn(t.Context(), t, string(text), "import", "kagent", "-f", "-", "-n", "team", "--model-url", "https://gateway.example.com/v1")
	if r.status != 0 || !strings.Contains(r.stdout, "name: with-bedrock") || !strings.Contains(r.stdout, "url: https://gateway.example.com/v1") {
		t.Errorf("%+v", r)
	}
}

func TestImportWritesOneJSONDocument(t *testing.T) {
	r := run(t, "import", "kagent", "-f", importFile("byo-complete"), "-o", "json")
	var out struct {
		Objects []a2av1alpha1.Agent `json:"objects"`
		Report  []conversion.Note   `json:"report"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || len(out.Objects) != 1 || len(out.Report) < 5 || r.stderr != "" {
		t.Errorf("%v: %+v", err, r)
	}
}

func TestImportCard(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent)
	r := run(t, "import", "card", f.URL+"/", "--name", "echo", "-n", "team")
	r.golden(t, "import-card")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/cards/weather" {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprint(w, `{"name":"\u202eWeather 3000","description":"d","version":"1","url":"https://elsewhere.example.com/","preferredTransport":"JSONRPC","protocolVersion":"0.3.0","capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
			"skills":[{"id":"w","name":"w","description":"d","tags":["t"]}],"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"X-Key"}},"security":[{"key":[]}]}`)
	}))
	t.Cleanup(other.Close)
	run(t, "import", "card", other.URL+"/cards/weather", "-n", "team").golden(t, "import-card-elsewhere")
}

func TestImportSkill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "triage")
	if err := os.MkdirAll(filepath.Join(dir, "references"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"SKILL.md": "---\nname: triage\ndescription: Sorts incidents.\nlicense: MIT\n---\n\nSee references/a.md.\n", "references/a.md": "text\n", "data.bin": "\xff",
	} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "import", "skill", dir, "-n", "team").golden(t, "import-skill")
	r := run(t, "import", "skill", dir, "-n", "team", "-o", "json")
	var out struct {
		Objects []map[string]any  `json:"objects"`
		Report  []conversion.Note `json:"report"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || len(out.Objects) != 2 || len(out.Report) != 2 || r.stderr != "" {
		t.Errorf("%v: %+v", err, r)
	}
	if r := run(t, "import", "skill", filepath.Dir(dir)); r.status != 2 || !strings.Contains(r.stderr, "triage/SKILL.md") && !strings.Contains(r.stderr, "has no SKILL.md") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "export", "skill", "triage"); r.status != 2 || !strings.Contains(r.stderr, "needs the arguments NAME DIR") {
		t.Errorf("%+v", r)
	}
}

func TestImportRefusesBadInput(t *testing.T) {
	big := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 64<<20); err != nil {
		t.Fatal(err)
	}
	card := filepath.Join(t.TempDir(), "card.json")
	if err := os.WriteFile(card, []byte(`{"name":"n","description":"d","version":"1","url":"https://example.com/","capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"more than 8 MiB":                  {"kagent", "-f", big},
		"no such file":                     {"kagent", "-f", filepath.Join(t.TempDir(), "none")},
		"--dry-run client is not one of":   {"kagent", "-f", importFile("byo"), "--dry-run", "client"},
		"--output text is not one of yaml": {"kagent", "-f", importFile("byo"), "-o", "text"},
		"--protocol HTTP is not one of":    {"deployment", "echo", "--protocol", "HTTP"},
		"--probe no is not one of":         {"deployment", "echo", "--probe", "no"},
		"--probe never needs --protocol":   {"deployment", "echo", "--probe", "never"},
		"--port 70000 is not a port":       {"deployment", "echo", "--port", "70000"},
		"needs the arguments NAME":         {"deployment"},
		"the card is a file":               {"card", card},
		`unknown command "helm"`:           {"helm"},
	} {
		if r := run(t, append([]string{"import"}, args...)...); r.status != 2 || !strings.Contains(r.stderr, want) || r.stdout != "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := run(t, "import", "deployment", "echo"); r.status != 3 || !strings.Contains(r.stderr, "no cluster is configured") {
		t.Errorf("%+v", r)
	}
}

func TestImportKeepsTextThatWouldControlTheTerminal(t *testing.T) {
	const text = "apiVersion: kagent.dev/v1alpha2\nkind: Agent\nmetadata: {name: a}\nspec: {description: \"\\e[2J\\u202eevil\", type: BYO, byo: {deployment: {image: i}}}\n"
	r := runIn(t.Context(), t, text, "import", "kagent", "-f", "-")
	agent := &a2av1alpha1.Agent{}
	if err := yaml.UnmarshalStrict([]byte(r.stdout), agent); err != nil || agent.Spec.Description != "\x1b[2J\u202eevil" {
		t.Errorf("%v: %+v", err, r)
	}
}

// The rules of a user who may import Deployments.
var (
	readDeployments = rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}}
	listServices    = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list"}}
	applyAgents     = rbacv1.PolicyRule{APIGroups: []string{"a2a-operator.dev"}, Resources: []string{"agents"}, Verbs: []string{"create", "patch"}}
)

// models serves a list of models in the format of the chat completions API.
func models(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/models" {
		http.NotFound(w, r)
		return
	}
	_, _ = fmt.Fprint(w, `{"object":"list","data":[{"id":"qwen","object":"model"}]}`)
}

func TestImportIsAcceptedByTheAPIServer(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an API server")
	}
	c := startCluster(t)
	c.createNamespace(t)
	echo := sidecartest.Start(t, sidecartest.TextAgent)
	llm := httptest.NewServer(http.HandlerFunc(models))
	t.Cleanup(llm.Close)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	for name, server := range map[string]struct{ portName, address string }{"echo": {"", echo.URL}, "llm": {"api", llm.URL}, "web": {"http", web.URL}} {
		text, err := os.ReadFile(importFile("deployment-" + name))
		if err != nil {
			t.Fatal(err)
		}
		documents := strings.Split(string(text), "---\n")
		deployment, service := &appsv1.Deployment{}, &corev1.Service{}
		for i, into := range []any{deployment, service} {
			if err := yaml.UnmarshalStrict([]byte(documents[i]), into); err != nil {
				t.Fatal(err)
			}
		}
		c.create(t, deployment, service)
		c.endpoint(t, service.Name, server.portName, 8000, strings.TrimSuffix(strings.TrimPrefix(server.address, "http://"), "/"))
	}
	rules := []rbacv1.PolicyRule{readDeployments, listServices, readEndpoints, forwardPorts, applyAgents}
	all := c.user(t, "importer", rules...)
	t.Setenv("KUBECONFIG", all)

	t.Run("Deployments", func(t *testing.T) {
		for _, name := range []string{"echo", "llm", "web"} {
			run(t, "import", "deployment", name, "-n", "team", "--dry-run", "server").golden(t, "import-deployment-"+name)
		}
		if r := run(t, "import", "deployment", "echo", "-n", "team"); !strings.Contains(r.stdout, "protocol: A2A") || !strings.Contains(r.stdout, "displayName: Interop") {
			t.Errorf("the card of the container is not read: %+v", r)
		}
		r := run(t, "import", "deployment", "team/web", "--name", "other", "--protocol", "Events", "--description", "Serves pages.", "--dry-run", "server")
		if r.status != 0 || !strings.Contains(r.stdout, "name: other") || strings.Contains(r.stderr, "does not take over") || !strings.Contains(r.stdout, "Serves pages.") {
			t.Errorf("%+v", r)
		}
	})

	t.Run("manifests of kagent", func(t *testing.T) {
		for _, form := range kagentForms {
			r := run(t, "import", "kagent", "-f", importFile(form), "-n", "team", "--dry-run", "server", "--model-url", "https://gateway.example.com/v1")
			if r.status != 0 {
				t.Errorf("%s: %+v", form, r)
			}
		}
	})

	t.Run("cards", func(t *testing.T) {
		if r := run(t, "import", "card", echo.URL, "-n", "team", "--dry-run", "server"); r.status != 0 {
			t.Errorf("%+v", r)
		}
	})

	t.Run("an Agent that the API server rejects is an error", func(t *testing.T) {
		text := strings.Replace(smallKagentAgent, "env: []", "volumes: [{name: x}, {name: x}]", 1)
		r := runIn(t.Context(), t, text, "import", "kagent", "-f", "-", "-n", "team", "--dry-run", "server")
		if r.status != 1 || !strings.Contains(r.stderr, "volumes") || r.stdout != "" {
			t.Errorf("%+v", r)
		}
	})

	t.Run("a namespace that does not exist is named", func(t *testing.T) {
		subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "team", Name: "importer"}
		meta := metav1.ObjectMeta{Name: "importer-everywhere"}
		c.create(t, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{applyAgents}}, &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}, Subjects: []rbacv1.Subject{subject},
		})
		config, err := clientcmd.LoadFromFile(all)
		if err != nil {
			t.Fatal(err)
		}
		c.awaitRule(t, "nowhere", config.AuthInfos["test"].Token, applyAgents)
		r := runIn(t.Context(), t, smallKagentAgent, "import", "kagent", "-f", "-", "-n", "nowhere", "--dry-run", "server")
		if r.status != 3 || !strings.Contains(r.stderr, "there is no namespace nowhere") {
			t.Errorf("%+v", r)
		}
	})

	t.Run("each missing right is named with its rule", func(t *testing.T) {
		for i, rule := range rules {
			t.Setenv("KUBECONFIG", c.user(t, fmt.Sprint("importer-without-", i), slices.Delete(slices.Clone(rules), i, i+1)...))
			r := run(t, "import", "deployment", "echo", "-n", "team", "--dry-run", "server")
			if r.status != 4 || !strings.Contains(r.stderr, "resources: ["+rule.Resources[0]+"], verbs: ["+strings.Join(rule.Verbs, ", ")+"]}") {
				t.Errorf("without %v: %+v", rule, r)
			}
		}
	})

	t.Run("a container that cannot be called needs --protocol", func(t *testing.T) {
		t.Setenv("KUBECONFIG", all)
		c.mu.Lock()
		c.pods["team/echo-pod:8000"] = "127.0.0.1:1"
		c.mu.Unlock()
		if r := run(t, "import", "deployment", "echo", "-n", "team"); r.status != 3 || !strings.Contains(r.stderr, "--protocol") {
			t.Errorf("%+v", r)
		}
		if r := run(t, "import", "deployment", "nobody", "-n", "team"); r.status != 2 || !strings.Contains(r.stderr, "there is no deployment nobody") {
			t.Errorf("%+v", r)
		}
	})
}

const smallKagentAgent = `apiVersion: kagent.dev/v1alpha2
kind: Agent
metadata: {name: a}
spec: {type: BYO, description: d, byo: {deployment: {image: i, env: []}}}
`

// Without a file, the import reads all kinds of kagent in the cluster, and the ConfigMaps whose texts it copies.
func TestImportOfKagentInTheCluster(t *testing.T) {
	const agent = `{"apiVersion":"kagent.dev/v1alpha2","kind":"Agent","metadata":{"name":"helper","namespace":"team"},"spec":{"type":"Declarative","description":"d",
		"declarative":{"modelConfig":"gpt","systemMessage":"{{include \"fragments/rules\"}}","promptTemplate":{"dataSources":[{"name":"fragments"},{"name":"absent"}]}}}}`
	const model = `{"apiVersion":"kagent.dev/v1alpha2","kind":"ModelConfig","metadata":{"name":"gpt","namespace":"team"},"spec":{"provider":"OpenAI","model":"gpt-5-mini"}}`
	const verbs = `"namespaced":true,"verbs":["get","list"]`
	answers := map[string]string{
		"/apis/kagent.dev/v1alpha2":                           `{"kind":"APIResourceList","resources":[{"name":"agents",` + verbs + `},{"name":"agents/status","namespaced":true,"verbs":["get"]},{"name":"modelconfigs",` + verbs + `}]}`,
		"/apis/kagent.dev/v1alpha1":                           `{"kind":"APIResourceList","resources":[{"name":"agents",` + verbs + `},{"name":"mcpservers",` + verbs + `}]}`,
		"/apis/kagent.dev/v1alpha2/agents":                    `{"items":[` + agent + `]}`,
		"/apis/kagent.dev/v1alpha2/modelconfigs":              `{"items":[` + model + `]}`,
		"/apis/kagent.dev/v1alpha1/mcpservers":                `{"items":[]}`,
		"/api/v1/namespaces/team/configmaps/fragments":        `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"fragments","namespace":"team"},"data":{"rules":"Be brief."}}`,
		"/apis/kagent.dev/v1alpha2/namespaces/t/agents":       `{"items":[]}`,
		"/apis/kagent.dev/v1alpha2/namespaces/t/modelconfigs": `{"items":[]}`,
		"/apis/kagent.dev/v1alpha1/namespaces/t/mcpservers":   `{"items":[]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			text = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	r := run(t, "import", "kagent", "-A", "--server", server.URL)
	if r.status != 0 || !strings.Contains(r.stdout, "instructions: Be brief.") || !strings.Contains(r.stdout, "namespace: team") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "import", "kagent", "-n", "t", "--server", server.URL); r.status == 0 || !strings.Contains(r.stderr, "no Agent of kagent") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "import", "kagent", "-A", "-f", "x"); r.status == 0 || !strings.Contains(r.stderr, "exclude each other") {
		t.Errorf("%+v", r)
	}
}

// The example of the page for users of kagent is imported with its tools.
func TestPageOfKagent(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "kagent.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<<'EOF'\n")
	manifests, _, found := strings.Cut(rest, "\nEOF\n")
	if !found {
		t.Fatal("the page has no manifests")
	}
	r := runIn(t.Context(), t, manifests, "import", "kagent", "-f", "-")
	for _, want := range []string{"name: oncall", "url: http://grafana-mcp.tools:8000/mcp", "- update_dashboard", "instructions: You help engineers"} {
		if r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("no %q: %+v", want, r)
		}
	}
}
