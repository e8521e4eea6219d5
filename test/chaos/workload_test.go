// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// workload is a sequence of actions of a user. Only act is disturbed.
type workload struct {
	name string
	// made is true if an agent runs before the user acts.
	made bool
	act  func(context.Context, *user) error
	// shows and lacks are texts that the state at the end has and does not have.
	shows, lacks []string
}

// condition returns the text of a condition in a state.
func condition(name string, status metav1.ConditionStatus, reason string) string {
	return fmt.Sprintf("reason: %s\n    status: %q\n    type: %s\n", reason, status, name)
}

var (
	ready = condition(a2av1alpha1.ConditionReady, metav1.ConditionTrue, a2av1alpha1.ReasonReady)
	// pods is the text of a number of pods in the status of an agent, which is written last.
	pods = func(n int) string { return fmt.Sprintf("  replicas: %d\n  revisionHistoryLimit: 3\n  selector:", n) }
	// made are texts in the state of an agent that runs.
	made = []string{ready, "--- Pod\n", "  agents: 1\n", pods(1)}
)

// complaint returns the part of a workload's end that is missing in a state.
func (w workload) complaint(state string) string {
	for _, text := range w.shows {
		if !strings.Contains(state, text) {
			return fmt.Sprintf("there is no %q", text)
		}
	}
	for _, text := range w.lacks {
		if strings.Contains(state, text) {
			return fmt.Sprintf("there still is %q", text)
		}
	}
	return ""
}

var workloads = []workload{
	{name: "create", shows: made, act: func(ctx context.Context, u *user) error { return u.create(ctx) }},
	{name: "scale", made: true, lacks: []string{"--- Pod\n"}, shows: []string{a2av1alpha1.ReasonScaledToZero, pods(0)}, act: func(ctx context.Context, u *user) error {
		return u.edit(ctx, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Replicas = new(int32(0)) })
	}},
	{name: "image", made: true, shows: []string{"example/echo:2", ready, pods(1)}, lacks: []string{"example/echo:1"}, act: func(ctx context.Context, u *user) error {
		return u.edit(ctx, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2" })
	}},
	{name: "skill", made: true, shows: []string{`"Sings an aria."`, ready}, lacks: []string{"Sings a song."}, act: func(ctx context.Context, u *user) error {
		skill := u.skill()
		if err := u.cluster.Get(ctx, client.ObjectKeyFromObject(skill), skill); err != nil {
			return err
		}
		skill.Spec.Description = "Sings an aria."
		return u.cluster.Update(ctx, skill)
	}},
	{name: "suspend", made: true, lacks: []string{"--- Pod\n"}, shows: []string{a2av1alpha1.ReasonSuspended, pods(0)}, act: func(ctx context.Context, u *user) error {
		return u.edit(ctx, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = true })
	}},
	{name: "open the network", made: true, lacks: []string{"--- NetworkPolicy\n"}, shows: []string{ready}, act: func(ctx context.Context, u *user) error {
		return u.edit(ctx, func(a *a2av1alpha1.Agent) { a.Spec.NetworkPolicy.Management = a2av1alpha1.NetworkPolicyNone })
	}},
	{
		name: "autoscale", made: true,
		shows: []string{ready, "--- HorizontalPodAutoscaler\n", "--- PodDisruptionBudget\n", pods(2)},
		act:   func(ctx context.Context, u *user) error { return u.edit(ctx, share) },
	},
	{name: "mistake", made: true, shows: []string{a2av1alpha1.ReasonSkillNotFound, "--- Pod\n"}, act: func(ctx context.Context, u *user) error {
		return u.edit(ctx, func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "missing"}} })
	}},
	// While a skill is missing, the operator still applies a change of the authorization rules, and does not change the
	// published card.
	{
		name: "revoke", made: true,
		shows: []string{a2av1alpha1.ReasonSkillNotFound, a2av1alpha1.ReasonCardKept, `"action": "Deny"`, `"Sings a song."`, "--- Pod\n"},
		act: func(ctx context.Context, u *user) error {
			return u.edit(ctx, func(a *a2av1alpha1.Agent) {
				a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "missing"}}
				a.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{{Action: a2av1alpha1.AuthorizationDeny, Namespaces: []string{"left"}}}
			})
		},
	},
	{name: "delete", made: true, shows: []string{"  agents: 0\n"}, lacks: []string{"--- Agent\n", "--- Deployment\n", "--- Pod\n", "--- Service\n", "--- ConfigMap\n"}, act: func(ctx context.Context, u *user) error { return u.cluster.Delete(ctx, u.agent()) }},
	{name: "replace", made: true, shows: made, act: func(ctx context.Context, u *user) error {
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
	// remote is the URL of the agent, "" for one with a workload.
	remote string
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
	if u.remote != "" {
		return &a2av1alpha1.Agent{
			ObjectMeta: metav1.ObjectMeta{Namespace: u.namespace, Name: "echo"},
			Spec:       a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{URL: u.remote}},
		}
	}
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

// createShared creates an agent that owns one object of every kind.
func (u *user) createShared(ctx context.Context) error {
	agent := u.agent()
	share(agent)
	if err := u.cluster.Create(ctx, u.skill()); err != nil {
		return fmt.Errorf("create skill: %w", err)
	}
	return u.cluster.Create(ctx, agent)
}

// share gives an agent several replicas and a shared task store.
func share(agent *a2av1alpha1.Agent) {
	agent.Spec.Workload.Tasks.Store = a2av1alpha1.AgentTaskStore{
		Type: a2av1alpha1.TaskStoreRedis, Redis: &a2av1alpha1.AgentRedis{Addresses: []string{"redis:6379"}},
	}
	agent.Spec.Workload.Autoscaling = &a2av1alpha1.AgentAutoscaling{
		MinReplicas: 2, MaxReplicas: 5,
		Metrics: []a2av1alpha1.AutoscalingMetric{{Type: a2av1alpha1.AutoscalingMetricInFlightTurns, Target: 10}},
	}
}

// edit changes the agent as kubectl does, without a resource version.
func (u *user) edit(ctx context.Context, change func(*a2av1alpha1.Agent)) error {
	agent := u.agent()
	if err := u.cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
		return err
	}
	before := agent.DeepCopy()
	change(agent)
	return u.cluster.Patch(ctx, agent, client.MergeFrom(before))
}
