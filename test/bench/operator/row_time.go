// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
)

const bareClient = "bare client"

// O4: many Agents at once, until all their objects and statuses are written,
// beside a client that writes as much without reading anything.
func floods(ctx context.Context, b *bench) ([]report.Result, error) {
	var results []report.Result
	took := map[int]float64{}
	sizes := []int{b.agents}
	if b.many > b.agents {
		sizes = append(sizes, b.many)
	}
	for _, n := range sizes {
		var ours, theirs []float64
		rounds := b.rounds
		if n > b.agents {
			rounds = 1
		}
		for range rounds {
			begin := time.Now()
			var namespace string
			err := b.with(ctx, timed, func(*manager) (err error) {
				begin = time.Now()
				namespace, err = b.crowd(ctx, n)
				ours = append(ours, time.Since(begin).Seconds())
				return err
			})
			if err != nil {
				return nil, err
			}
			seconds, err := b.bare(ctx, namespace, n)
			if err != nil {
				return nil, err
			}
			theirs = append(theirs, seconds)
			b.say("O4 %d Agents: %.1f s, bare client %.1f s", n, ours[len(ours)-1], seconds)
		}
		took[n] = report.Median(ours)
		r := report.Result{What: fmt.Sprintf("%d Agents at once", n), Unit: "s", Peer: bareClient, Clock: true}
		results = append(results, report.Compare(r, ours, theirs, report.RatioAtMost(1.25)))
	}
	if len(sizes) > 1 {
		r := report.Result{What: fmt.Sprintf("%d Agents against %d", b.many, b.agents), Unit: "s", Peer: "operator", Clock: true}
		limit := 1.2 * float64(b.many) / float64(b.agents)
		results = append(results, report.Compare(r, []float64{took[b.many]}, []float64{took[b.agents]}, report.RatioAtMost(limit)))
	}
	return results, nil
}

// written are the kinds that an Agent owns here, and the Agent last, for its
// status.
func written() []client.Object {
	return []client.Object{
		&networkingv1.NetworkPolicy{}, &corev1.ServiceAccount{}, &corev1.Service{}, &corev1.ConfigMap{}, &appsv1.Deployment{}, &a2av1alpha1.Agent{},
	}
}

// bare writes what the manager has written in a namespace, once more in another
// one, and says how many seconds that took.
func (b *bench) bare(ctx context.Context, model string, n int) (float64, error) {
	bare, err := client.New(b.users[timed], client.Options{Scheme: b.cluster.Scheme()})
	if err != nil {
		return 0, err
	}
	var bodies []map[string]any
	for _, object := range written() {
		name := agentName(0)
		if _, ok := object.(*corev1.ConfigMap); ok {
			name += "-contract"
		}
		body, err := b.body(ctx, client.ObjectKey{Namespace: model, Name: name}, object)
		if err != nil {
			return 0, err
		}
		bodies = append(bodies, body)
	}
	namespace, err := b.newTeam(ctx)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	err = b.forEach(ctx, n, func(i int) error {
		agent := newAgent(namespace, agentName(i))
		if err := bare.Create(ctx, agent); err != nil {
			return err
		}
		for at, object := range written() {
			if err := copyOf(ctx, bare, bodies[at], object, agent); err != nil {
				return err
			}
		}
		return nil
	})
	return time.Since(begin).Seconds(), err
}

// body is an object as it would be applied.
func (b *bench) body(ctx context.Context, key client.ObjectKey, object client.Object) (map[string]any, error) {
	if err := b.cluster.Get(ctx, key, object); err != nil {
		return nil, err
	}
	kind, err := apiutil.GVKForObject(object, b.cluster.Scheme())
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var body map[string]any
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, err
	}
	body["apiVersion"], body["kind"] = kind.ToAPIVersionAndKind()
	if kind.Kind == a2av1alpha1.AgentKind {
		delete(body, "spec")
	} else {
		delete(body, "status")
	}
	if spec, ok := body["spec"].(map[string]any); ok {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	return body, nil
}

// copyOf applies the body of one Agent's object for another one.
func copyOf(ctx context.Context, bare client.Client, body map[string]any, object client.Object, agent *a2av1alpha1.Agent) error {
	name := agent.Name
	if body["kind"] == "ConfigMap" {
		name += "-contract"
	}
	metadata := map[string]any{"name": name, "namespace": agent.Namespace}
	if old, ok := body["metadata"].(map[string]any); ok {
		metadata["labels"], metadata["annotations"] = old["labels"], old["annotations"]
	}
	copied := maps.Clone(body)
	copied["metadata"] = metadata
	text, err := json.Marshal(copied)
	if err != nil {
		return err
	}
	object.SetName(name)
	object.SetNamespace(agent.Namespace)
	patch := client.RawPatch(types.ApplyPatchType, text)
	if body["kind"] == a2av1alpha1.AgentKind {
		return bare.Status().Patch(ctx, object, patch, client.FieldOwner("bare"), client.ForceOwnership)
	}
	return bare.Patch(ctx, object, patch, client.FieldOwner("bare"), client.ForceOwnership)
}

// O7: a manager that starts beside Agents that are as they should be, until it
// has looked at all of them, beside a client that lists and decodes as much.
func restarts(ctx context.Context, b *bench) ([]report.Result, error) {
	if err := b.with(ctx, timed, func(*manager) error {
		_, err := b.crowd(ctx, b.agents)
		return err
	}); err != nil {
		return nil, err
	}
	all := &a2av1alpha1.AgentList{}
	if err := b.cluster.List(ctx, all); err != nil {
		return nil, err
	}
	var ours, theirs []float64
	for range b.rounds {
		m, err := b.run(ctx, timed)
		if err != nil {
			return nil, err
		}
		_, err = m.rest(ctx, len(all.Items))
		used, cpuErr := m.CPU()
		m.End()
		if err := firstOf(err, cpuErr); err != nil {
			return nil, err
		}
		ours = append(ours, used.Seconds())
		seconds, err := b.list(ctx)
		if err != nil {
			return nil, err
		}
		theirs = append(theirs, seconds)
	}
	wrote, err := b.restartWrites(ctx, len(all.Items))
	if err != nil {
		return nil, err
	}
	r := report.Result{What: fmt.Sprintf("restart beside %d Agents, CPU time", len(all.Items)), Unit: "s CPU", Peer: "bare list and decode"}
	return []report.Result{
		report.Compare(r, ours, theirs, report.RatioAtMost(1.5)),
		figure("writes of a restart", "requests", float64(wrote), report.FigureAtMost(0, "")),
	}, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// list reads every object of the kinds that are watched, and says how much CPU
// time that took.
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

// restartWrites counts the writes of a manager that has nothing to do.
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
	if _, err := m.rest(ctx, agents); err != nil {
		return 0, err
	}
	got, err := readAudit(b.auditLog(), before.Size())
	return len(got) - got.reads(), err
}

// O8: how long it takes until another manager does what the one that led does
// no more.
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
			b.say("O8 %s: %.1f s", end.signal, seconds)
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
	candidate := []string{"--leader-elect", "--leader-election-namespace", "default"}
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
	second, err := b.run(ctx, timed, candidate...)
	if err != nil {
		return 0, err
	}
	defer second.End()
	// Its caches are filled while it waits.
	if _, err := second.rest(ctx, 0); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := first.Signal(end); err != nil {
		return 0, err
	}
	err = works("after")
	return time.Since(begin).Seconds(), err
}
