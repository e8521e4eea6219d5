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
	// goneWithin is the longest time until all objects are gone.
	goneWithin = time.Minute
	// waitFinalizer is the finalizer of another controller.
	waitFinalizer = "example.com/wait"
)

// crashStorm is the storm in which the operator dies.
const crashStorm = "crash"

// storm is a way to delete many Agents at once.
type storm struct {
	name string
	// prepare changes the Agents before they are created.
	prepare func(*a2av1alpha1.Agent)
	strike  func(b *bench, run int)
}

var storms = []storm{
	{name: "all Agents at once", strike: func(b *bench, _ int) { b.deleteAgents() }},
	{name: "skill and agents", strike: func(b *bench, _ int) {
		b.must(cluster.Delete(b.t.Context(), b.user.skill()))
		b.deleteAgents()
	}},
	{name: crashStorm, strike: func(b *bench, run int) {
		// Give half of the Agents a change that the operator has not reconciled yet.
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
	{name: "finalizer", prepare: func(a *a2av1alpha1.Agent) { a.Finalizers = []string{waitFinalizer} }, strike: deleteWithFinalizers},
	{name: "namespace", strike: deleteWithNamespace},
}

// TestDeleteStorm is the campaign "deletions" of docs/explanation/reliability.md. It deletes many Agents,
// alone or with other objects, with and without a crash of the operator. All objects must be gone within a
// minute, none may be created again, and no writes may follow.
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
				// Each run has a namespace of its own, because one of the storms deletes the namespace.
				b := newBench(t, fmt.Sprintf("chaos-storm-%d-%d", n, run))
				took = append(took, b.storm(s, run, agents))
				b.kill()
			}
			t.Logf("%d times %d Agents: all objects gone after %s at most", runs, agents, slices.Max(took).Round(100*time.Millisecond))
		})
	}
}

// storm deletes Agents and returns how long it takes until all objects are gone.
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
	b.waitStable(func(state string) string {
		if got := strings.Count(state, ready); got != agents {
			return fmt.Sprintf("%d of %d are ready", got, agents)
		}
		return ""
	})
	b.checkOwners(agents)
	began := time.Now()
	first := b.transport
	s.strike(b, run)
	b.eventually("all objects to be gone", func() string {
		b.restartIfDead()
		if state := b.state(); state != "" && !onlySkill(state) {
			return state
		}
		return ""
	})
	took := time.Since(began)
	if took > goneWithin {
		b.t.Errorf("%s: objects were left for %s", s.name, took)
	}
	if s.name == crashStorm && first.hitBy() == "" {
		b.t.Error("the operator did not crash")
	}
	b.waitIdle()
	if moved := b.changesWhileIdle(b.state(), quietPeriod()); moved != "" {
		b.t.Errorf("%s: changes after the end: %s", s.name, moved)
	}
	if left := b.owned(); len(left) > 0 {
		b.t.Errorf("%s: %d objects are left", s.name, len(left))
	}
	return took
}

// onlySkill reports whether a state contains only one object: an AgentSkill that no Agent uses.
func onlySkill(state string) bool {
	return strings.Count(state, "--- ") == 1 && strings.Contains(state, "--- AgentSkill\n") && strings.Contains(state, "  agents: 0\n")
}

// checkOwners checks what the garbage collector needs: every object has exactly one owner.
func (b *bench) checkOwners(agents int) {
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

// deleteWithFinalizers deletes Agents that have the finalizer of another controller, and all objects that they own. The
// operator must not create these objects again while the Agents still exist.
func deleteWithFinalizers(b *bench, _ int) {
	b.t.Helper()
	b.deleteAgents()
	for _, object := range b.owned() {
		b.must(client.IgnoreNotFound(cluster.Delete(b.t.Context(), object)))
	}
	b.eventually("the deletion of the objects of Agents", func() string {
		if left := b.owned(); len(left) > 0 {
			return fmt.Sprintf("%d objects", len(left))
		}
		return ""
	})
	b.waitIdle()
	if left := b.owned(); len(left) > 0 {
		b.t.Errorf("%d objects were created again for deleted Agents", len(left))
	}
	for _, agent := range b.agents() {
		before := agent.DeepCopy()
		agent.Finalizers = nil
		b.must(client.IgnoreNotFound(cluster.Patch(b.t.Context(), agent, client.MergeFrom(before))))
	}
}

// deleteWithNamespace acts as the namespace controller, while the API server rejects creations. It
// deletes the objects of Agents first, which is the hardest order for the operator.
func deleteWithNamespace(b *bench, _ int) {
	b.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}
	b.must(cluster.Delete(b.t.Context(), namespace))
	for _, object := range b.owned() {
		b.must(client.IgnoreNotFound(cluster.Delete(b.t.Context(), object)))
	}
	b.waitIdle()
	if repeated := b.changesWhileIdle(b.state(), 3*time.Second); repeated != "" {
		b.t.Errorf("the operator repeated writes that the namespace refuses: %s", repeated)
	}
	for _, kind := range append(owned(), written()...) {
		b.must(cluster.DeleteAllOf(b.t.Context(), kind, client.InNamespace(b.namespace), client.GracePeriodSeconds(0)))
	}
	b.eventually("the deletion of the namespace", func() string {
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
