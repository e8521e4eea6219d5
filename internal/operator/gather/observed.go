// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/operator/memo"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// CurrentSchemas returns the state of the operator's CRDs. Without a source of it, the CRDs never change.
func (g *Gatherer) CurrentSchemas() state.Schemas {
	if current := currentOf(g.Schemas); current != nil {
		return *current
	}
	return state.Schemas{}
}

// ObserveAgent compares the spec of an Agent with the one that the operator accepted last, and with the fields and
// values that this build knows. It does not compare a spec of which the cache keeps a part only
// (state.TooLarge): the digest stays as it is.
func (g *Gatherer) ObserveAgent(ctx context.Context, agent *a2av1alpha1.Agent, schemas state.Schemas) (crdschema.Observed, error) {
	if _, is := state.TooLarge(agent); is {
		return crdschema.Observed{Digest: agent.Status.ObservedSpecDigest, SchemaGeneration: agent.Status.ObservedSchemaGeneration}, nil
	}
	unknown, err := g.newFields(ctx, a2av1alpha1.AgentKind, agent, schemas.NewAgentFields, schemas.Revision)
	return crdschema.ObserveAgent(agent, schemas.Agents, unknown), err
}

// ObserveAgentSkill is ObserveAgent for an AgentSkill.
func (g *Gatherer) ObserveAgentSkill(ctx context.Context, skill *a2av1alpha1.AgentSkill, schemas state.Schemas) (crdschema.Observed, error) {
	if _, is := state.TooLarge(skill); is {
		return crdschema.Observed{Digest: skill.Status.ObservedSpecDigest, SchemaGeneration: skill.Status.ObservedSchemaGeneration}, nil
	}
	unknown, err := g.newFields(ctx, "AgentSkill", skill, schemas.NewAgentSkillFields, schemas.Revision)
	return crdschema.ObserveAgentSkill(skill, schemas.AgentSkills, unknown), err
}

// untrusted returns the skills whose specs the operator must not apply, nil for none.
func (g *Gatherer) untrusted(ctx context.Context, skills state.Skills, schemas state.Schemas) (map[types.NamespacedName]crdschema.Observed, error) {
	var all map[types.NamespacedName]crdschema.Observed
	for _, skill := range slices.AppendSeq(slices.Clone(skills.Selected), maps.Values(skills.Referenced)) {
		observed, err := g.ObserveAgentSkill(ctx, skill, schemas)
		if err != nil {
			return nil, err
		}
		if observed.Trusted() {
			continue
		}
		if all == nil {
			all = map[types.NamespacedName]crdschema.Observed{}
		}
		all[client.ObjectKeyFromObject(skill)] = observed
	}
	return all, nil
}

// NewFields remembers which fields of a newer CRD the specs set. Package memo describes it.
type NewFields = memo.Memo[memo.Object, SpecVersion, []string]

// SpecVersion is the version of a spec in the form of the installed CRD.
type SpecVersion struct{ generation, revision int64 }

// maxNewFields bounds the memo, in objects.
const maxNewFields = 16 << 10

// NewNewFields returns an empty memo.
func NewNewFields(passive clock.PassiveClock) *NewFields {
	return memo.New[memo.Object, SpecVersion, []string](maxNewFields, passive)
}

// newFields returns the fields of a spec that only a newer CRD has. The cache does not have them, because its objects
// have the types of this build. newFields therefore reads the object from the API server, once for each
// generation. It reads nothing while the CRD is not newer.
func (g *Gatherer) newFields(ctx context.Context, kind string, object client.Object, fields crdschema.NewFields, revision int64) ([]string, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	version := SpecVersion{object.GetGeneration(), revision}
	if known, found := g.NewFields.Get(memo.KeyOf(object), version); found {
		return known, nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(a2av1alpha1.GroupVersion.WithKind(kind + "List"))
	var set []string
	isRead := false
	isChanged := false
	err := g.live(ctx, list, object, func(found client.Object) {
		isRead = true
		isChanged = found.GetGeneration() != object.GetGeneration()
		spec, _, _ := unstructured.NestedFieldNoCopy(found.(*unstructured.Unstructured).Object, "spec")
		members, _ := spec.(map[string]any)
		set = crdschema.SetNewFields(members, fields)
	})
	switch {
	case err != nil:
		return nil, err
	case !isRead: // the object was deleted
		return nil, nil
	case isChanged:
		return nil, fmt.Errorf("read the new fields of %s %s: it has changed meanwhile", kind, client.ObjectKeyFromObject(object))
	}
	g.NewFields.Put(memo.KeyOf(object), version, set, time.Time{})
	return set, nil
}
