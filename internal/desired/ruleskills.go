// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// ruleSkills contains the skills that a rule may name.
type ruleSkills struct {
	// onCard are the skills of the card to publish.
	onCard []card.Skill
	// pending are the ids of skills of the spec that are not on the card yet, because
	// some skills cannot be resolved.
	pending []string
	// denied reports whether a rule that is already applied denies a skill. The skill was
	// then once on the card.
	denied func(id string) bool
}

func (r *ruleSkills) known(id string) bool {
	return hasSkill(r.onCard, id) || slices.Contains(r.pending, id)
}
