// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
)

// restarts measures O7: the CPU time of a manager that starts when all Agents are in sync, until it has reconciled all of
// them, compared with a client that lists and decodes the same objects. Measurements with two numbers of Agents separate
// the cost for each Agent from the fixed cost.
func restarts(ctx context.Context, b *bench) ([]report.Result, error) {
	var ours, theirs [][]float64
	agents := 0
	for range 2 {
		n, err := b.another(ctx)
		if err != nil {
			return nil, err
		}
		agents = n
		own, bare, err := b.starts(ctx, n)
		if err != nil {
			return nil, err
		}
		ours, theirs = append(ours, own), append(theirs, bare)
	}
	wrote, err := b.restartWrites(ctx, agents)
	if err != nil {
		return nil, err
	}
	each := report.Result{
		What: fmt.Sprintf("restart, for each of %d Agents in addition to %d", b.agents, agents-b.agents), Unit: "ms CPU", Peer: "bare list and decode",
	}
	whole := report.Result{What: fmt.Sprintf("restart with %d Agents", agents), Unit: "s CPU", Peer: "bare list and decode"}
	return []report.Result{
		report.Compare(each, increase(ours, b.agents), increase(theirs, b.agents), report.RatioAtMost(1.5)),
		report.Compare(whole, ours[1], theirs[1], report.Goal{}),
		figure("writes of a restart", "requests", float64(wrote), report.FigureAtMost(0, "")),
	}, nil
}

// another creates more Agents, and returns the number of all Agents.
func (b *bench) another(ctx context.Context) (int, error) {
	err := b.with(ctx, timed, func(*manager) error {
		_, err := b.createAgents(ctx, b.agents)
		return err
	})
	if err != nil {
		return 0, err
	}
	return b.count(ctx)
}

// count returns the number of Agents.
func (b *bench) count(ctx context.Context) (int, error) {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind + "List"))
	err := b.cluster.List(ctx, all)
	return len(all.Items), err
}

// starts returns two CPU times for each round: of a manager that starts with a number of Agents, and of a client that
// only lists and decodes the objects that a manager watches.
func (b *bench) starts(ctx context.Context, agents int) (ours, theirs []float64, err error) {
	for range b.rounds {
		m, err := b.run(ctx, timed)
		if err != nil {
			return nil, nil, err
		}
		err = m.awaitReconciles(ctx, agents)
		used, cpuErr := m.CPU()
		m.End()
		if err := firstOf(err, cpuErr); err != nil {
			return nil, nil, err
		}
		ours = append(ours, used.Seconds())
		seconds, err := b.list(ctx)
		if err != nil {
			return nil, nil, err
		}
		theirs = append(theirs, seconds)
	}
	return ours, theirs, nil
}

// increase returns, for each round, the difference between the second and the first figure, times 1000 and divided by
// the number of Agents. It converts seconds into milliseconds for each Agent.
func increase(figures [][]float64, agents int) []float64 {
	var each []float64
	for i := range figures[0] {
		each = append(each, (figures[1][i]-figures[0][i])*1000/float64(agents))
	}
	return each
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// list reads every object of the watched kinds, and returns the CPU time.
func (b *bench) list(ctx context.Context) (float64, error) {
	before, err := process.MachineUsage()
	if err != nil {
		return 0, err
	}
	for _, list := range []client.ObjectList{
		&a2av1alpha1.AgentList{}, &a2av1alpha1.AgentSkillList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.ServiceAccountList{},
		&corev1.ConfigMapList{}, &networkingv1.NetworkPolicyList{}, &corev1.PodList{},
	} {
		if err := b.cluster.List(ctx, list); err != nil {
			return 0, err
		}
	}
	after, err := process.MachineUsage()
	return (after.Own - before.Own).Seconds(), err
}

// restartWrites returns the number of writes of a manager that starts with all Agents in sync.
func (b *bench) restartWrites(ctx context.Context, agents int) (int, error) {
	before, err := os.Stat(b.auditLog())
	if err != nil {
		return 0, err
	}
	m, err := b.run(ctx, audited)
	if err != nil {
		return 0, err
	}
	defer m.End()
	if _, err := m.awaitIdle(ctx, agents); err != nil {
		return 0, err
	}
	got, err := readAudit(b.auditLog(), before.Size())
	return len(got) - got.reads(), err
}

// takeovers measures O8: the time from the end of the leader until another manager reconciles.
func takeovers(ctx context.Context, b *bench) ([]report.Result, error) {
	var results []report.Result
	for _, end := range []struct {
		what   string
		signal syscall.Signal
		limit  float64
	}{{"the leader is killed, until another one works", syscall.SIGKILL, 12}, {"the leader is stopped, until another one works", syscall.SIGTERM, 2}} {
		var took []float64
		for range b.rounds {
			seconds, err := b.takeover(ctx, end.signal)
			if err != nil {
				return nil, err
			}
			took = append(took, seconds)
			b.logf("O8 %s: %.1f s", end.signal, seconds)
		}
		r := report.Result{What: end.what, Unit: "s", Clock: true}
		results = append(results, report.Compare(r, took, nil, report.FigureAtMost(end.limit, "s")))
	}
	return results, nil
}

func (b *bench) takeover(ctx context.Context, end syscall.Signal) (float64, error) {
	namespace, err := b.newTeam(ctx)
	if err != nil {
		return 0, err
	}
	candidate := []string{"--leader-elect", "--namespace", "default"}
	first, err := b.run(ctx, timed, candidate...)
	if err != nil {
		return 0, err
	}
	defer first.Stop()
	works := func(name string) error {
		agent := newAgent(namespace, name)
		if err := b.cluster.Create(ctx, agent); err != nil {
			return err
		}
		return b.becomes(ctx, agent, a2av1alpha1.ConditionProgrammed)
	}
	if err := works("before"); err != nil {
		return 0, err
	}
	agents, err := b.count(ctx)
	if err != nil {
		return 0, err
	}
	if err := first.awaitReconciles(ctx, agents); err != nil {
		return 0, err
	}
	second, err := b.run(ctx, timed, candidate...)
	if err != nil {
		return 0, err
	}
	defer second.End()
	// The caches and the queue of the second manager fill while it waits for the Lease.
	if err := second.awaitFullQueue(ctx, agents); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := first.Signal(end); err != nil {
		return 0, err
	}
	err = works("after")
	return time.Since(begin).Seconds(), err
}
