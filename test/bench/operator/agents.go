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

// ownedObjects is how many an Agent has here: a ServiceAccount, a Service, a
// ConfigMap, a NetworkPolicy and a Deployment.
const ownedObjects = 5

const sharedSkill = "sing"

// newAgent has one container and one skill of its own, and shares another.
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

// becomes waits until a condition of an Agent is true for what its spec is now.
func (p *plane) becomes(ctx context.Context, agent *a2av1alpha1.Agent, condition string) error {
	err := await(ctx, glance, func(time.Time) (bool, error) {
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

// edit changes an object as kubectl does.
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

// bareWorkers is how many requests the bench has on their way at a time.
const bareWorkers = 32

// forEach calls f with 0 to n-1, many at a time.
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

// create makes n Agents in a new namespace.
func (p *plane) create(ctx context.Context, n int) (namespace string, err error) {
	if namespace, err = p.newTeam(ctx); err != nil {
		return "", err
	}
	return namespace, p.forEach(ctx, n, func(i int) error {
		return p.cluster.Create(ctx, newAgent(namespace, agentName(i)))
	})
}

// tellEvery is how often it is told how far a crowd is.
const tellEvery = 10 * time.Second

// programmed waits until the objects of n Agents of a namespace are written. It
// is told of them: to list them again and again would keep the API server from
// what is measured.
func (p *plane) programmed(ctx context.Context, namespace string, n int, tell func(done int)) error {
	done := map[string]bool{}
	last := time.Now()
	for len(done) < n {
		agents, err := p.cluster.Watch(ctx, &a2av1alpha1.AgentList{}, client.InNamespace(namespace))
		if err != nil {
			return fmt.Errorf("wait for Agents, of which %d of %d are programmed: %w", len(done), n, err)
		}
		// The API server ends a watch of one who cannot follow.
		for event := range agents.ResultChan() {
			if agent, ok := event.Object.(*a2av1alpha1.Agent); ok && holds(agent, a2av1alpha1.ConditionProgrammed) {
				done[agent.Name] = true
			}
			if len(done) == n {
				break
			}
			if time.Since(last) >= tellEvery {
				tell(len(done))
				last = time.Now()
			}
		}
		agents.Stop()
	}
	return nil
}
