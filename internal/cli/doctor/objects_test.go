// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// storedIn returns a fake clientset that holds the objects of a state, and endpoints of the
// cluster's DNS.
func storedIn(s state) *fake.Clientset {
	objects := []runtime.Object{s.shared.Manager, s.f.Deployment, s.f.Service, s.f.ConfigMap, &s.f.Policies[0], &s.f.Endpoints[0], &s.f.Pods[0]}
	dns := s.f.Endpoints[0].DeepCopy()
	dns.Namespace, dns.Labels = "kube-system", map[string]string{"kubernetes.io/service-name": "kube-dns"}
	return fake.NewClientset(append(objects, dns)...)
}

// gathered returns the state that doctor reads from an API server.
func gathered(t *testing.T, client *fake.Clientset, s state, namespace string, agents ...*a2av1alpha1.Agent) []state {
	t.Helper()
	r := &reader{client: client, openAPI: func(context.Context) ([]byte, error) { return openAPIDocument(t), nil }}
	var out []state
	facts := r.agents(t.Context(), namespace, agents)
	shared := &SharedFacts{Now: now, ServerTime: now, Plugin: "v0.1.0"}
	r.shared(t.Context(), shared, facts)
	for _, f := range facts {
		f.Calls = s.f.Calls
		out = append(out, state{shared, f})
	}
	return out
}

// openAPIDocument returns the OpenAPI document of an API server with the CRDs of this tree.
func openAPIDocument(t *testing.T) []byte {
	t.Helper()
	schemas := map[string]any{}
	for plural, name := range map[string]string{"agents": "Agent", "agentskills": "AgentSkill"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "crd", "bases", "a2a-operator.dev_"+plural+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, crd); err != nil {
			t.Fatal(err)
		}
		schemas["dev.a2a-operator.v1alpha1."+name] = crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	document, err := json.Marshal(map[string]any{"components": map[string]any{"schemas": schemas}})
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func TestHealthyAgentHasNoFindingAfterItWasRead(t *testing.T) {
	s := healthy(t)
	other := s.f.Agent.DeepCopy()
	other.Name = "other"
	for name, agents := range map[string][]*a2av1alpha1.Agent{"one": {s.f.Agent}, "all": {s.f.Agent, other}} {
		got := gathered(t, storedIn(s), s, "team", agents...)
		for _, f := range got[0].findings() {
			if f.Level != LevelOK {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if len(got) > 1 && (got[1].f.Service != nil || got[1].f.Pods != nil) {
			t.Errorf("the other Agent has objects of the first: %+v", got[1].f)
		}
	}
}

func TestMissingRightsAreNamedAndTheOtherChecksGoOn(t *testing.T) {
	s := healthy(t)
	client := storedIn(s)
	client.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		resource := a.GetResource().GroupResource()
		if resource.Resource == "pods" || resource.Resource == "networkpolicies" || a.GetNamespace() == "kube-system" {
			return true, nil, apierrors.NewForbidden(resource, "", nil)
		}
		return false, nil, nil
	})
	var rules, checked []string
	for _, f := range gathered(t, client, s, "team", s.f.Agent)[0].findings() {
		if f.Level == LevelOK {
			checked = append(checked, f.Check)
			continue
		}
		rules = append(rules, f.Cure)
		if f.Level != LevelWarning {
			t.Errorf("%+v", f)
		}
	}
	all := strings.Join(rules, "\n")
	for _, rule := range []string{"resources: [pods], verbs: [list]", "resources: [networkpolicies], verbs: [list]", "namespace kube-system with the rule"} {
		if !strings.Contains(all, rule) {
			t.Errorf("no finding has %q:\n%s", rule, all)
		}
	}
	if len(rules) != 3 || !slices.Contains(checked, "conditions") || !slices.Contains(checked, "card") {
		t.Errorf("rules %q, checks %q", rules, checked)
	}
}

func TestPodOfFromIsRead(t *testing.T) {
	s := healthy(t)
	caller := s.f.Pods[0].DeepCopy()
	caller.Namespace, caller.Name = "other", "caller"
	client := storedIn(s)
	if err := client.Tracker().Add(caller); err != nil {
		t.Fatal(err)
	}
	r := &reader{client: client}
	r.callers(t.Context(), "other/caller", []*AgentFacts{s.f})
	if s.f.Caller == nil || s.f.Caller.NamespaceLabels["kubernetes.io/metadata.name"] != "other" || s.f.Caller.IP != "10.0.0.1" {
		t.Errorf("caller %+v", s.f.Caller)
	}
	r.callers(t.Context(), "nothing", []*AgentFacts{s.f})
	if u := s.f.Unread; len(u) != 1 || !strings.Contains(u[0].Err.Message, "there is no pod nothing") {
		t.Errorf("unread %+v", u)
	}
}

// TestFailedHooksAreThoseOfTheAgent reads events about pods of several Deployments.
func TestFailedHooksAreThoseOfTheAgent(t *testing.T) {
	s := healthy(t)
	client := storedIn(s)
	for _, pod := range []string{"echo-5d9c-x", "echo-two-5d9c-x", "other-5d9c-x", "echo"} {
		event := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "team", Name: pod},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "team", Name: pod}, Reason: reasonFailedHook,
		}
		if err := client.Tracker().Add(event); err != nil {
			t.Fatal(err)
		}
	}
	f := gathered(t, client, s, "team", s.f.Agent)[0].f
	if len(f.FailedHooks) != 1 || f.FailedHooks[0].InvolvedObject.Name != "echo-5d9c-x" {
		t.Errorf("failed hooks = %+v, want that of echo-5d9c-x", f.FailedHooks)
	}
}
