// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// A template must read each value. Otherwise the chart would accept a value without effect.
func TestTemplatesReadEveryValue(t *testing.T) {
	var templates strings.Builder
	err := filepath.WalkDir(filepath.Join(root, chartDir, "templates"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		templates.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]bool{}
	for _, match := range regexp.MustCompile(`\.Values\.([A-Za-z.]+)`).FindAllStringSubmatch(templates.String(), -1) {
		read[match[1]] = true
	}
	var values map[string]any
	load(t, "values.yaml", &values)
	for _, path := range leaves("", values) {
		// A template may read the value, or pass on the group that contains it.
		found := false
		for group := path; !found && group != ""; group = group[:max(strings.LastIndex(group, "."), 0)] {
			found = read[group]
		}
		if !found {
			t.Errorf("no template reads %s", path)
		}
	}
}

func TestSchemaListsTheValues(t *testing.T) {
	type schema struct {
		Properties           map[string]json.RawMessage
		AdditionalProperties any
	}
	var walk func(prefix string, node json.RawMessage) []string
	walk = func(prefix string, node json.RawMessage) []string {
		var s schema
		if err := json.Unmarshal(node, &s); err != nil {
			t.Fatal(err)
		}
		if s.Properties == nil {
			return []string{strings.TrimSuffix(prefix, ".")}
		}
		if s.AdditionalProperties != false {
			t.Errorf("%q allows additional properties", prefix)
		}
		var paths []string
		for name, property := range s.Properties {
			paths = append(paths, walk(prefix+name+".", property)...)
		}
		return paths
	}
	var document json.RawMessage
	load(t, "values.schema.json", &document)
	var values map[string]any
	load(t, "values.yaml", &values)

	listed := leaves("", values)
	for _, path := range walk("", document) {
		known := path == "global" || slices.ContainsFunc(listed, func(value string) bool {
			// values.yaml may list a whole object, such as affinity: {}.
			return value == path || strings.HasPrefix(path, value+".") || strings.HasPrefix(value, path+".")
		})
		if !known {
			t.Errorf("the schema allows %s, which values.yaml does not list", path)
		}
	}
}

func load(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, chartDir, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// leaves returns the paths of all values that are not groups.
func leaves(prefix string, values map[string]any) []string {
	var paths []string
	for name, value := range values {
		if group, ok := value.(map[string]any); ok && len(group) > 0 {
			paths = append(paths, leaves(prefix+name+".", group)...)
		} else {
			paths = append(paths, prefix+name)
		}
	}
	return paths
}

// TestEveryValueIsNamedByATest searches the values in the texts of the tests in this package:
// a value that no test sets could have no effect, or a wrong one.
func TestEveryValueIsNamedByATest(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			expression, ok := n.(ast.Expr)
			text, found := textOf(expression)
			var values map[string]any
			if !ok || !found || yaml.Unmarshal([]byte(text), &values) != nil {
				return true
			}
			named = append(named, leaves("", values)...)
			return false
		})
	}
	var values map[string]any
	load(t, "values.yaml", &values)
	for _, path := range leaves("", values) {
		if !slices.ContainsFunc(named, func(name string) bool { return name == path || strings.HasPrefix(name, path+".") }) {
			t.Errorf("no test sets %s", path)
		}
	}
}

// TestValuesReplaceTheDefaults sets values whose defaults the other tests keep.
func TestValuesReplaceTheDefaults(t *testing.T) {
	rendered := render(t, "registry: {oidc: {issuer: 'https://login.example', audience: a, usernamePrefix: 'u:', groupsClaim: roles, ca: {configMap: login-ca, key: root.pem}}}\n"+
		"ui: {enabled: true, url: 'https://agents.example', tls: {secret: page-tls}, service: {type: LoadBalancer, loadBalancerClass: internal, annotations: {c: d}}}\n"+
		"resources: {requests: {cpu: 70m, memory: 90Mi}}\n"+
		"securityContext: {readOnlyRootFilesystem: false, allowPrivilegeEscalation: true, capabilities: {drop: [NET_RAW]}}\n"+
		"monitoring: {dashboards: {enabled: true, labels: {grafana_dashboard: mine}}}\n"+
		"egress: {proxy: {url: 'http://proxy.example:3128', noProxy: [direct.example, 203.0.113.0/24], secret: proxy-login}}\n"+
		"sidecar: {clientCertificate: {driver: spiffe.csi.cert-manager.io, attributes: {spiffe.csi.cert-manager.io/fs-group: '65532', b: 'c\"$(d)'}, hosts: [a.example, '*.b.example']}, preStop: Exec, runAsUser: 1000700000, resources: {requests: {cpu: 20m, memory: 64Mi}, limits: {cpu: 1, memory: null}}}\n"+
		"networkPolicy: {registryFrom: [{podSelector: {}}], outsideFrom: [{podSelector: {}}], uiFrom: [{podSelector: {}}], extraIngress: [{ports: [{port: health}]}]}\n")
	deployment := typed[*appsv1.Deployment](t, rendered["Deployment a2a-operator-manager"])
	hasArgs(t, deployment, "--registry-oidc-username-prefix=u:", "--registry-oidc-groups-claim=roles", "--sidecar-resources-requests=cpu=20m,memory=64Mi", "--sidecar-resources-limits=cpu=1", "--sidecar-run-as-user=1000700000", "--sidecar-pre-stop=Exec",
		"--sidecar-client-certificate-driver=spiffe.csi.cert-manager.io", `--sidecar-client-certificate-attributes=b=c"$$(d),spiffe.csi.cert-manager.io/fs-group=65532`, "--sidecar-client-certificate-hosts=a.example,*.b.example",
		"--egress-proxy-url=http://proxy.example:3128", "--egress-proxy-no-proxy=direct.example,203.0.113.0/24", "--egress-proxy-secret=proxy-login", "--egress-proxy-credentials=/etc/a2a-operator/egress-proxy")
	if !slices.ContainsFunc(deployment.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == "egress-proxy" && v.Secret != nil && v.Secret.SecretName == "proxy-login" && *v.Secret.Optional
	}) {
		t.Error("no volume has the credential for the proxy")
	}
	if !slices.ContainsFunc(deployment.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == "registry-oidc-ca" && v.ConfigMap != nil && v.ConfigMap.Items[0].Key == "root.pem"
	}) {
		t.Error("no volume has the key root.pem of the authority")
	}
	container := manager(deployment)
	equal(t, "CPU request", container.Resources.Requests.Cpu().String(), "70m")
	equal(t, "memory request", container.Resources.Requests.Memory().String(), "90Mi")
	equal(t, "read-only root", *container.SecurityContext.ReadOnlyRootFilesystem, false)
	equal(t, "privilege escalation", *container.SecurityContext.AllowPrivilegeEscalation, true)
	equal(t, "dropped capability", container.SecurityContext.Capabilities.Drop[0], "NET_RAW")
	equal(t, "type of the page's Service", typed[*corev1.Service](t, rendered["Service a2a-operator-ui"]).Spec.Type, corev1.ServiceTypeLoadBalancer)
	equal(t, "class of the page's load balancer", *typed[*corev1.Service](t, rendered["Service a2a-operator-ui"]).Spec.LoadBalancerClass, "internal")
	equal(t, "annotation of the page's Service", rendered["Service a2a-operator-ui"].GetAnnotations()["c"], "d")
	equal(t, "label of a dashboard", rendered["ConfigMap a2a-operator-dashboard-fleet"].GetLabels()["grafana_dashboard"], "mine")
}

// textOf returns the text of a literal, or of literals that are joined with other expressions,
// which it replaces by x.
func textOf(expression ast.Expr) (string, bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, foundLeft := textOf(e.X)
		right, foundRight := textOf(e.Y)
		return cmp.Or(left, "x") + cmp.Or(right, "x"), e.Op == token.ADD && (foundLeft || foundRight)
	default:
		return "", false
	}
}

// TestValuesAreNamedAsTheManagersFlags compares the names of values with the names of the flags that they set. For
// example, remote.ca sets --remote-ca-file.
func TestValuesAreNamedAsTheManagersFlags(t *testing.T) {
	valueOf := map[string]string{
		"--sidecar-image":                    "sidecar.image",
		"--cluster-domain":                   "clusterDomain",
		"--registry-url":                     "registry",
		"--registry-cert-dir":                "registry",
		"--registry-ca-file":                 "registry",
		"--registry-oidc-issuer":             "registry.oidc.issuer",
		"--registry-oidc-audience":           "registry.oidc.audience",
		"--registry-oidc-username-claim":     "registry.oidc.usernameClaim",
		"--registry-oidc-username-prefix":    "registry.oidc.usernamePrefix",
		"--registry-oidc-groups-claim":       "registry.oidc.groupsClaim",
		"--registry-oidc-groups-prefix":      "registry.oidc.groupsPrefix",
		"--registry-oidc-ca-file":            "registry.oidc.ca",
		"--registry-review-all-namespaces":   "registry.reviewAllNamespaces",
		"--registry-publisher":               "registry.publisher",
		"--registry-outside-bind-address":    "registry.outside",
		"--registry-outside-url":             "registry.outside.url",
		"--registry-peers-file":              "registry.peers",
		"--registry-embeddings-url":          "registry.embeddings.url",
		"--registry-embeddings-model":        "registry.embeddings.model",
		"--registry-embeddings-api-key-file": "registry.embeddings",
		"--ui-bind-address":                  "ui",
		"--ui-url":                           "ui.url",
		"--ui-audience":                      "ui.audience",
		"--ui-sign-out-path":                 "ui.signOutPath",
		"--ui-cert-dir":                      "ui",
		"--watch-namespaces":                 "watchNamespaces",
		"--sidecar-resources-requests":       "sidecar.resources.requests",
		"--sidecar-resources-limits":         "sidecar.resources.limits",
		"--sidecar-run-as-user":              "sidecar.runAsUser",
		"--sidecar-pre-stop":                 "sidecar.preStop",

		"--sidecar-client-certificate-driver":     "sidecar.clientCertificate.driver",
		"--sidecar-client-certificate-attributes": "sidecar.clientCertificate.attributes",
		"--sidecar-client-certificate-hosts":      "sidecar.clientCertificate.hosts",

		"--egress-proxy-url":         "egress.proxy.url",
		"--egress-proxy-no-proxy":    "egress.proxy.noProxy",
		"--egress-proxy-secret":      "egress.proxy.secret",
		"--egress-proxy-credentials": "egress.proxy",
		"--exposure-allowed-file":    "exposure.allowed",
		"--remote-allow":             "remote.allow",
		"--trusted-proxies":          "trustedProxies",
		"--remote-ca-file":           "remote.ca",
		"--tracing-endpoint":         "tracing.endpoint",
		"--tracing-sampling-percent": "tracing.samplingPercent",
		"--tracing-draft-attributes": "tracing.draftAttributes",
		"--metrics-bind-address":     "metrics",
		"--log-level":                "logLevel",

		// The chart sets these flags to the same value in every installation, and the name to that of the release.
		"--leader-elect":              "",
		"--name":                      "",
		"--registry-bind-address":     "",
		"--health-probe-bind-address": "",
	}
	var values map[string]any
	load(t, "values.yaml", &values)
	listed := leaves("", values)
	template, err := os.ReadFile(filepath.Join(root, chartDir, "templates", "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^ +- .*?(--[a-z-]+)`).FindAllStringSubmatch(string(template), -1)
	if len(flags) != len(valueOf) {
		t.Errorf("the Deployment sets %d flags, want %d", len(flags), len(valueOf))
	}
	upper := regexp.MustCompile(`[A-Z]`)
	for _, match := range flags {
		value, known := valueOf[match[1]]
		name := upper.ReplaceAllStringFunc(strings.ReplaceAll(value, ".", "-"), func(letter string) string { return "-" + strings.ToLower(letter) })
		exists := value == "" || slices.ContainsFunc(listed, func(path string) bool { return path == value || strings.HasPrefix(path, value+".") })
		if !known || !exists || !strings.HasPrefix(match[1], "--"+name) {
			t.Errorf("flag %s is set by value %q (listed: %t), want a value of its name", match[1], value, exists)
		}
	}
}

// TestUnknownValuesAreNamed checks that the refusal of a values file with the habits of other charts names each unknown key.
func TestUnknownValuesAreNamed(t *testing.T) {
	const habits = `
replicaCount: 2
installCRDs: true
serviceMonitor: {enabled: true}
prometheus: {enabled: true}
certManager: {enabled: true}
webhook: {enabled: true}
controller: {replicas: 2}
leaderElection: {enabled: true}
rbac: {create: true}
image: {name: x, pullSecrets: []}
resources: {request: {cpu: 1}}
metrics: {service: {port: 8080}, serviceMonitor: {additionalLabels: {a: b}}}
`
	_, err := helm(t, habits)
	if err == nil {
		t.Fatal("the values of other charts are accepted")
	}
	for _, key := range []string{
		"replicaCount", "installCRDs", "serviceMonitor", "prometheus", "certManager", "webhook", "controller", "leaderElection",
		"create", "name", "pullSecrets", "request", "service", "additionalLabels",
	} {
		if !strings.Contains(err.Error(), "'"+key+"'") {
			t.Errorf("the refusal does not name %s: %v", key, err)
		}
	}
}

// TestReleaseNamesWithDots checks that a release whose name has a dot gets names that every object may have.
func TestReleaseNamesWithDots(t *testing.T) {
	out, err := tool("helm", "template", "my.blue", chartDir, "--namespace", namespace)
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for key := range objects(t, out) {
		kind, name, _ := strings.Cut(key, " ")
		if kind == "CustomResourceDefinition" {
			continue
		}
		if strings.Contains(name, ".") {
			t.Errorf("%s %s has a dot", kind, name)
		}
		if strings.HasPrefix(name, "my-blue-") {
			names++
		}
	}
	if names < 8 {
		t.Errorf("%d objects have the name of the release", names)
	}
}
