// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/operator/agentskill"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// defaultSkillTag is the tag of the default skill.
const defaultSkillTag = "agent"

// origin is a skill and the description of its place in the Agent.
type origin struct {
	skill card.Skill
	place string
	// namespace and details are those of the skill. details is nil for the default skill.
	namespace string
	details   *a2av1alpha1.SkillDetails
}

// resolveSkills returns the skills of a card in this order: inline skills, referenced
// AgentSkills, and selected AgentSkills. Each AgentSkill appears once. If there are
// problems, it returns no skills.
func resolveSkills(in state.Agent) ([]card.Skill, []state.Problem) {
	agent := in.Agent
	origins, problems := skillOrigins(in)
	if len(origins) > 0 && !slices.ContainsFunc(origins, func(o origin) bool { return !o.skill.Extended }) {
		// A public card needs a skill.
		origins = append(origins, origin{skill: defaultSkill(agent), place: "the default skill of the public card"})
	}
	problems = append(problems, duplicateIDs(origins)...)
	_, fileProblems := skillFiles(in, origins)
	problems = append(problems, fileProblems...)
	if len(problems) > 0 {
		return nil, problems
	}
	if len(origins) == 0 {
		return []card.Skill{defaultSkill(agent)}, nil
	}
	resolved := make([]card.Skill, len(origins))
	for i, o := range origins {
		resolved[i] = o.skill
	}
	return resolved, nil
}

// skillOrigins returns the skills of an Agent, and the problems of resolving them.
func skillOrigins(in state.Agent) ([]origin, []state.Problem) {
	agent := in.Agent
	skills := in.Skills
	var origins []origin
	var problems []state.Problem
	schemas := agentskill.Budget{Namespace: agent.Namespace}
	for i, s := range agent.Spec.Skills {
		place := fmt.Sprintf("spec.skills[%d]", i)
		origins = append(origins, origin{cardSkill(string(s.ID), s.SkillDetails), place, agent.Namespace, &agent.Spec.Skills[i].SkillDetails})
		if invalid := schemas.Check(&s.SkillDetails); invalid != nil {
			problems = append(problems, skillProblem(a2av1alpha1.ReasonInvalidSchema, "%s.%s; correct it", place, invalid))
		}
	}
	listed := map[types.NamespacedName]bool{}
	for i, ref := range agent.Spec.SkillRefs {
		target := agentskill.Target(agent, ref)
		skill := skills.Referenced[target]
		untrusted, is := skills.Untrusted[target]
		if is && target.Namespace == agent.Namespace {
			problems = append(problems, untrustedSkill(skill, untrusted))
			continue
		}
		if skill == nil || is || !agentskill.Admits(skill, agent.Namespace, in.NamespaceLabels) {
			problems = append(problems, notFound(in, i, target))
			continue
		}
		listed[target] = true
		place := fmt.Sprintf("spec.skillRefs[%d]", i)
		origins = append(origins, sharedOrigin(agent, skill, place))
		problems = append(problems, sharedSchemaProblems(agent, skill, place, &schemas)...)
	}
	if skills.SelectorError != "" {
		problems = append(problems, skillProblem(a2av1alpha1.ReasonInvalidSelector,
			"spec.skillSelector is not valid: %s; correct it", skills.SelectorError))
	}
	for _, skill := range skills.Selected {
		key := types.NamespacedName{Namespace: skill.Namespace, Name: skill.Name}
		if untrusted, is := skills.Untrusted[key]; is {
			problems = append(problems, untrustedSkill(skill, untrusted))
			continue
		}
		if !listed[key] {
			origins = append(origins, sharedOrigin(agent, skill, "spec.skillSelector"))
			problems = append(problems, sharedSchemaProblems(agent, skill, "spec.skillSelector", &schemas)...)
		}
	}
	return origins, problems
}

// untrustedSkill returns the problem that an AgentSkill has lost fields, such as its visibility, or has fields or
// values that this version does not know.
func untrustedSkill(skill *a2av1alpha1.AgentSkill, observed crdschema.Observed) state.Problem {
	reason, message := crdschema.Untrusted(observed, skill.Generation)
	return skillProblem(reason, "AgentSkill %q: %s", skill.Name, message)
}

// notFound returns the problem that a referenced skill does not exist for the Agent. The
// message does not reveal whether another namespace has a skill that does not admit the
// Agent.
func notFound(in state.Agent, i int, target types.NamespacedName) state.Problem {
	agent := in.Agent
	if in.Skills.Unwatched[target.Namespace] {
		return skillProblem(a2av1alpha1.ReasonSkillNotFound,
			"spec.skillRefs[%d]: the operator does not watch namespace %q of AgentSkill %q; "+
				"ask the administrator of the operator to add the namespace to --watch-namespaces (watchNamespaces of the chart), or remove the reference",
			i, target.Namespace, target.Name)
	}
	if target.Namespace == agent.Namespace {
		return skillProblem(a2av1alpha1.ReasonSkillNotFound,
			"spec.skillRefs[%d].name: AgentSkill %q does not exist in namespace %q; create it, or remove the reference",
			i, target.Name, target.Namespace)
	}
	return skillProblem(a2av1alpha1.ReasonSkillNotFound,
		"spec.skillRefs[%d]: namespace %q has no AgentSkill %q that admits Agents of namespace %q; "+
			"ask its owner to create it or to admit your namespace in its spec.allowedAgents.namespaces, or remove the reference",
		i, target.Namespace, target.Name, agent.Namespace)
}

// sharedOrigin returns the origin of an AgentSkill.
func sharedOrigin(agent *a2av1alpha1.Agent, skill *a2av1alpha1.AgentSkill, place string) origin {
	return origin{
		cardSkill(cmp.Or(string(skill.Spec.ID), skill.Name), skill.Spec.SkillDetails),
		fmt.Sprintf("%s (AgentSkill %q)", place, sharedName(agent, skill)),
		skill.Namespace,
		&skill.Spec.SkillDetails,
	}
}

// sharedName returns the name of an AgentSkill, with its namespace if the Agent is in
// another namespace.
func sharedName(agent *a2av1alpha1.Agent, skill *a2av1alpha1.AgentSkill) string {
	if skill.Namespace == agent.Namespace {
		return skill.Name
	}
	return skill.Namespace + "/" + skill.Name
}

// sharedSchemaProblems returns a problem if the AgentSkill is too large or has an invalid schema, or if its
// schemas exceed the budget of the Agent.
func sharedSchemaProblems(agent *a2av1alpha1.Agent, skill *a2av1alpha1.AgentSkill, place string, schemas *agentskill.Budget) []state.Problem {
	if size := state.DescribeTooLarge(skill); size != "" {
		return []state.Problem{skillProblem(a2av1alpha1.ReasonSpecTooLarge,
			"%s: the spec of AgentSkill %q %s; shorten the AgentSkill, or remove it from the Agent", place, sharedName(agent, skill), size)}
	}
	invalid := schemas.Check(&skill.Spec.SkillDetails)
	if invalid == nil {
		return nil
	}
	return []state.Problem{skillProblem(a2av1alpha1.ReasonInvalidSchema,
		"%s: AgentSkill %q is not valid, its spec.%s; correct the AgentSkill, or remove it from the Agent", place, sharedName(agent, skill), invalid)}
}

// duplicateIDs returns a problem for every skill that has the id of an earlier skill.
func duplicateIDs(origins []origin) []state.Problem {
	var problems []state.Problem
	first := map[string]string{}
	for _, o := range origins {
		if place, taken := first[o.skill.ID]; taken {
			problems = append(problems, skillProblem(a2av1alpha1.ReasonDuplicateSkillID,
				"%s and %s have the same id %q; change one id, or remove one of the skills", place, o.place, o.skill.ID))
			continue
		}
		first[o.skill.ID] = o.place
	}
	return problems
}

// defaultSkill returns the skill on the card of an Agent without skills, made from the
// Agent's name and description. The card needs a skill, because searches find agents by
// the skills on their cards.
func defaultSkill(agent *a2av1alpha1.Agent) card.Skill {
	return card.Skill{
		ID:          agent.Name,
		Name:        displayName(agent),
		Description: agent.Spec.Description,
		Tags:        []string{defaultSkillTag},
	}
}

// defaultSkillRemark returns the remark that the card has only the default skill. For an
// Agent with a selector, the remark differs: the user probably expected other skills.
func defaultSkillRemark(in state.Agent) state.Problem {
	const listed = "The card lists one skill, made from the agent's name and description"
	if in.Agent.Spec.SkillSelector != nil && in.Skills.SelectorError == "" {
		return skillProblem(a2av1alpha1.ReasonDefaultSkill,
			listed+", because spec.skillSelector matches no AgentSkill of namespace %q; "+
				"correct the selector, or the labels of the AgentSkills", in.Agent.Namespace)
	}
	return skillProblem(a2av1alpha1.ReasonDefaultSkill,
		listed+"; set spec.skills, spec.skillRefs or spec.skillSelector to list others")
}

// hiddenSkillRemarks returns a remark if all callers are anonymous and a skill is Extended.
// No caller can then see the skill, because anonymous callers get no extended card.
func hiddenSkillRemarks(agent *a2av1alpha1.Agent, skills []card.Skill) []state.Problem {
	if slices.ContainsFunc(authentications(agent), func(a a2av1alpha1.Authentication) bool {
		return a.Type != a2av1alpha1.AuthenticationAnonymous
	}) {
		return nil
	}
	for i := range skills {
		if skills[i].Extended {
			return []state.Problem{skillProblem(a2av1alpha1.ReasonExtendedSkillsHidden,
				"Skill %q has visibility Extended, and no caller can see it, because all callers are anonymous; "+
					"add another type to spec.access.authentication, or set the visibility to Public", skills[i].ID)}
		}
	}
	return nil
}

func skillProblem(reason, format string, args ...any) state.Problem {
	return state.NewProblem(a2av1alpha1.ConditionSkillsResolved, reason, format, args...)
}

// hidden reports whether a skill is on the extended card only. A visibility that this build does not
// know, which a newer CRD may allow, hides the skill.
func hidden(visibility a2av1alpha1.SkillVisibility) bool {
	return visibility != "" && visibility != a2av1alpha1.SkillVisibilityPublic
}

func cardSkill(id string, details a2av1alpha1.SkillDetails) card.Skill {
	return card.Skill{
		ID:          id,
		Name:        details.Name,
		Description: details.Description,
		Tags:        slices.Clone(details.Tags),
		Examples:    slices.Clone(details.Examples),
		InputModes:  texts[string](details.InputModes),
		OutputModes: texts[string](details.OutputModes),
		Extended:    hidden(details.Visibility),

		InputSchema:  rawObject(details.InputSchema),
		OutputSchema: rawObject(details.OutputSchema),
	}
}
