// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// ownedObjects is the number of objects of an Agent here: a ServiceAccount, a Service, a ConfigMap, a
// NetworkPolicy and a Deployment.
const ownedObjects = 5

const sharedSkill = "sing"

// newAgent returns an Agent with one container, a skill of its own and a shared skill.
func newAgent(namespace, name string) *a2av1alpha1.Agent {
	return &a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: a2av1alpha1.AgentSpec{
			Description: "Says it again.",
			Skills: []a2av1alpha1.Skill{{ID: "echo", SkillDetails: a2av1alpha1.SkillDetails{
				Name: "Echo", Description: "Says it again.", Tags: []string{"text"},
			}}},
			SkillRefs: []a2av1alpha1.AgentSkillRef{{Name: sharedSkill}},
			Workload: &a2av1alpha1.AgentWorkload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "agent", Image: "example/echo:1"}},
			}}},
		},
	}
}

func newSkill(namespace string) *a2av1alpha1.AgentSkill {
	return &a2av1alpha1.AgentSkill{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sharedSkill},
		Spec: a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{
			Name: "Sing", Description: "Sings a song.", Tags: []string{"music"},
		}},
	}
}

// becomes waits until a condition of an Agent is true for its current generation.
func (p *plane) becomes(ctx context.Context, agent *a2av1alpha1.Agent, condition string) error {
	err := await(ctx, pollEvery, func(time.Time) (bool, error) {
		if err := p.cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
			return false, err
		}
		return holds(agent, condition), nil
	})
	if err != nil {
		return fmt.Errorf("wait for Agent %s to be %s: %w", agent.Name, condition, err)
	}
	return nil
}

func holds(agent *a2av1alpha1.Agent, condition string) bool {
	c := meta.FindStatusCondition(agent.Status.Conditions, condition)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == agent.Generation
}

// edit changes an object by a patch, as kubectl edit does.
func edit[O client.Object](ctx context.Context, p *plane, obj O, change func(O)) error {
	if err := p.cluster.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return err
	}
	before, ok := obj.DeepCopyObject().(O)
	if !ok {
		return fmt.Errorf("copy of %T is of another type", obj)
	}
	change(obj)
	return p.cluster.Patch(ctx, obj, client.MergeFrom(before))
}

// bareWorkers is the number of concurrent requests of the benchmark itself.
const bareWorkers = 32

// forEach calls f with 0 to n-1, concurrently.
func (p *plane) forEach(ctx context.Context, n int, f func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(bareWorkers)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return f(i) })
	}
	return group.Wait()
}

func agentName(i int) string { return fmt.Sprintf("agent-%05d", i) }

// create creates n Agents in a new namespace.
func (p *plane) create(ctx context.Context, n int) (namespace string, err error) {
	if namespace, err = p.newTeam(ctx); err != nil {
		return "", err
	}
	return namespace, p.forEach(ctx, n, func(i int) error {
		return p.cluster.Create(ctx, newAgent(namespace, agentName(i)))
	})
}

// progressEvery is the interval of progress messages while many Agents are created.
const progressEvery = 10 * time.Second

// programmed waits until the objects of n Agents of a namespace are written. It watches the Agents: repeated
// lists would load the API server during the measurement.
func (p *plane) programmed(ctx context.Context, namespace string, n int, tell func(done int)) error {
	done := map[string]bool{}
	last := time.Now()
	for len(done) < n {
		agents, err := p.cluster.Watch(ctx, &a2av1alpha1.AgentList{}, client.InNamespace(namespace))
		if err != nil {
			return fmt.Errorf("wait for Agents, of which %d of %d are programmed: %w", len(done), n, err)
		}
		// The API server ends the watch of a slow client; the outer loop then starts another one.
		for event := range agents.ResultChan() {
			if agent, ok := event.Object.(*a2av1alpha1.Agent); ok && holds(agent, a2av1alpha1.ConditionProgrammed) {
				done[agent.Name] = true
			}
			if len(done) == n {
				break
			}
			if time.Since(last) >= progressEvery {
				tell(len(done))
				last = time.Now()
			}
		}
		agents.Stop()
	}
	return nil
}
