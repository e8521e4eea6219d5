// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	newsdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	realregistry "github.com/a2a-operator/a2a-operator/internal/registry"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// ardToken is the token of team/default that the API server of these tests accepts.
const ardToken = "identity"

// TestPythonARDClientsFindAnAgent gives two ARD clients the URL of the registry, a token and a question. The SDK for A2A
// then calls the agent that they find.
func TestPythonARDClientsFindAnAgent(t *testing.T) {
	const question = "who can repeat my words"
	for name, find := range map[string]func(t *testing.T, url, authority string) (found, cardURL string){
		"ard-sdk 0.5.0": func(t *testing.T, url, authority string) (string, string) {
			program := environment(t, "ard-sdk")
			t.Setenv("SSL_CERT_FILE", authority)
			got := runSteps(t, "python", program, "-u", "client_ard.py", url, ardToken, question)
			if got["registries"] != "1" {
				t.Errorf("the manifest names %q registries, want 1", got["registries"])
			}
			return got["found"], got["card"]
		},
		"hf-discover 1.3.7": func(t *testing.T, url, authority string) (string, string) {
			program := environment(t, "hf-discover")
			t.Setenv("SSL_CERT_FILE", authority)
			command := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(program), "hf-discover"), "navigate", url, question, "--token", ardToken, "--json")
			var stderr strings.Builder
			command.Stderr = &stderr
			out, err := command.Output()
			if err != nil {
				t.Fatalf("hf-discover: %v\n%s", err, stderr.String())
			}
			var report struct {
				Results []struct{ Identifier, Type, URL string }
			}
			if err := json.Unmarshal(out, &report); err != nil || len(report.Results) == 0 {
				t.Fatalf("hf-discover wrote %s: %v", out, err)
			}
			var found []string
			for _, result := range report.Results {
				found = append(found, result.Identifier)
			}
			return strings.Join(found, " "), report.Results[0].URL
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, authority := startRegistry(t,
				agentObjects(t, "team", "echo", "Repeats words.", "Repeat my words"),
				agentObjects(t, "team", "tax", "Computes taxes."),
				agentObjects(t, "hidden", "parrot", "Repeats words.", "Repeat my words"))
			found, cardURL := find(t, url, authority)
			if want := "urn:air:agents.example:team:echo"; found != want {
				t.Errorf("the client found %q, want %q", found, want)
			}
			if want := "http://echo.team.svc.cluster.local" + wellKnownCard; cardURL != want {
				t.Fatalf("the card is at %q, want %q", cardURL, want)
			}
			transport := &http.Transport{}
			t.Cleanup(transport.CloseIdleConnections)
			inCluster := &http.Client{Transport: clusterDNS{transport, sidecartest.Start(t, sidecartest.TextAgent)}}
			caller, err := newV1(newsdk.Version, newsdk.TransportProtocolJSONRPC)(t.Context(), target{
				client: inCluster, url: strings.TrimSuffix(cardURL, wellKnownCard),
			})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := caller.send(t.Context(), message{Text: "Hi"})
			if err != nil || answer.State != "completed" || answer.Text != "Hello world" {
				t.Errorf("send() = %+v, %v", answer, err)
			}
		})
	}
}

const wellKnownCard = "/.well-known/agent-card.json"

// clusterDNS is the transport of a client in a cluster. It resolves the names of all Services to one agent.
type clusterDNS struct {
	http.RoundTripper
	agent *sidecartest.Fixture
}

func (d clusterDNS) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = strings.TrimPrefix(d.agent.URL, "http://")
	r.Host = r.URL.Host // the sidecar admits anonymous callers to loopback names only
	return d.RoundTripper.RoundTrip(r)
}

// agentObjects returns an Agent with one skill, and the ConfigMap that the operator has for it.
func agentObjects(t *testing.T, namespace, name, description string, examples ...string) []client.Object {
	t.Helper()
	agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid-of-the-agent"}}
	agent.Status.URL = "http://" + name + "." + namespace + ".svc.cluster.local/"
	agent.Status.Conditions = []metav1.Condition{{Type: a2av1alpha1.ConditionAvailable, Status: metav1.ConditionTrue}}
	text, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": card.Card{
		Name: name, Description: description, Version: "1.0.0",
		Skills: []card.Skill{{ID: name, Name: name, Description: description, Tags: []string{"test"}, Examples: examples}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.ConfigMap(name), OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind)),
		}},
		Data: map[string]string{sidecarconfig.FileName: string(text)},
	}
	return []client.Object{agent, config}
}

// startRegistry runs the registry with TLS until the test ends, and returns its URL and the file with its authority.
func startRegistry(t *testing.T, agents ...[]client.Object) (url, authority string) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), rbacv1.AddToScheme(scheme), a2av1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	objects := fake.NewClientBuilder().WithScheme(scheme)
	for _, each := range agents {
		objects.WithObjects(each...)
	}
	cache := &objectCache{Reader: objects.Build(), FakeInformers: &informertest.FakeInformers{Scheme: scheme, InformersByGVK: map[schema.GroupVersionKind]toolscache.SharedIndexInformer{}}}
	informers := map[schema.GroupVersionKind]*controllertest.FakeInformer{}
	agentKind := a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind)
	for _, kind := range []schema.GroupVersionKind{
		agentKind, corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		rbacv1.SchemeGroupVersion.WithKind("Role"), rbacv1.SchemeGroupVersion.WithKind("ClusterRole"),
		rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
	} {
		informers[kind] = controllertest.NewFakeInformer()
		cache.InformersByGVK[kind] = informers[kind]
	}
	dir, authority := newCertificate(t)
	address := freeport.Address(t)
	publisher, err := ard.NewPublisher("agents.example", "https://"+address)
	if err != nil {
		t.Fatal(err)
	}
	server := realregistry.New(realregistry.Options{
		BindAddress: address, Cache: cache, Reviews: reviews{}, CertificateDir: dir, Publisher: publisher, Log: logr.Discard(),
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the registry: %v", err)
		}
	})
	await := func(what string, done func() bool) {
		t.Helper()
		deadline := time.After(10 * time.Second)
		for !done() {
			select {
			case <-deadline:
				t.Fatalf("the registry does not %s", what)
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	// The registry registers its handlers before it answers. This request therefore orders the registration before the
	// requests of the test, for the race detector.
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: certificatePool(t, authority)}}
	t.Cleanup(transport.CloseIdleConnections)
	await("answer", func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
	for _, each := range agents {
		informers[agentKind].Add(each[0].(*a2av1alpha1.Agent))
	}
	for _, informer := range informers {
		informer.Synced()
	}
	await("become ready", func() bool { return server.Ready(nil) == nil })
	return "https://" + address, authority
}

// objectCache is a cache of fixed objects.
type objectCache struct {
	client.Reader
	*informertest.FakeInformers
}

func (c *objectCache) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.Reader.Get(ctx, key, object, options...)
}

func (c *objectCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.Reader.List(ctx, list, options...)
}

// reviews answers the reviews of the registry. It accepts one token, and lets no caller list Agents of other namespaces.
type reviews struct{ client.Writer }

func (reviews) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	switch review := object.(type) {
	case *authenticationv1.TokenReview:
		if review.Spec.Token == ardToken {
			review.Status = authenticationv1.TokenReviewStatus{
				Authenticated: true, Audiences: []string{a2av1alpha1.Audience},
				User: authenticationv1.UserInfo{Username: "system:serviceaccount:team:default"},
			}
		}
	case *authorizationv1.SubjectAccessReview:
		review.Status.Allowed = false
	}
	return nil
}
