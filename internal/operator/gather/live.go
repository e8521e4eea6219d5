// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// Fresh returns the Agent. If its spec lacks fields that the operator has seen before, Fresh returns the Agent
// that the API server has now. After a change of a CRD, the watches that exist continue for some time with the
// former schema: the cache may then lack fields that the Agent has. The operator must not take that for an edit.
//
// Fresh lists, because the operator has no right to get Agents.
func (g *Gatherer) Fresh(ctx context.Context, agent *a2av1alpha1.Agent) (*a2av1alpha1.Agent, error) {
	if _, large := state.TooLarge(agent); large || !crdschema.AgentLacksFields(agent) {
		return agent, nil
	}
	list := &a2av1alpha1.AgentList{}
	if err := g.list(ctx, list, agent); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].UID == agent.UID {
			state.CompleteWorkload(&list.Items[i])
			return &list.Items[i], nil
		}
	}
	return agent, nil
}

// FreshSkill is Fresh for an AgentSkill. skill may be nil.
func (g *Gatherer) FreshSkill(ctx context.Context, skill *a2av1alpha1.AgentSkill) (*a2av1alpha1.AgentSkill, error) {
	if skill == nil {
		return nil, nil
	}
	if _, large := state.TooLarge(skill); large || !crdschema.AgentSkillLacksFields(skill) {
		return skill, nil
	}
	list := &a2av1alpha1.AgentSkillList{}
	if err := g.list(ctx, list, skill); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].UID == skill.UID {
			return &list.Items[i], nil
		}
	}
	return skill, nil
}

// list reads an object from the API server into a list.
func (g *Gatherer) list(ctx context.Context, list client.ObjectList, object client.Object) error {
	if err := g.Live.List(ctx, list, client.InNamespace(object.GetNamespace()), client.MatchingFields{metav1.ObjectNameField: object.GetName()}); err != nil {
		return fmt.Errorf("list %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return nil
}
