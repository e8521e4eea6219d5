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

// change is an edit of an Agent by a user, or a change of its pods, with the requests that the manager sends
// because of it.
type change struct {
	what string
	do   func(context.Context, *plane, *a2av1alpha1.Agent) error
	// edit is true for an edit of a running Agent.
	edit bool
	// want holds the expected requests, sorted.
	want requests
}

// creation contains the changes of O1: from no Agent to a Ready one.
var creation = []change{
	{
		what: "an Agent is created",
		do: func(ctx context.Context, p *plane, agent *a2av1alpha1.Agent) error {
			if err := p.cluster.Create(ctx, agent); err != nil {
				return err
			}
			return p.becomes(ctx, agent, a2av1alpha1.ConditionProgrammed)
		},
		want: requests{
			// The first write of the status is the claim.
			"patch agents/status", "patch agents/status", "patch configmaps", "patch deployments", "patch networkpolicies", "patch serviceaccounts", "patch services",
		},
	},
	{what: "its pod is scheduled", do: schedule, want: requests{}},
	{what: "its pod is ready", do: serve, want: requests{"list controllerrevisions", "patch agents/status", "patch controllerrevisions", "patch pods"}},
	{what: "its pod is counted as available", do: retire, want: requests{}},
}

// changes contains the changes of O3.
var changes = []change{
	{
		what: "another image",
		edit: true,
		do:   editing(func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2" }),
		want: requests{"patch agents/status", "patch deployments"},
	},
	{what: "a pod of the new image is scheduled", do: schedule, want: requests{}},
	{what: "that pod is ready", do: serve, want: requests{"patch pods"}},
	{what: "the earlier pod is gone", do: retire, want: requests{"list controllerrevisions", "patch agents/status", "patch controllerrevisions"}},
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
		want: requests{"list controllerrevisions", "patch agents/status", "patch configmaps", "patch controllerrevisions", "patch pods"},
	},
	{
		what: "another text of a skill that it shares",
		edit: true,
		do: func(ctx context.Context, p *plane, agent *a2av1alpha1.Agent) error {
			return edit(ctx, p, newSkill(agent.Namespace), func(s *a2av1alpha1.AgentSkill) { s.Spec.Description = "Sings an aria." })
		},
		want: requests{"list controllerrevisions", "patch agents/status", "patch configmaps", "patch controllerrevisions", "patch pods"},
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

// newTeam creates a namespace with the skill that Agents share.
func (p *plane) newTeam(ctx context.Context) (string, error) {
	namespace, err := p.namespace(ctx)
	if err != nil {
		return "", err
	}
	return namespace, p.cluster.Create(ctx, newSkill(namespace))
}

// requestsOf returns the requests of each change, one after another, for one Agent.
func (p *plane) requestsOf(ctx context.Context, m *manager, changes []change) ([]requests, error) {
	namespace, err := p.newTeam(ctx)
	if err != nil {
		return nil, err
	}
	// The last requests of the start are not those of a change.
	_, err = p.requested(ctx, m, func() error {
		_, err := m.awaitIdle(ctx, 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the end of the start: %w", err)
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

// everyChange returns creation and changes.
func everyChange() []change { return slices.Concat(creation, changes) }

// resync enqueues every Agent of a namespace, all in sync, and returns the requests of the manager.
func (p *plane) resync(ctx context.Context, m *manager, namespace string) (requests, error) {
	agents := &a2av1alpha1.AgentList{}
	if err := p.cluster.List(ctx, agents, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	before, err := m.awaitIdle(ctx, 0)
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
		_, err = m.awaitIdle(ctx, before+len(agents.Items))
		return err
	})
}
