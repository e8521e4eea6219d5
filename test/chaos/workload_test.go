// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// workload is what a user does. Only act is disturbed.
type workload struct {
	name string
	// made is true when an agent runs before the user acts.
	made bool
	act  func(context.Context, *user) error
}

var workloads = []workload{
	{name: "create", act: func(ctx context.Context, u *user) error { return u.create(ctx) }},
	{name: "scale", made: true, act: func(ctx context.Context, u *user) error {
		return u.edit(ctx, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Replicas = new(int32(0)) })
	}},
	{name: "image", made: true, act: func(ctx context.Context, u *user) error {
		return u.edit(ctx, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2" })
	}},
	{name: "skill", made: true, act: func(ctx context.Context, u *user) error {
		skill := u.skill()
		if err := u.cluster.Get(ctx, client.ObjectKeyFromObject(skill), skill); err != nil {
			return err
		}
		skill.Spec.Description = "Sings an aria."
		return u.cluster.Update(ctx, skill)
	}},
	{name: "suspend", made: true, act: func(ctx context.Context, u *user) error {
		return u.edit(ctx, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = true })
	}},
	{name: "open the network", made: true, act: func(ctx context.Context, u *user) error {
		return u.edit(ctx, func(a *a2av1alpha1.Agent) { a.Spec.NetworkPolicy.Management = a2av1alpha1.NetworkPolicyNone })
	}},
	{name: "mistake", made: true, act: func(ctx context.Context, u *user) error {
		return u.edit(ctx, func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "missing"}} })
	}},
	{name: "delete", made: true, act: func(ctx context.Context, u *user) error { return u.cluster.Delete(ctx, u.agent()) }},
	{name: "replace", made: true, act: func(ctx context.Context, u *user) error {
		if err := u.cluster.Delete(ctx, u.agent()); err != nil {
			return err
		}
		return u.cluster.Create(ctx, u.agent())
	}},
}

// user owns one agent and one skill.
type user struct {
	cluster   client.Client
	namespace string
}

func (u *user) skill() *a2av1alpha1.AgentSkill {
	return &a2av1alpha1.AgentSkill{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.namespace, Name: "sing"},
		Spec: a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{
			Name: "Sing", Description: "Sings a song.", Tags: []string{"music"},
		}},
	}
}

func (u *user) agent() *a2av1alpha1.Agent {
	return &a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.namespace, Name: "echo"},
		Spec: a2av1alpha1.AgentSpec{
			Description: "Says it again.",
			SkillRefs:   []a2av1alpha1.AgentSkillRef{{Name: "sing"}},
			Workload: &a2av1alpha1.AgentWorkload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "agent", Image: "example/echo:1"}},
			}}},
		},
	}
}

func (u *user) create(ctx context.Context) error {
	for _, object := range []client.Object{u.skill(), u.agent()} {
		if err := u.cluster.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// edit changes the agent as kubectl does: it knows nothing of versions.
func (u *user) edit(ctx context.Context, change func(*a2av1alpha1.Agent)) error {
	agent := u.agent()
	if err := u.cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
		return err
	}
	before := agent.DeepCopy()
	change(agent)
	return u.cluster.Patch(ctx, agent, client.MergeFrom(before))
}
