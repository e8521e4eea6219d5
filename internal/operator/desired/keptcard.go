// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// cardChoice is the card that the operator publishes, and how it was chosen.
type cardChoice struct {
	// card is nil if the skills cannot be resolved and keptCard has no replacement.
	card *card.Card
	// kept is true if card comes from keptCard and not from the spec: it is the card that
	// was published last, or the least card. least is true if it is the least card.
	kept, least bool
	// problems are the reasons why the card of the spec cannot be published.
	problems []state.Problem

	base card.Base
	last func() *sidecarconfig.Published
}

// publishedCard returns the card of the spec, or the kept card if the skills cannot be
// resolved. base is the base of the Agent's Service.
func publishedCard(in state.Agent, base card.Base) *cardChoice {
	choice := &cardChoice{base: base, last: sync.OnceValue(func() *sidecarconfig.Published { return lastPublished(in) })}
	skills, problems := resolveSkills(in)
	if len(problems) == 0 {
		choice.card = new(agentCard(in.Agent, base, skills))
		return choice
	}
	choice.problems = problems
	choice.keep(in)
	return choice
}

// keep chooses the card of keptCard. It returns false if there is none.
func (c *cardChoice) keep(in state.Agent) bool {
	c.card, c.least = keptCard(in, c.base, c.last())
	c.kept = c.card != nil
	return c.kept
}

// awaitPod chooses the card that was published last if it differs from the one of the spec, and if pods of earlier
// templates serve and none of the current one does. bases are the addresses on the card.
func (c *cardChoice) awaitPod(in state.Agent, templateDigest string, bases []card.Base) (bool, error) {
	if c.kept || !state.FormerServes(in.Pods, templateDigest) || c.last() == nil {
		return false, nil
	}
	former := updatedCard(in, c.base, c.last())
	was, err := card.Digest(former, bases...)
	if err != nil {
		return false, fmt.Errorf("digest of the published card: %w", err)
	}
	is, err := card.Digest(c.card, bases...)
	if err != nil || was == is {
		return false, err
	}
	c.card = former
	c.kept = true
	return true, nil
}

// smaller replaces the card after the sidecar configuration was too large with it: first by
// the card that was published last, and on the next call by the least card. smaller returns
// false if there is no smaller card. The least card is necessary, so that the operator can
// always apply restrictions of access: the card that was published last can be too large
// together with the current spec, or because a user edited the ConfigMap.
func (c *cardChoice) smaller(in state.Agent) bool {
	switch {
	case c.least:
		return false
	case c.kept:
		c.card = leastCard(in, c.base)
		c.least = true
		return true
	default:
		return c.keep(in)
	}
}

// ruleSkills returns the skills that a rule may name: the skills on the card and, while
// the card is kept, also the skills of the spec.
func (c *cardChoice) ruleSkills(in state.Agent) *ruleSkills {
	skills := &ruleSkills{onCard: c.card.Skills, denied: deniedBy(c.last), scoped: scopedBy(c.last)}
	if c.kept {
		skills.pending = pendingSkills(in)
	}
	return skills
}

// lastPublished returns the card and the rules of the Agent's sidecar configuration in
// the cluster. It returns nil if there is no configuration, if the Agent does not own the
// ConfigMap, or if the operator did not write its content.
func lastPublished(in state.Agent) *sidecarconfig.Published {
	current := in.Children.ConfigMap
	if current == nil || !metav1.IsControlledBy(current, in.Agent) {
		return nil
	}
	encoded := []byte(current.Data[sidecarconfig.FileName])
	if sidecarconfig.Digest(encoded) != current.Annotations[a2av1alpha1.AnnotationConfigDigest] {
		return nil
	}
	published, err := sidecarconfig.ReadPublished(encoded, sidecarconfig.Agent{Namespace: in.Agent.Namespace, Name: in.Agent.Name})
	if err != nil {
		return nil
	}
	return published
}

// keptCard returns the card to publish while the card of the spec cannot be published, so
// that the rest of the spec can be applied. It is the card that was published last, with
// the interfaces of the current spec. A skill that is Extended in the current spec becomes
// Extended on this card, so that it leaves the public card.
//
// If the published card is lost and the Agent has a Deployment, keptCard returns the
// least card. For an Agent without a Deployment it returns nil.
func keptCard(in state.Agent, base card.Base, last *sidecarconfig.Published) (kept *card.Card, least bool) {
	if last != nil {
		return updatedCard(in, base, last), false
	}
	if d := in.Children.Deployment; d == nil || !metav1.IsControlledBy(d, in.Agent) {
		return nil, false
	}
	return leastCard(in, base), true
}

// leastCard returns the card of the current spec with only the default skill.
func leastCard(in state.Agent, base card.Base) *card.Card {
	least := agentCard(in.Agent, base, []card.Skill{defaultSkill(in.Agent)})
	return &least
}

// updatedCard returns a published card with the addresses and the visibility of skills
// from the current spec.
func updatedCard(in state.Agent, base card.Base, last *sidecarconfig.Published) *card.Card {
	kept := last.Card
	// The bindings and addresses come from the current spec. sidecarConfiguration sets the
	// security members and the capabilities other than extensions.
	kept.Bindings = cardBindings(in.Agent.Spec.Protocol.Bindings)
	kept = *kept.At(base)
	kept.SecuritySchemes = nil
	kept.SecurityOptional = false
	kept.Capabilities = card.Capabilities{Extensions: kept.Capabilities.Extensions}
	kept.Skills = hideExtended(in, kept.Skills)
	return &kept
}

// hideExtended returns the skills, and sets Extended for each skill that is Extended in
// the current spec. If no skill is then public, it adds the default skill.
func hideExtended(in state.Agent, skills []card.Skill) []card.Skill {
	current, _ := skillOrigins(in)
	skills = slices.Clone(skills)
	for i := range skills {
		skills[i].Extended = skills[i].Extended || slices.ContainsFunc(current, func(o origin) bool {
			return o.skill.ID == skills[i].ID && o.skill.Extended
		})
	}
	public := slices.ContainsFunc(skills, func(s card.Skill) bool { return !s.Extended })
	if standIn := defaultSkill(in.Agent); !public && !hasSkill(skills, standIn.ID) {
		skills = append(skills, standIn)
	}
	return skills
}

// pendingSkills returns the ids of the skills of the spec that exist, and the names of all
// AgentSkills in spec.skillRefs. If an AgentSkill does not exist, the operator knows only its
// name, which is the default of its id.
func pendingSkills(in state.Agent) []string {
	current, _ := skillOrigins(in)
	var ids []string
	for _, o := range current {
		ids = append(ids, o.skill.ID)
	}
	for _, ref := range in.Agent.Spec.SkillRefs {
		ids = append(ids, ref.Name)
	}
	return ids
}

// deniedBy returns a function that reports whether one of the rules that were published
// last denies a skill.
func deniedBy(last func() *sidecarconfig.Published) func(id string) bool {
	return func(id string) bool {
		published := last()
		return published != nil && slices.ContainsFunc(published.Rules, func(r sidecarconfig.Rule) bool {
			return r.Action == sidecarconfig.ActionDeny && slices.Contains(r.Skills, id)
		})
	}
}

// scopedBy returns a function that reports whether the configuration that was published last
// has scopes for a skill.
func scopedBy(last func() *sidecarconfig.Published) func(id string) bool {
	return func(id string) bool {
		published := last()
		return published != nil && slices.Contains(published.ScopedSkills, id)
	}
}
