// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
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
	fresh := agent
	err := g.live(ctx, &a2av1alpha1.AgentList{}, agent, func(found client.Object) {
		fresh = found.(*a2av1alpha1.Agent).DeepCopy()
		state.CompleteWorkload(fresh)
	})
	return fresh, err
}

// FreshSkill is Fresh for an AgentSkill. skill may be nil.
func (g *Gatherer) FreshSkill(ctx context.Context, skill *a2av1alpha1.AgentSkill) (*a2av1alpha1.AgentSkill, error) {
	if skill == nil {
		return nil, nil
	}
	if _, large := state.TooLarge(skill); large || !crdschema.AgentSkillLacksFields(skill) {
		return skill, nil
	}
	fresh := skill
	err := g.live(ctx, &a2av1alpha1.AgentSkillList{}, skill, func(found client.Object) { fresh = found.(*a2av1alpha1.AgentSkill).DeepCopy() })
	return fresh, err
}

// live calls handle for the object that the API server has with the UID of a cached one, if there is one. handle must copy what it keeps.
// list is an empty list of the kind. A whole object may be large: it may have its spec once more as the annotation of kubectl apply.
func (g *Gatherer) live(ctx context.Context, list client.ObjectList, cached client.Object, handle func(client.Object)) error {
	err := pagedlist.Each(ctx, g.Live, list, 1, func(o runtime.Object) {
		found := o.(client.Object) // the list has objects of the API server
		found.SetManagedFields(nil)
		if found.GetUID() == cached.GetUID() {
			handle(found)
		}
	}, client.InNamespace(cached.GetNamespace()), client.MatchingFields{metav1.ObjectNameField: cached.GetName()})
	if err != nil {
		return fmt.Errorf("list %T %s: %w", cached, client.ObjectKeyFromObject(cached), err)
	}
	return nil
}
