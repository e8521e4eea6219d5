// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
)

const bareClient = "bare client"

// spent is the cost of a flood: its duration in seconds, and the CPU time in milliseconds for each Agent.
type spent struct{ seconds, cpu []float64 }

func (s *spent) add(n int, took, cpu time.Duration) {
	s.seconds = append(s.seconds, took.Seconds())
	s.cpu = append(s.cpu, cpu.Seconds()*1000/float64(n))
}

// floods measures O4: many Agents at once, until all objects and statuses are written, compared with a client that writes
// as much and reads nothing.
func floods(ctx context.Context, b *bench) ([]report.Result, error) {
	sizes := []int{b.agents}
	if b.many > b.agents {
		sizes = append(sizes, b.many)
	}
	all := map[int]spent{}
	var results []report.Result
	for _, n := range sizes {
		var ours, theirs spent
		rounds := b.rounds
		if n > b.agents {
			rounds = 1
		}
		for range rounds {
			if err := b.flood(ctx, n, &ours, &theirs); err != nil {
				return nil, err
			}
		}
		all[n] = ours
		r := report.Result{What: fmt.Sprintf("%d Agents at once", n), Unit: "s", Peer: bareClient, Clock: true}
		results = append(results, report.Compare(r, ours.seconds, theirs.seconds, report.RatioAtMost(1.25)))
		r = report.Result{What: fmt.Sprintf("each of %d Agents at once", n), Unit: "ms CPU", Peer: bareClient}
		results = append(results, report.Compare(r, ours.cpu, theirs.cpu, report.Goal{}))
	}
	if len(sizes) > 1 {
		few, many := all[b.agents], all[b.many]
		r := report.Result{What: fmt.Sprintf("%d Agents against %d", b.many, b.agents), Unit: "s", Peer: "operator", Clock: true}
		times := float64(b.many) / float64(b.agents)
		results = append(results, report.Compare(r, medianOf(many.seconds), medianOf(few.seconds), report.RatioAtMost(1.2*times)))
		r = report.Result{What: fmt.Sprintf("each of %d Agents against one of %d", b.many, b.agents), Unit: "ms CPU", Peer: "operator"}
		results = append(results, report.Compare(r, medianOf(many.cpu), medianOf(few.cpu), report.RatioAtMost(1.2)))
	}
	return results, nil
}

func medianOf(values []float64) []float64 { return []float64{report.Median(values)} }

// flood creates Agents at once for a manager, and writes the same objects with a bare client. Each of the two has a new
// control plane, because earlier objects would slow down the second one and disturb the other rows.
func (b *bench) flood(ctx context.Context, n int, ours, theirs *spent) error {
	var bodies []map[string]any
	err := b.apart(func(own *bench) error {
		return own.with(ctx, timed, func(m *manager) error {
			before, err := m.CPU()
			if err != nil {
				return err
			}
			begin := time.Now()
			namespace, err := own.createAgents(ctx, n)
			if err != nil {
				return err
			}
			took := time.Since(begin)
			after, err := m.CPU()
			if err != nil {
				return err
			}
			ours.add(n, took, after-before)
			b.logf("O4 %d Agents: %.1f s, %s CPU", n, took.Seconds(), after-before)
			bodies, err = own.bodies(ctx, namespace)
			return err
		})
	})
	if err != nil {
		return err
	}
	return b.apart(func(own *bench) error {
		took, cpu, err := own.bare(ctx, bodies, n)
		theirs.add(n, took, cpu)
		b.logf("O4 %d Agents by a bare client: %.1f s, %s CPU", n, took.Seconds(), cpu)
		return err
	})
}

// apart runs f on a new control plane.
func (b *bench) apart(f func(*bench) error) (err error) {
	own := *b
	if own.plane, err = startPlane(b.program); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.stop()) }()
	return f(&own)
}

// bodies returns the objects of the first Agent of a namespace in the form in which they are applied.
func (b *bench) bodies(ctx context.Context, namespace string) ([]map[string]any, error) {
	var bodies []map[string]any
	for _, object := range written() {
		name := agentName(0)
		if _, ok := object.(*corev1.ConfigMap); ok {
			name = names.ConfigMap(name)
		}
		body, err := b.body(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

// written returns an empty object of each kind that an Agent owns here and, as the last one, an Agent, for its status.
func written() []client.Object {
	return []client.Object{
		&networkingv1.NetworkPolicy{}, &corev1.ServiceAccount{}, &corev1.Service{}, &corev1.ConfigMap{}, &appsv1.Deployment{}, &a2av1alpha1.Agent{},
	}
}

// bare writes objects for n Agents, and returns the duration and the CPU time.
func (b *bench) bare(ctx context.Context, bodies []map[string]any, n int) (took, cpu time.Duration, err error) {
	bare, err := client.New(b.users[timed], client.Options{Scheme: b.cluster.Scheme()})
	if err != nil {
		return 0, 0, err
	}
	namespace, err := b.newTeam(ctx)
	if err != nil {
		return 0, 0, err
	}
	before, err := process.MachineUsage()
	if err != nil {
		return 0, 0, err
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
	if err != nil {
		return 0, 0, err
	}
	took = time.Since(begin)
	after, err := process.MachineUsage()
	return took, after.Own - before.Own, err
}

// body returns an object in the form in which it is applied.
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

// copyOf applies the body of one Agent's object for another Agent.
func copyOf(ctx context.Context, bare client.Client, body map[string]any, object client.Object, agent *a2av1alpha1.Agent) error {
	name := agent.Name
	if body["kind"] == "ConfigMap" {
		name = names.ConfigMap(name)
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
