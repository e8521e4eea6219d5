// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// A burst of changes causes few snapshots, which have the last state of each agent.
func TestFeedBatchesChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		state := make(map[Key]*Entry)
		reads := 0
		f := NewFeed(func(_ context.Context, key Key, _ *Entry, _ Revision) (*Entry, error) {
			mu.Lock()
			defer mu.Unlock()
			reads++
			return state[key], nil
		}, clock.RealClock{}, logr.Discard())
		set := func(e *Entry) {
			mu.Lock()
			state[e.Key] = e
			mu.Unlock()
			f.Touch(Revision{}, e.Key)
		}
		if f.Current() != nil {
			t.Error("a snapshot before the first run")
		}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { f.Run(ctx) })
		synctest.Wait()

		start := time.Now()
		for round := range 50 {
			for i := range 20 {
				set(makeEntry(t, Key{"ns", fmt.Sprintf("a%d", i)}, round == 49, "s"))
			}
		}
		time.Sleep(batchInterval)
		synctest.Wait()
		if page := f.Current().search(hashTerms([]string{readyTerm(true)}), nil, Key{}, 100); page.Total != 20 || reads != 20 {
			t.Errorf("%s after a burst of 1,000 events: %d of 20 agents in their last state, %d reads", time.Since(start), page.Total, reads)
		}
		cancel()
		group.Wait()
	})
}

func TestFeedRetriesFailedReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var repaired atomic.Bool
		key := Key{"ns", "a"}
		f := NewFeed(func(context.Context, Key, *Entry, Revision) (*Entry, error) {
			if !repaired.Load() {
				return nil, errors.New("no")
			}
			return makeEntry(t, key, true), nil
		}, clock.RealClock{}, logr.Discard())
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		f.Touch(Revision{}, key)
		group.Go(func() { f.Run(ctx) })
		synctest.Wait()
		if f.Current().Get(key) != nil {
			t.Fatal("read although broken")
		}
		repaired.Store(true)
		time.Sleep(retryInterval + batchInterval)
		synctest.Wait()
		if f.Current().Get(key) == nil {
			t.Error("an agent that could not be read was forgotten")
		}
		cancel()
		group.Wait()
	})
}

// While the last read of any agent has failed, the revision of the snapshots does not advance, even
// if later reads of other agents succeed.
func TestFailedReadHoldsTheRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, other := Key{"n", "broken"}, Key{"n", "other"}
		var failing atomic.Bool
		entries := map[Key]*Entry{broken: makeEntry(t, broken, true, "x"), other: makeEntry(t, other, true, "y")}
		f := NewFeed(func(_ context.Context, key Key, _ *Entry, _ Revision) (*Entry, error) {
			if key == broken && failing.Load() {
				return nil, errors.New("the cache is broken")
			}
			return entries[key], nil
		}, clock.RealClock{}, logr.Discard())
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { f.Run(ctx) })
		failing.Store(true)
		f.Touch(Revision{Agents: 100}, broken)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		f.Touch(Revision{Agents: 101}, other)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if got := f.Current().RevisionOf("elsewhere"); got.Agents != 101 {
			t.Errorf("while a read fails: revision %v of another namespace, want 101", got)
		}
		if s := f.Current(); s.Get(other) == nil || s.Revision().Agents >= 100 || s.RevisionOf("n").Agents >= 100 {
			t.Errorf("while a read fails: revision %v, the other agent found: %t", s.Revision(), s.Get(other) != nil)
		}
		failing.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s := f.Current(); s.Get(broken) == nil || s.Revision().Agents != 101 {
			t.Errorf("after the read: revision %v, the agent found: %t", s.Revision(), s.Get(broken) != nil)
		}
		cancel()
		group.Wait()
	})
}

func testAgent() *a2av1alpha1.Agent {
	return &a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "echo", UID: "uid-1"},
		Spec:       a2av1alpha1.AgentSpec{Description: "From the spec", Version: "1.0.0"},
		Status:     a2av1alpha1.AgentStatus{URL: "http://echo.team-a.svc.cluster.local/"},
	}
}

func testConfigMap(t *testing.T, agent *a2av1alpha1.Agent, description string) *corev1.ConfigMap {
	t.Helper()
	encoded, err := sidecarconfig.Encode(&sidecarconfig.Config{
		Version: sidecarconfig.Version,
		Agent:   sidecarconfig.Agent{Namespace: agent.Namespace, Name: agent.Name},
		Card: card.Card{
			Name: "Echo", Description: description, Version: "1.0.0",
			Skills: []card.Skill{{ID: "echo", Name: "Echo", Description: "Echoes", Tags: []string{"text"}}},
		},
		Backend: sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolEvents, URL: "http://127.0.0.1:8080/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	owner := *metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind))
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: agent.Namespace, Name: names.ConfigMap(agent.Name), OwnerReferences: []metav1.OwnerReference{owner}},
		Data:       map[string]string{sidecarconfig.FileName: string(encoded)},
	}
}

func sourceOf(t *testing.T, objects ...client.Object) *Source {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), a2av1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return &Source{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
}

func readEcho(t *testing.T, s *Source, last *Entry) (*Entry, itemJSON) {
	t.Helper()
	e, err := s.Read(t.Context(), Key{"team-a", "echo"}, last, Revision{})
	if err != nil {
		t.Fatalf("read() error = %v", err)
	}
	var view itemJSON
	if e != nil {
		if err := json.Unmarshal(e.body, &view); err != nil {
			t.Fatal(err)
		}
	}
	return e, view
}

func TestSource(t *testing.T) {
	agent := testAgent()
	stranger := testConfigMap(t, agent, "Not ours")
	stranger.OwnerReferences[0].UID = "uid-2"
	garbage := testConfigMap(t, agent, "x")
	garbage.Data[sidecarconfig.FileName] = `{"version":"v9"}`

	complete, view := readEcho(t, sourceOf(t, agent, testConfigMap(t, agent, "From the card")), nil)
	if view.Description != "From the card" || view.DisplayName != "Echo" || len(view.Skills) != 1 || view.URL != agent.Status.URL || view.CardDigest == "" {
		t.Errorf("agent with a contract = %+v", view)
	}
	if e, _ := readEcho(t, sourceOf(t), complete); e != nil {
		t.Error("an Agent that is gone has an entry")
	}
	for name, s := range map[string]*Source{
		"no contract":            sourceOf(t, agent),
		"a stranger's ConfigMap": sourceOf(t, agent, stranger),
		"garbage":                sourceOf(t, agent, garbage),
	} {
		if e, view := readEcho(t, s, nil); e.source.Text != "" || view.Description != "From the spec" || view.DisplayName != "echo" || len(view.Skills) != 0 {
			t.Errorf("%s: agent = %+v", name, view)
		}
	}
	if e, _ := readEcho(t, sourceOf(t, agent, garbage), complete); e.source != complete.source {
		t.Error("a contract that cannot be read takes the last card away")
	}
	skills := `"skills":[` + strings.Repeat("{},", 1000) + `{}]`
	empty := testConfigMap(t, agent, "x")
	empty.Data[sidecarconfig.FileName] = `{"version":"` + sidecarconfig.Version + `","card":{"name":"a",` + skills + `}}`
	if e, view := readEcho(t, sourceOf(t, agent, empty), complete); e.source.Text != "" || view.Description != "From the spec" || len(view.Skills) != 0 {
		t.Errorf("a card with too many empty members leaves the last card: %+v", view)
	}
}

// The card of a remote agent has a key of its own in the ConfigMap; a sidecar configuration is ignored.
func TestSourceOfRemote(t *testing.T) {
	agent := testAgent()
	agent.Spec = a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{URL: "https://far.example"}}
	config := testConfigMap(t, agent, "From a contract")
	if e, view := readEcho(t, sourceOf(t, agent, config), nil); e.source.Text != "" || !view.Remote || view.DisplayName != "echo" {
		t.Errorf("agent without a card = %+v", view)
	}
	config.Data[sidecarconfig.CardFileName] = `{"name":"Far","description":"From afar","version":"2","skills":[{"id":"s"}],"interfaces":[{"url":"https://far.example/a","binding":"JSONRPC","protocolVersion":"1.0"}]}`
	e, view := readEcho(t, sourceOf(t, agent, config), nil)
	if !view.Remote || view.Description != "From afar" || len(view.Skills) != 1 || !strings.Contains(renderedCard(t, e), "https://far.example/a") {
		t.Errorf("agent = %+v", view)
	}
	config.Data[sidecarconfig.CardFileName] = `{`
	if kept, _ := readEcho(t, sourceOf(t, agent, config), e); kept.source != e.source {
		t.Error("a card that cannot be read takes the last one away")
	}
}

func TestSourceReusesUnchangedParts(t *testing.T) {
	agent := testAgent()
	first, _ := readEcho(t, sourceOf(t, agent, testConfigMap(t, agent, "Card")), nil)
	if same, _ := readEcho(t, sourceOf(t, agent, testConfigMap(t, agent, "Card")), first); same != first {
		t.Error("nothing changed, and the entry was made again")
	}
	agent.Status.Conditions = []metav1.Condition{{Type: a2av1alpha1.ConditionAvailable, Status: metav1.ConditionTrue}}
	ready, view := readEcho(t, sourceOf(t, agent, testConfigMap(t, agent, "Card")), first)
	if !view.Ready || ready == first || ready.source != first.source {
		t.Errorf("Ready changed: ready = %t, same entry = %t, same card = %t", view.Ready, ready == first, ready.source == first.source)
	}
	if changed, view := readEcho(t, sourceOf(t, agent, testConfigMap(t, agent, "Other")), ready); changed.source == ready.source || view.Description != "Other" {
		t.Error("the card changed, and the old one was kept")
	}
}

func TestEventsOfConfigMapsTouchTheirAgents(t *testing.T) {
	agent := testAgent()
	config := testConfigMap(t, agent, "Card")
	foreign := config.DeepCopy()
	foreign.OwnerReferences = nil
	config.ResourceVersion, foreign.ResourceVersion = "7", "8"
	f := NewFeed(nil, clock.RealClock{}, logr.Discard())
	h := f.ConfigMapHandler()
	touched := func(what string, want Revision) {
		t.Helper()
		work := f.take()
		if len(work.keys) != 1 || work.keys[0] != (Key{"team-a", "echo"}) || work.revision != want {
			t.Errorf("%s: touched %v at %s, want the agent at %s", what, work.keys, work.revision, want)
		}
	}
	h.OnAdd(config, true)
	touched("added", Revision{ConfigMaps: 7})
	h.OnUpdate(config, foreign)
	touched("lost its owner", Revision{ConfigMaps: 8})
	h.OnDelete(config)
	touched("deleted", Revision{ConfigMaps: 8})
	h.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "team-a/x", Obj: config})
	touched("deleted before a new list", Revision{ConfigMaps: 8})
	forged := config.DeepCopy()
	forged.OwnerReferences[0].Name = "echo\x01"
	for name, other := range map[string]*corev1.ConfigMap{"without an owner": foreign, "with an invalid name of its owner": forged} {
		h.OnAdd(other, false)
		h.OnDelete(other)
		if work := f.take(); len(work.keys) != 0 || len(work.withdrawn) != 0 {
			t.Errorf("a ConfigMap %s touched %v and withdrew %v", name, work.keys, work.withdrawn)
		}
	}
}

// A ConfigMap whose owner never existed must not fill the removals for readers that resume.
func TestDeletedConfigMapRemovesNoAgent(t *testing.T) {
	f := NewFeed(nil, clock.RealClock{}, logr.Discard())
	f.ConfigMapHandler().OnDelete(testConfigMap(t, testAgent(), "Card"))
	if work := f.take(); len(work.keys) != 1 || len(work.withdrawn) != 0 {
		t.Errorf("a deleted ConfigMap touched %v and withdrew %v, want the agent only touched", work.keys, work.withdrawn)
	}
}

func renderedCard(t *testing.T, e *Entry) string {
	t.Helper()
	rendered, err := e.Card("")
	if err != nil || rendered == nil {
		t.Fatalf("Card() = %v, %v", rendered, err)
	}
	return string(rendered.Body)
}

// The feed records the highest visibility that an Agent had, even if the visibility changed back
// before the next snapshot: another replica may have shown the Agent.
func TestEventsOfAgentsReportLostVisibility(t *testing.T) {
	at := func(version string, generation int64, visibility a2av1alpha1.Visibility) *a2av1alpha1.Agent {
		agent := testAgent()
		agent.ResourceVersion, agent.Generation = version, generation
		agent.Spec.Discovery.Visibility = visibility
		return agent
	}
	hidden, public, again := at("1", 1, a2av1alpha1.VisibilityCluster), at("2", 2, a2av1alpha1.VisibilityPublic), at("3", 3, a2av1alpha1.VisibilityCluster)
	renewed := again.DeepCopy()
	renewed.UID = "another"
	for name, test := range map[string]struct {
		events func(toolscache.ResourceEventHandler)
		want   map[Key]access.Visibility
		missed bool
	}{
		"public for a moment": {func(h toolscache.ResourceEventHandler) {
			h.OnUpdate(hidden, public)
			h.OnUpdate(public, again)
		}, map[Key]access.Visibility{{"team-a", "echo"}: access.VisibilityPublic}, false},
		"deleted while public":              {func(h toolscache.ResourceEventHandler) { h.OnDelete(public) }, map[Key]access.Visibility{{"team-a", "echo"}: access.VisibilityPublic}, false},
		"more visible":                      {func(h toolscache.ResourceEventHandler) { h.OnUpdate(hidden, public) }, map[Key]access.Visibility{}, false},
		"a missed change of the visibility": {func(h toolscache.ResourceEventHandler) { h.OnUpdate(hidden, again) }, map[Key]access.Visibility{}, true},
		"another Agent of the same name":    {func(h toolscache.ResourceEventHandler) { h.OnUpdate(again, renewed) }, map[Key]access.Visibility{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := NewFeed(nil, clock.RealClock{}, logr.Discard())
			f.missedAgents, f.missedConfigMaps = false, false
			test.events(f.AgentHandler())
			work := f.take()
			if diff := cmp.Diff(test.want, work.withdrawn); diff != "" || work.resumable == test.missed {
				t.Errorf("resumable %t, want %t; withdrawn (-want +got):\n%s", work.resumable, !test.missed, diff)
			}
		})
	}
}
