// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// After any sequence of changes, an entry that reuses parts of the last one is equal to
// an entry that is built from nothing.
func TestReusedEntryEqualsNewEntry(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	agent := testAgent()
	config := testConfigMap(t, agent, "First")
	texts := []string{"", "a", `"quotes", <html> & \u2028`, `,"url":"x","ready":true`, "Größe"}
	text := func() string { return texts[random.IntN(len(texts))] }
	hasConfig := true
	changes := map[string]func(){
		"readiness": func() {
			status := []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse}[random.IntN(2)]
			agent.Status.Conditions = []metav1.Condition{{
				Type: a2av1alpha1.ConditionAvailable, Status: status, Reason: text(), LastTransitionTime: metav1.Unix(random.Int64N(1e9), 0),
			}}
		},
		"another condition": func() {
			agent.Status.Conditions = append(agent.Status.Conditions, metav1.Condition{Type: "Other", LastTransitionTime: metav1.Unix(random.Int64N(2e9), 0)})
		},
		"no condition": func() { agent.Status.Conditions = nil },
		"annotation":   func() { agent.Annotations = map[string]string{"note": text()} },
		"creation":     func() { agent.CreationTimestamp = metav1.NewTime(time.Unix(random.Int64N(1e9), 0)) },
		"URLs":         func() { agent.Status.URL, agent.Status.ExternalURL = text(), text() },
		"visibility": func() {
			agent.Spec.Discovery.Visibility = []a2av1alpha1.Visibility{"", a2av1alpha1.VisibilityPublic}[random.IntN(2)]
		},
		"texts":           func() { agent.Spec.DisplayName, agent.Spec.Description, agent.Spec.Version = text(), text(), text() },
		"admitted":        func() { agent.Spec.Access.Authorization = randomRules(random) },
		"a card":          func() { config.Data = testConfigMap(t, agent, "Card "+text()).Data },
		"a copied card":   func() { config = config.DeepCopy() },
		"the resource":    func() { config.ResourceVersion = fmt.Sprint(random.IntN(1000)) },
		"the Agent":       func() { agent.ResourceVersion = fmt.Sprint(random.IntN(1000)) },
		"no card":         func() { config.Data = nil },
		"no ConfigMap":    func() { hasConfig = !hasConfig },
		"another version": func() { config.Data = map[string]string{sidecarconfig.FileName: `{"version":"v9"}`} },
		"a remote agent": func() {
			agent.Spec.Remote = &a2av1alpha1.AgentRemote{URL: "https://far.example"}
			config.Data = map[string]string{sidecarconfig.CardFileName: `{"name":"Far","description":"From afar","version":"2","provider":{"organization":"o","url":"u"}}`}
		},
		"a local agent": func() { agent.Spec.Remote = nil },
	}
	names := make([]string, 0, len(changes))
	for name := range changes {
		names = append(names, name)
	}
	var last *Entry
	done := []string{}
	for range 400 {
		name := names[random.IntN(len(names))]
		changes[name]()
		done = append(done, name)
		s := sourceOf(t, agent.DeepCopy())
		if hasConfig {
			s = sourceOf(t, agent.DeepCopy(), config.DeepCopy())
		}
		got, _ := readEcho(t, s, last)
		want, _ := readEcho(t, s, nil)
		if want.source.Text == "" && got.source.Text != "" { // the text cannot be decoded, and the last card stays
			if _, err := (CardSource{Text: config.Data[sidecarconfig.FileName]}).decode(); err == nil || last == nil || got.source != last.source {
				t.Fatalf("after %q: the entry has a card that the agent does not have", done[max(0, len(done)-5):])
			}
			revision := want.Revision
			want, _ = NewEntry(factsOf(agent), got.source)
			want.Revision = revision
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("after %q:\n got %s %+v\nwant %s %+v", done[max(0, len(done)-5):], got.body, got, want.body, want)
		}
		if !json.Valid(got.body) {
			t.Fatalf("after %q: %s is no JSON", name, got.body)
		}
		last = got
	}
}

func randomRules(random *rand.Rand) []a2av1alpha1.AuthorizationRule {
	return []a2av1alpha1.AuthorizationRule{{
		Action: a2av1alpha1.AuthorizationAllow, Namespaces: []string{fmt.Sprintf("team-%d", random.IntN(3))},
	}}
}

// BenchmarkReadinessChange compares the entry of an agent whose readiness changes with an
// entry that is built from nothing.
func BenchmarkReadinessChange(b *testing.B) {
	e := makeEntry(b, Key{"team", "agent"}, true, "one", "two", "three")
	facts := Facts{Key: e.Key, URL: "http://agent.team/"}
	compare(b, "reused", func() {
		if _, err := entryOf(facts, e.source, e); err != nil {
			b.Fatal(err)
		}
	}, "rebuilt", func() {
		if _, err := NewEntry(facts, e.source); err != nil {
			b.Fatal(err)
		}
	})
}

// Read must not change the objects that it reads: the cache serves them without copies, and the
// controllers read the same objects.
func TestReadChangesNoCachedObject(t *testing.T) {
	agent := testAgent()
	agent.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{
		{Action: a2av1alpha1.AuthorizationAllow, Namespaces: []string{"team-b", "not a name", "team-a", "team-b"}},
		{Action: a2av1alpha1.AuthorizationAllow, Principals: []string{"system:serviceaccount:team-c:bot", "dev"}},
	}
	agent.Status.Conditions = []metav1.Condition{
		{Type: "Other", LastTransitionTime: metav1.Unix(2, 0)}, {Type: a2av1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, LastTransitionTime: metav1.Unix(1, 0)},
	}
	cached := &uncopied{agent: agent, config: testConfigMap(t, agent, "First")}
	agentBefore, configBefore := cached.agent.DeepCopy(), cached.config.DeepCopy()
	s := &Source{Reader: cached}
	first, _ := readEcho(t, s, nil)
	readEcho(t, s, first)
	if !cached.shared {
		t.Error("Read asked for copies")
	}
	if diff := cmp.Diff(agentBefore, cached.agent); diff != "" {
		t.Errorf("Read changed the Agent (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(configBefore, cached.config); diff != "" {
		t.Errorf("Read changed the ConfigMap (-before +after):\n%s", diff)
	}
}

// uncopied is a reader of one agent. It returns its own objects, as the cache of the manager does for a caller that asks for no copies.
type uncopied struct {
	client.Reader
	agent  *a2av1alpha1.Agent
	config *corev1.ConfigMap
	// shared is true after a read without a copy.
	shared bool
}

func (u *uncopied) Get(_ context.Context, _ client.ObjectKey, object client.Object, options ...client.GetOption) error {
	applied := client.GetOptions{}
	applied.ApplyOptions(options)
	u.shared = applied.UnsafeDisableDeepCopy != nil && *applied.UnsafeDisableDeepCopy
	switch o := object.(type) {
	case *a2av1alpha1.Agent:
		*o = *u.agent
	case *corev1.ConfigMap:
		*o = *u.config
	}
	return nil
}
