// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
)

// with runs f while a manager runs whose Agents are all in sync.
func (b *bench) with(ctx context.Context, user string, f func(*manager) error) error {
	m, err := b.run(ctx, user)
	if err != nil {
		return err
	}
	defer m.End()
	if _, err := m.awaitIdle(ctx, 0); err != nil {
		return err
	}
	return f(m)
}

// createAgents creates a namespace of Agents and waits until their objects are written.
func (b *bench) createAgents(ctx context.Context, n int) (namespace string, err error) {
	if namespace, err = b.create(ctx, n); err != nil {
		return "", err
	}
	return namespace, b.await(ctx, namespace, n)
}

// await waits until the objects of n Agents of a namespace are written.
func (b *bench) await(ctx context.Context, namespace string, n int) error {
	return b.programmed(ctx, namespace, n, func(done int) { b.logf("%d of %d Agents", done, n) })
}

// Goals of the requests. Beside its objects and the status of before and after the pod is ready, a new Agent has a claim,
// which is a write of the status, and a revision. A revision is one write, and the list of the former ones, which no
// cache has.
const (
	requestsOfRevision = 2
	requestsOfAgent    = ownedObjects + 3 + requestsOfRevision
	requestsOfEdit     = 2 + requestsOfRevision
	readsOfRevision    = 1
)

// newAgents measures O1: the requests for a new Agent. It counts the patch of each pod separately.
func newAgents(ctx context.Context, b *bench) ([]report.Result, error) {
	return b.counted(ctx, creation, "from a new Agent with 5 objects to Ready", requestsOfAgent)
}

// edits measures O3: the requests for an edit.
func edits(ctx context.Context, b *bench) ([]report.Result, error) {
	return b.counted(ctx, everyChange(), "", requestsOfEdit)
}

// counted counts the requests of changes. If together is not "", it returns the count of all changes under this name.
// Otherwise it returns one count for each change that is an edit.
func (b *bench) counted(ctx context.Context, changes []change, together string, limit float64) (results []report.Result, err error) {
	var all []requests
	err = b.with(ctx, audited, func(m *manager) (err error) {
		all, err = b.requestsOf(ctx, m, changes)
		return err
	})
	if err != nil {
		return nil, err
	}
	count := func(what string, r requests) {
		pods := r.count(func(request string) bool { return request == "patch pods" })
		results = append(results,
			figure(what+", without the patch of each pod", "requests", float64(len(r)-pods), report.FigureAtMost(limit, "")),
			figure("reads and refusals among these requests", "requests", float64(r.reads()+r.refused()), report.FigureAtMost(readsOfRevision, "")))
	}
	if together != "" {
		var sum requests
		for _, each := range all {
			sum = append(sum, each...)
		}
		count(together, sum)
		return results, nil
	}
	for i, c := range changes {
		if c.edit {
			count(c.what, all[i])
		}
	}
	return results, nil
}

func figure(what, unit string, value float64, goal report.Goal) report.Result {
	return report.Compare(report.Result{What: what, Unit: unit}, []float64{value}, nil, goal)
}

// resyncs measures O2: the requests for Agents in sync.
func resyncs(ctx context.Context, b *bench) (results []report.Result, err error) {
	err = b.with(ctx, audited, func(m *manager) error {
		namespace, err := b.createAgents(ctx, b.agents)
		if err != nil {
			return err
		}
		got, err := b.resync(ctx, m, namespace)
		results = append(results, figure(fmt.Sprintf("another reconcile of %d Agents", b.agents), "requests", float64(len(got)), report.FigureAtMost(0, "")))
		return err
	})
	return results, err
}

// reconcilesOfARound is the number of reconciles in a round, enough for a measurable CPU time.
const reconcilesOfARound = 10_000

// reconciles measures O5: the CPU time of a reconcile of an Agent in sync. To cause reconciles, it changes a label of a
// namespace: this enqueues all Agents of the namespace that use skills of other namespaces.
func reconciles(ctx context.Context, b *bench) ([]report.Result, error) {
	var each []float64
	err := b.with(ctx, timed, func(m *manager) error {
		namespace, err := b.createSharing(ctx, b.agents)
		if err != nil {
			return err
		}
		for range b.rounds {
			done, used, err := b.reconciled(ctx, m, namespace)
			if err != nil {
				return err
			}
			each = append(each, float64(done)/used.Seconds())
		}
		return nil
	})
	r := report.Result{What: fmt.Sprintf("reconciles of %d Agents in sync", b.agents), Unit: "a second of a core"}
	return []report.Result{report.Compare(r, each, nil, report.FigureAtLeast(10_000, ">= 10000"))}, err
}

// reconciled causes reconciles of all Agents of a namespace that use a skill of another namespace. It returns
// their number and CPU time.
func (b *bench) reconciled(ctx context.Context, m *manager, namespace string) (looks int, used time.Duration, err error) {
	begin, err := m.awaitIdle(ctx, 0)
	if err != nil {
		return 0, 0, err
	}
	before, err := m.CPU()
	if err != nil {
		return 0, 0, err
	}
	for edits := range max(1, reconcilesOfARound/b.agents) {
		if err := edit(ctx, b.plane, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, func(n *corev1.Namespace) {
			n.Labels = map[string]string{"edit": fmt.Sprintf("%d-%d", begin, edits)}
		}); err != nil {
			return 0, 0, err
		}
		if err := m.awaitReconciles(ctx, begin+(edits+1)*b.agents); err != nil {
			return 0, 0, err
		}
	}
	after, err := m.CPU()
	if err != nil {
		return 0, 0, err
	}
	w, err := m.work(ctx)
	return w.reconciles - begin, after - before, err
}

// createSharing creates Agents that use a skill of another namespace.
func (b *bench) createSharing(ctx context.Context, n int) (string, error) {
	home, err := b.namespace(ctx)
	if err != nil {
		return "", err
	}
	skill := newSkill(home)
	skill.Spec.AllowedAgents.Namespaces.From = a2av1alpha1.FromAll
	if err := b.cluster.Create(ctx, skill); err != nil {
		return "", err
	}
	namespace, err := b.namespace(ctx)
	if err != nil {
		return "", err
	}
	err = b.forEach(ctx, n, func(i int) error {
		agent := newAgent(namespace, agentName(i))
		agent.Spec.SkillRefs[0].Namespace = home
		return b.cluster.Create(ctx, agent)
	})
	if err != nil {
		return "", err
	}
	return namespace, b.await(ctx, namespace, n)
}

// memory measures O6: the memory of a manager that started with many Agents, and its growth for twice as many.
func memory(ctx context.Context, b *bench) ([]report.Result, error) {
	var held [][]float64
	agents := 0
	for range 2 {
		n, err := b.another(ctx)
		if err != nil {
			return nil, err
		}
		agents = n
		var each []float64
		for range b.rounds {
			bytes, err := b.held(ctx, n)
			if err != nil {
				return nil, err
			}
			each = append(each, float64(bytes)/1024)
			b.logf("O6 %d Agents: %d KB", n, bytes/1024)
		}
		held = append(held, each)
	}
	one := (report.Median(held[1]) - report.Median(held[0])) / float64(b.agents)
	return []report.Result{
		figure(fmt.Sprintf("resident memory of an Agent with 5 objects, for %d in addition to %d", b.agents, agents-b.agents), "KB", one, report.FigureAtMost(15, "KB")),
		report.Compare(report.Result{What: fmt.Sprintf("resident memory of a manager with %d Agents", agents), Unit: "MB"},
			[]float64{report.Median(held[1]) / 1024}, nil, report.Goal{}),
	}, nil
}

// settle is the time in which memory becomes stable.
const settle = 5 * time.Second

func (b *bench) held(ctx context.Context, agents int) (bytes int64, err error) {
	err = b.with(ctx, timed, func(m *manager) error {
		if err := m.awaitReconciles(ctx, agents); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settle):
		}
		bytes, err = m.RSS()
		return err
	})
	return bytes, err
}
