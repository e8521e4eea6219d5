// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"fmt"
	"slices"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/operator/celcompile"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// allNamespaces is the entry of sidecarconfig.Access.Namespaces that admits callers of
// every namespace.
const allNamespaces = "*"

// configAuthorization returns the rules of an Agent in the form of the sidecar
// configuration, or nil if there are no rules. It returns a problem for an expression
// that does not compile.
func configAuthorization(agent *a2av1alpha1.Agent) (*sidecarconfig.Authorization, []state.Problem, error) {
	rules := agent.Spec.Access.Authorization
	if len(rules) == 0 {
		return nil, nil, nil
	}
	authorization := &sidecarconfig.Authorization{Rules: make([]sidecarconfig.Rule, len(rules))}
	var problems []state.Problem
	for i, r := range rules {
		authorization.Rules[i] = sidecarconfig.Rule{
			Name: r.Name, Action: sidecarconfig.Action(r.Action),
			Namespaces: r.Namespaces, Principals: r.Principals, Subjects: r.Subjects, Skills: r.Skills, Methods: texts[string](r.Methods),
		}
		if r.Expression == "" {
			continue
		}
		checked, err := celcompile.Compile(agent.Namespace, r.Expression)
		if mistake, ok := errors.AsType[*celcompile.ExpressionError](err); ok {
			problems = append(problems, state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonInvalidAuthorization,
				"spec.access.authorization[%d].expression is not valid CEL: %v; correct the expression", i, mistake))
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("compile spec.access.authorization[%d].expression: %w", i, err)
		}
		authorization.Rules[i].Expression = &sidecarconfig.Expression{Text: r.Expression, Checked: checked}
	}
	return authorization, problems, nil
}

// unknownSkills finds the skills of rules and of scopes that are not on the card.
//
// An unknown skill of an Allow rule is a remark: the rule matches no call. An unknown
// skill of a Deny rule is a problem, because the author may have meant another skill. If
// the Deny rule is already applied, the unknown skill is a remark, too: the skill was
// removed from the card, and the owner of a skill must not block later rules by deleting
// the skill. Scopes restrict a skill, so their skills count as those of Deny rules.
func unknownSkills(agent *a2av1alpha1.Agent, skills *ruleSkills) (problems, remarks []state.Problem) {
	for i, r := range agent.Spec.Access.Authorization {
		for j, id := range r.Skills {
			if skills.known(id) {
				continue
			}
			found := state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonUnknownSkillInRule,
				"spec.access.authorization[%d].skills[%d] is %q, and the card has no skill with this id; "+
					"correct the id, or remove it", i, j, id)
			if r.Action == a2av1alpha1.AuthorizationDeny && !skills.denied(id) {
				problems = append(problems, found)
			} else {
				remarks = append(remarks, found)
			}
		}
	}
	unscoped, harmless := unknownScopedSkills(agent, skills)
	return append(problems, unscoped...), append(remarks, harmless...)
}

// unknownScopedSkills is unknownSkills for jwt.skillScopes.
func unknownScopedSkills(agent *a2av1alpha1.Agent, skills *ruleSkills) (problems, remarks []state.Problem) {
	for i, authentication := range agent.Spec.Access.Authentication {
		if authentication.JWT == nil {
			continue
		}
		for j, each := range authentication.JWT.SkillScopes {
			if skills.known(each.Skill) {
				continue
			}
			found := state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonUnknownSkillInRule,
				"spec.access.authentication[%d].jwt.skillScopes[%d].skill is %q, and the card has no skill with this id; "+
					"correct the id, or remove the entry", i, j, each.Skill)
			if skills.scoped(each.Skill) {
				remarks = append(remarks, found)
			} else {
				problems = append(problems, found)
			}
		}
	}
	return problems, remarks
}

// ruleSkills contains the skills that a rule may name.
type ruleSkills struct {
	// onCard are the skills of the card to publish.
	onCard []card.Skill
	// pending are the ids of skills of the spec that are not on the card yet, because
	// some skills cannot be resolved.
	pending []string
	// denied reports whether a rule that is already applied denies a skill. Such a skill
	// was on the card once. scoped reports the same of scopes for a skill.
	denied func(id string) bool
	scoped func(id string) bool
}

func (r *ruleSkills) known(id string) bool {
	return hasSkill(r.onCard, id) || slices.Contains(r.pending, id)
}
