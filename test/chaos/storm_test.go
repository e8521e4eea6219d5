// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

const (
	// goneWithin is how long anything may be left.
	goneWithin = time.Minute
	// waitFinalizer is one of somebody who has to do something first.
	waitFinalizer = "example.com/wait"
)

// crashStorm is the one in which the operator dies.
const crashStorm = "crash"

// storm is a way in which many Agents are deleted at the same moment.
type storm struct {
	name string
	// prepare changes what is made.
	prepare func(*a2av1alpha1.Agent)
	strike  func(b *bench, run int)
}

var storms = []storm{
	{name: "all at once", strike: func(b *bench, _ int) { b.deleteAgents() }},
	{name: "skill and agents", strike: func(b *bench, _ int) {
		b.must(cluster.Delete(b.t.Context(), b.user.skill()))
		b.deleteAgents()
	}},
	{name: crashStorm, strike: func(b *bench, run int) {
		// Half of the Agents have a change that the operator has not seen to.
		b.transport.arm(plan{fault: crashAfter, at: run})
		for i, agent := range b.agents() {
			if i%2 == 0 {
				before := agent.DeepCopy()
				agent.Spec.Description = "Says it another time."
				b.must(cluster.Patch(b.t.Context(), agent, client.MergeFrom(before)))
			}
		}
		b.deleteAgents()
	}},
	{name: "finalizer", prepare: func(a *a2av1alpha1.Agent) { a.Finalizers = []string{waitFinalizer} }, strike: finalizerStrikes},
	{name: "namespace", strike: namespaceStrikes},
}

// TestDeleteStorm: C12 of the reliability plan. Whatever is deleted together
// with an Agent, or while the operator dies, nothing is left after a minute,
// nothing is made again, and nothing is written any more.
func TestDeleteStorm(t *testing.T) {
	runs, agents := 4, 20
	if !full {
		runs, agents = 1, 6
	}
	for n, s := range storms {
		if !full && n < 2 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var took []time.Duration
			for run := range runs {
				// A namespace is terminated once.
				b := newBench(t, fmt.Sprintf("chaos-storm-%d-%d", n, run))
				took = append(took, b.storm(s, run, agents))
				b.kill()
			}
			t.Logf("%d times %d Agents: nothing is left after %s at the latest", runs, agents, slices.Max(took).Round(100*time.Millisecond))
		})
	}
}

// storm deletes Agents, and returns how long it takes until nothing is left.
func (b *bench) storm(s storm, run, agents int) time.Duration {
	b.t.Helper()
	b.must(cluster.Create(b.t.Context(), b.user.skill()))
	for i := range agents {
		agent := b.user.agent()
		agent.Name = fmt.Sprintf("echo-%d", i)
		if s.prepare != nil {
			s.prepare(agent)
		}
		b.must(cluster.Create(b.t.Context(), agent))
	}
	b.settles(func(state string) string {
		if got := strings.Count(state, ready); got != agents {
			return fmt.Sprintf("%d of %d are ready", got, agents)
		}
		return ""
	})
	b.judgeOwners(agents)
	began := time.Now()
	first := b.transport
	s.strike(b, run)
	b.eventually("nothing to be left", func() string {
		b.revive()
		if state := b.state(); state != "" && !onlySkill(state) {
			return state
		}
		return ""
	})
	took := time.Since(began)
	if took > goneWithin {
		b.t.Errorf("%s: something was left for %s", s.name, took)
	}
	if s.name == crashStorm && first.hitBy() == "" {
		b.t.Error("the operator did not crash")
	}
	b.rested()
	if moved := b.moves(b.state(), stillness()); moved != "" {
		b.t.Errorf("%s: after the end: %s", s.name, moved)
	}
	if left := b.owned(); len(left) > 0 {
		b.t.Errorf("%s: %d objects are left", s.name, len(left))
	}
	return took
}

// onlySkill tells of a namespace with a skill that nobody uses.
func onlySkill(state string) bool {
	return strings.Count(state, "--- ") == 1 && strings.Contains(state, "--- AgentSkill\n") && strings.Contains(state, "  agents: 0\n")
}

// judgeOwners looks at what a garbage collector needs: every object says whose
// it is, and only that.
func (b *bench) judgeOwners(agents int) {
	b.t.Helper()
	uids := map[string]string{}
	for _, agent := range b.agents() {
		uids[agent.Name] = string(agent.UID)
	}
	owned := b.owned()
	for _, object := range owned {
		refs := object.GetOwnerReferences()
		if len(refs) != 1 || string(refs[0].UID) != uids[refs[0].Name] || refs[0].Controller == nil || !*refs[0].Controller ||
			refs[0].BlockOwnerDeletion == nil || !*refs[0].BlockOwnerDeletion {
			b.t.Errorf("%s %s belongs to %+v", object.GetKind(), object.GetName(), refs)
		}
	}
	const kinds = 5
	if len(owned) != agents*kinds {
		b.t.Errorf("%d Agents own %d objects, want %d", agents, len(owned), agents*kinds)
	}
}

func (b *bench) agents() []*a2av1alpha1.Agent {
	b.t.Helper()
	list := &a2av1alpha1.AgentList{}
	b.must(cluster.List(b.t.Context(), list, client.InNamespace(b.namespace)))
	var all []*a2av1alpha1.Agent
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all
}

func (b *bench) deleteAgents() {
	b.t.Helper()
	b.must(cluster.DeleteAllOf(b.t.Context(), &a2av1alpha1.Agent{}, client.InNamespace(b.namespace)))
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// finalizerStrikes deletes Agents that somebody else holds on to, with all that
// they own. What was deleted stays so while they go.
func finalizerStrikes(b *bench, _ int) {
	b.t.Helper()
	b.deleteAgents()
	for _, object := range b.owned() {
		b.must(client.IgnoreNotFound(cluster.Delete(b.t.Context(), object)))
	}
	b.eventually("what Agents own to go", func() string {
		if left := b.owned(); len(left) > 0 {
			return fmt.Sprintf("%d objects", len(left))
		}
		return ""
	})
	b.rested()
	if left := b.owned(); len(left) > 0 {
		b.t.Errorf("%d objects were made again for Agents that are deleted", len(left))
	}
	for _, agent := range b.agents() {
		before := agent.DeepCopy()
		agent.Finalizers = nil
		b.must(client.IgnoreNotFound(cluster.Patch(b.t.Context(), agent, client.MergeFrom(before))))
	}
}

// namespaceStrikes does what the namespace controller does, and the API server
// lets nothing be made meanwhile. What Agents own goes first, as the operator
// likes it least.
func namespaceStrikes(b *bench, _ int) {
	b.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}
	b.must(cluster.Delete(b.t.Context(), namespace))
	for _, object := range b.owned() {
		b.must(client.IgnoreNotFound(cluster.Delete(b.t.Context(), object)))
	}
	b.rested()
	for _, kind := range append(owned(), written()...) {
		b.must(cluster.DeleteAllOf(b.t.Context(), kind, client.InNamespace(b.namespace), client.GracePeriodSeconds(0)))
	}
	b.eventually("the namespace to go", func() string {
		if err := cluster.Get(b.t.Context(), client.ObjectKeyFromObject(namespace), namespace); apierrors.IsNotFound(err) {
			return ""
		}
		namespace.Spec.Finalizers = nil
		if err := cluster.SubResource("finalize").Update(b.t.Context(), namespace); err != nil {
			return err.Error()
		}
		return "not yet"
	})
}
