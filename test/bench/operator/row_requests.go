// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// change is something that a user does to an Agent, or that happens to it, and
// what the manager asks for because of it.
type change struct {
	what string
	do   func(context.Context, *plane, *a2av1alpha1.Agent) error
	// edit is true for what a user does to an Agent that runs.
	edit bool
	// want is what it must come to, sorted.
	want requests
}

// creation is O1: from nothing to Ready.
var creation = []change{
	{
		what: "an Agent is made",
		do: func(ctx context.Context, p *plane, agent *a2av1alpha1.Agent) error {
			if err := p.cluster.Create(ctx, agent); err != nil {
				return err
			}
			return p.becomes(ctx, agent, a2av1alpha1.ConditionProgrammed)
		},
		want: requests{
			"patch agents/status", "patch configmaps", "patch deployments", "patch networkpolicies", "patch serviceaccounts", "patch services",
		},
	},
	{what: "its pod is scheduled", do: schedule, want: requests{}},
	{what: "its pod is ready", do: serve, want: requests{"patch agents/status", "patch pods"}},
	{what: "its pod is counted as available", do: retire, want: requests{}},
}

// changes are O3.
var changes = []change{
	{
		what: "another image",
		edit: true,
		do:   editing(func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2" }),
		want: requests{"patch agents/status", "patch deployments"},
	},
	{what: "a pod of the new image is scheduled", do: schedule, want: requests{}},
	{what: "that pod is ready", do: serve, want: requests{"patch pods"}},
	{what: "the earlier pod is gone", do: retire, want: requests{"patch agents/status"}},
	{
		what: "another label of the Agent",
		edit: true,
		do:   editing(func(a *a2av1alpha1.Agent) { a.Labels = map[string]string{"team": "music"} }),
		want: requests{},
	},
	{
		what: "another text of a skill of its own",
		edit: true,
		do:   editing(func(a *a2av1alpha1.Agent) { a.Spec.Skills[0].Description = "Says it twice." }),
		want: requests{"patch agents/status", "patch configmaps", "patch pods"},
	},
	{
		what: "another text of a skill that it shares",
		edit: true,
		do: func(ctx context.Context, p *plane, agent *a2av1alpha1.Agent) error {
			return edit(ctx, p, newSkill(agent.Namespace), func(s *a2av1alpha1.AgentSkill) { s.Spec.Description = "Sings an aria." })
		},
		want: requests{"patch agents/status", "patch configmaps", "patch pods"},
	},
}

func schedule(ctx context.Context, p *plane, agent *a2av1alpha1.Agent) error {
	return p.schedule(ctx, agent)
}

func serve(ctx context.Context, p *plane, agent *a2av1alpha1.Agent) error { return p.serve(ctx, agent) }

func retire(ctx context.Context, p *plane, agent *a2av1alpha1.Agent) error {
	return p.retire(ctx, agent)
}

func editing(how func(*a2av1alpha1.Agent)) func(context.Context, *plane, *a2av1alpha1.Agent) error {
	return func(ctx context.Context, p *plane, agent *a2av1alpha1.Agent) error {
		return edit(ctx, p, agent, how)
	}
}

// newTeam makes a namespace with the skill that Agents share.
func (p *plane) newTeam(ctx context.Context) (string, error) {
	namespace, err := p.namespace(ctx)
	if err != nil {
		return "", err
	}
	return namespace, p.cluster.Create(ctx, newSkill(namespace))
}

// requestsOf is what each change comes to, one after the other, for one Agent.
func (p *plane) requestsOf(ctx context.Context, m *manager, changes []change) ([]requests, error) {
	namespace, err := p.newTeam(ctx)
	if err != nil {
		return nil, err
	}
	agent := newAgent(namespace, "echo")
	var all []requests
	for _, c := range changes {
		got, err := p.requested(ctx, m, func() error { return c.do(ctx, p, agent) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.what, err)
		}
		all = append(all, got)
	}
	return all, nil
}

// everyChange is creation, and then the others.
func everyChange() []change { return slices.Concat(creation, changes) }

// resync is O2: every Agent of a namespace is looked at again, and nothing has
// to be done. It returns what the manager asks for.
func (p *plane) resync(ctx context.Context, m *manager, namespace string) (requests, error) {
	agents := &a2av1alpha1.AgentList{}
	if err := p.cluster.List(ctx, agents, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	before, err := m.rest(ctx, 0)
	if err != nil {
		return nil, err
	}
	return p.requested(ctx, m, func() error {
		err := p.forEach(ctx, len(agents.Items), func(i int) error {
			return edit(ctx, p, &agents.Items[i], func(a *a2av1alpha1.Agent) { a.Annotations = map[string]string{"touched": "yes"} })
		})
		if err != nil {
			return err
		}
		_, err = m.rest(ctx, before+len(agents.Items))
		return err
	})
}
