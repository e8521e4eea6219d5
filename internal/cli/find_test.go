// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/registry"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// registryHost is the name in the certificate of the registry.
const registryHost = "a2a-operator-registry.team.svc.cluster.local"

// registry runs the registry with TLS, as a pod of the namespace team.
func (c *cluster) registry(t *testing.T) {
	t.Helper()
	dir := writeCertificate(t, registryHost)
	certificate, err := os.ReadFile(filepath.Join(dir, "tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	agents, err := cache.New(c.config, cache.Options{Scheme: c.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	address := freeport.Address(t)
	server := registry.New(registry.Options{BindAddress: address, Cache: agents, Reviews: c, CertificateDir: dir, Log: logr.Discard()})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- agents.Start(ctx) }()
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	for range 500 {
		if err = server.Ready(nil); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Namespace: "team", Name: "a2a-operator-registry", Labels: map[string]string{
		"app.kubernetes.io/name": "a2a-operator", "app.kubernetes.io/component": "registry",
	}, Annotations: map[string]string{"a2a-operator.dev/registry-tls-secret": "registry-tls", "a2a-operator.dev/registry-host": registryHost}}
	c.create(t, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "registry-tls"}, Data: map[string][]byte{"ca.crt": certificate}})
	c.endpoint(t, "a2a-operator-registry", "https", 8444, address)
}

// publish makes the sidecar configuration of an Agent, as the operator does.
func (c *cluster) publish(t *testing.T, name, description string) {
	t.Helper()
	agent := &a2av1alpha1.Agent{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: name}, agent); err != nil {
		t.Fatal(err)
	}
	for i := range agent.Status.Conditions {
		if condition := &agent.Status.Conditions[i]; condition.Type == a2av1alpha1.ConditionAvailable {
			condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, "Available", ""
		}
	}
	if err := c.Status().Update(t.Context(), agent); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": card.Card{
		Name: name, Description: description, Version: "1.0.0",
		Skills: []card.Skill{{ID: "quote", Name: "Quote", Description: description, Tags: []string{"text"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c.create(t, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: names.ConfigMap(name), Labels: names.Labels(name), OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind)),
		}},
		Data: map[string]string{sidecarconfig.FileName: string(text)},
	})
}

// TestServicesOfTenantsAreNoRegistry checks that a Service with the labels of the registry in another namespace gets
// no request, and does not hide the registry.
func TestServicesOfTenantsAreNoRegistry(t *testing.T) {
	service := func(namespace string) corev1.Service {
		return corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a2a-operator-registry", Labels: map[string]string{
				a2av1alpha1.LabelName: a2av1alpha1.ManagedBy, a2av1alpha1.LabelComponent: "registry",
			}},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		}
	}
	for name, test := range map[string]struct {
		services []corev1.Service
		want     string
		tokens   bool
	}{
		"the operator has no registry": {[]corev1.Service{service("tenant")}, "there is no registry in namespace a2a-system", false},
		"the operator has a registry":  {[]corev1.Service{service("a2a-system"), service("tenant")}, "in namespace a2a-system has no ready pod", true},
		"several registries":           {[]corev1.Service{service("a2a-system"), service("a2a-system")}, "there are 2 registries in namespace a2a-system", false},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var requests []string
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				requests = append(requests, r.URL.Path)
				mu.Unlock()
				var answer any
				switch {
				case strings.HasSuffix(r.URL.Path, "/services"):
					list := corev1.ServiceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}}
					for _, each := range test.services {
						if r.URL.Path == "/api/v1/services" || strings.Contains(r.URL.Path, "/namespaces/"+each.Namespace+"/") {
							list.Items = append(list.Items, each)
						}
					}
					answer = list
				case strings.HasSuffix(r.URL.Path, "/token"):
					answer = authenticationv1.TokenRequest{
						TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenRequest"},
						Status:   authenticationv1.TokenRequestStatus{Token: "secret", ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Hour))},
					}
				case strings.HasSuffix(r.URL.Path, "/endpointslices"):
					answer = discoveryv1.EndpointSliceList{TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSliceList"}}
				}
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(answer)
			}))
			t.Cleanup(server.Close)
			t.Setenv("KUBECONFIG", writeKubeconfig(t, server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), "mine", "team"))
			r := run(t, "find")
			if r.status == 0 || !strings.Contains(r.stderr, test.want) {
				t.Errorf("find = %+v, want an error with %q", r, test.want)
			}
			mu.Lock()
			defer mu.Unlock()
			if slices.ContainsFunc(requests, func(path string) bool { return strings.Contains(path, "tenant") }) {
				t.Errorf("requests for the namespace of the tenant: %q", requests)
			}
			if asked := slices.ContainsFunc(requests, func(path string) bool { return strings.HasSuffix(path, "/token") }); asked && !test.tokens {
				t.Errorf("a token was requested: %q", requests)
			}
		})
	}
}

// testFind tests the search in a cluster with the Agents echo, open and broken.
func testFind(t *testing.T, c *cluster) {
	readServices := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list"}}
	readSecret := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"registry-tls"}, Verbs: []string{"get"}}
	rules := []rbacv1.PolicyRule{readServices, readSecret, requestToken, readEndpoints, forwardPorts}
	all := c.user(t, "finder", rules...)
	find := func(t *testing.T, arguments string) result {
		t.Helper()
		return run(t, append([]string{"find", "--registry-namespace", "team"}, strings.Fields(arguments)...)...)
	}
	t.Setenv("KUBECONFIG", all)
	if r := find(t, ""); r.status != 3 || !strings.Contains(r.stderr, "there is no registry in namespace team") {
		t.Errorf("without a registry: %+v", r)
	}
	c.registry(t)
	c.publish(t, "echo", "Says back what it hears.\x1b[2J")
	c.publish(t, "open", "Paints a picture.")
	for range 500 { // until the registry lists both agents
		if r := find(t, "--skill quote --ready -o name"); r.status != 0 || strings.Count(r.stdout, "\n") == 2 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}

	t.Run("outputs", func(t *testing.T) {
		find(t, "").golden(t, "find")
		find(t, "-o wide --ready").golden(t, "find-wide")
		find(t, "painter of pictures -o name").golden(t, "find-name")
		find(t, "--skill none").golden(t, "find-none")
		find(t, "--limit 1").golden(t, "find-page")
		for _, arguments := range []string{"-o json", "-o json --limit 1 --all"} {
			var document struct {
				Items []struct{ Name string }
				Total int
			}
			r := find(t, arguments)
			if err := json.Unmarshal([]byte(r.stdout), &document); err != nil || len(document.Items) != 3 || document.Total != 3 || document.Items[1].Name != "echo" {
				t.Errorf("%v: %+v", err, r)
			}
		}
		if r := find(t, "--ready=false -o yaml"); r.status != 0 || !strings.Contains(r.stdout, "\n  name: broken\n") || !strings.Contains(r.stdout, "total: 1") {
			t.Errorf("%+v", r)
		}
	})

	t.Run("all namespaces are searched as a named ServiceAccount", func(t *testing.T) {
		find(t, "-A").golden(t, "find-all-namespaces")
		if r := find(t, "-A -o name"); r.status != 0 || r.stderr != "" {
			t.Errorf("%+v", r)
		}
	})

	t.Run("skills and tags are completed", func(t *testing.T) {
		for flag, want := range map[string]string{"--skill": "quote\n", "--tag": "text\n", "--protocol": "1.0\n"} {
			if r := run(t, "__complete", "find", "--registry-namespace", "team", flag, ""); !strings.Contains(r.stdout, want) || strings.Contains(r.stdout, "Error") {
				t.Errorf("%s: %+v", flag, r)
			}
		}
	})

	t.Run("each missing right is named with its rule", func(t *testing.T) {
		for i, rule := range rules {
			others := append(append([]rbacv1.PolicyRule{}, rules[:i]...), rules[i+1:]...)
			t.Setenv("KUBECONFIG", c.user(t, fmt.Sprint("finder-without", i), others...))
			r := find(t, "")
			if r.status != 4 || !strings.Contains(r.stderr, "resources: ["+rule.Resources[0]+"]") || !strings.Contains(r.stderr, "verbs: ["+rule.Verbs[0]+"]") {
				t.Errorf("without %v: %+v", rule, r)
			}
		}
		t.Setenv("KUBECONFIG", all)
		if r := run(t, "find"); r.status != 4 || !strings.Contains(r.stderr, "Role in namespace a2a-system") || !strings.Contains(r.stderr, "--registry-namespace") {
			t.Errorf("in the default namespace: %+v", r)
		}
	})

	t.Run("a viewer of the namespace needs no other right", func(t *testing.T) {
		viewer := []rbacv1.PolicyRule{
			{APIGroups: []string{"a2a-operator.dev"}, Resources: []string{"agents"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}},
		}
		t.Setenv("KUBECONFIG", c.user(t, "viewer", viewer...))
		find(t, "").golden(t, "find-viewer")
		if r := find(t, "painter of pictures --as-self -o name"); r.status != 0 || !strings.HasPrefix(r.stdout, "team/open\n") || r.stderr != "" {
			t.Errorf("%+v", r)
		}
		if r := find(t, "-A --as-self"); r.status != 4 || !strings.Contains(r.stderr, "ask for a ClusterRole") {
			t.Errorf("%+v", r)
		}
		if r := find(t, "--as-self --registry-token x"); r.status != 2 {
			t.Errorf("%+v", r)
		}
		for i, rule := range viewer {
			t.Setenv("KUBECONFIG", c.user(t, fmt.Sprint("viewer-without", i), viewer[1-i]))
			r := find(t, "--as-self")
			if r.status != 4 || !strings.Contains(r.stderr, "resources: ["+rule.Resources[0]+"], verbs: [list, watch]") {
				t.Errorf("without %v: %+v", rule, r)
			}
		}
		t.Setenv("KUBECONFIG", all)
	})

	t.Run("mistakes", func(t *testing.T) {
		for arguments, want := range map[string]string{
			"paint -w": "--text", "-w --all": "--watch", "--limit 201": "--limit", "-A -n team": "exclude", "--registry ftp://x": "http://",
			"--protocol " + strings.Repeat("x", 600): "the registry refuses the search",
		} {
			if r := find(t, arguments); r.status != 2 || !strings.Contains(r.stderr, want) {
				t.Errorf("%s: %+v", arguments, r)
			}
		}
		if r := find(t, "--ca-file "+filepath.Join(t.TempDir(), "none")); r.status != 2 {
			t.Errorf("%+v", r)
		}
		if r := find(t, "--registry-token wrong"); r.status != 4 || !strings.Contains(r.stderr, "does not accept the token") {
			t.Errorf("%+v", r)
		}
		if r := run(t, "find", "--registry", "http://127.0.0.1:1"); r.status != 3 {
			t.Errorf("%+v", r)
		}
	})

	t.Run("watch", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		lines := make(chan string)
		reader, writer := io.Pipe()
		go func() {
			defer close(lines)
			decoder := json.NewDecoder(reader)
			for {
				var change struct {
					Type  string
					Agent struct{ Name string }
				}
				if decoder.Decode(&change) != nil {
					return
				}
				lines <- change.Type + " " + change.Agent.Name
			}
		}()
		status := make(chan int, 1)
		go func() {
			defer func() { _ = writer.Close() }()
			status <- Run(ctx, []string{"find", "--registry-namespace", "team", "-w", "-o", "json", "--skill", "quote"},
				genericiooptions.IOStreams{In: strings.NewReader(""), Out: writer, ErrOut: io.Discard})
		}()
		next := func(want string) {
			t.Helper()
			select {
			case got := <-lines:
				if got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("no %q", want)
			}
		}
		next("Added echo")
		next("Added open")
		if err := c.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: names.ConfigMap("open")}}); err != nil {
			t.Fatal(err)
		}
		next("Removed open") // it does not have the skill anymore
		cancel()
		if got := <-status; got != 130 {
			t.Errorf("an interrupted watch ended with %d", got)
		}
	})
}

// A registry whose pages never end fills no memory: the command prints what it has collected, and the token of the next page.
func TestFindOfEndlessPagesIsBounded(t *testing.T) {
	description := strings.Repeat("x", 6<<20)
	pages := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		pages++
		_, _ = fmt.Fprintf(w, `{"items":[{"namespace":"team","name":"a","description":%q}],"nextCursor":"c%d","total":1}`, description, pages)
	}))
	t.Cleanup(server.Close)
	r := run(t, "find", "--all", "-A", "-o", "name", "--registry", server.URL, "--registry-token", "x")
	if r.status != 0 || pages > maxBytes>>20 || !strings.Contains(r.stderr, "--page-token") || !strings.Contains(r.stdout, "team/a") {
		t.Errorf("%d pages, status %d, %.300s", pages, r.status, r.stderr)
	}
}

// find --all that ends before the last page says so for each output, because a script would take a part for the whole.
func TestFindSaysThatItEndsEarly(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"items":[{"namespace":"team","name":"a"}],"nextCursor":"again","total":9}`)
	}))
	t.Cleanup(server.Close)
	for _, output := range []string{outputText, outputWide, outputName, outputJSON, outputYAML} {
		r := run(t, "find", "--all", "-A", "-o", output, "--registry", server.URL, "--registry-token", "x")
		if r.status != 0 || r.stdout == "" || !strings.Contains(r.stderr, "not all agents: 2 of 9. Add --page-token") || strings.Contains(r.stderr, "--all") {
			t.Errorf("%s: the command does not say that there are more agents: %+v", output, r)
		}
	}
}
