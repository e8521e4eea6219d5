// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/skillschema"
	"github.com/a2a-operator/a2a-operator/internal/skillsharing"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// defaultSkillTag stands on the one skill of an Agent that names none.
const defaultSkillTag = "agent"

// origin is a skill, and the place in the Agent that it comes from.
type origin struct {
	skill card.Skill
	place string
}

// resolveSkills returns the skills of a card in their order: those in place,
// those by reference, and those selected, each AgentSkill once.
func resolveSkills(in clusterstate.Agent) ([]card.Skill, []usererror.Problem) {
	agent := in.Agent
	origins, problems := skillOrigins(in)
	if len(origins) > 0 && !slices.ContainsFunc(origins, func(o origin) bool { return !o.skill.Extended }) {
		// A public card without a skill says nothing of the agent.
		origins = append(origins, origin{defaultSkill(agent), "the skill that stands for the agent on its public card"})
	}
	problems = append(problems, duplicateIDs(origins)...)
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

// skillOrigins lists the skills of an Agent and what is wrong with the list.
func skillOrigins(in clusterstate.Agent) ([]origin, []usererror.Problem) {
	agent, skills := in.Agent, in.Skills
	var origins []origin
	var problems []usererror.Problem
	for i, s := range agent.Spec.Skills {
		place := fmt.Sprintf("spec.skills[%d]", i)
		origins = append(origins, origin{cardSkill(string(s.ID), s.SkillDetails), place})
		if invalid := skillschema.Check(&s.SkillDetails); invalid != nil {
			problems = append(problems, skillProblem(a2av1alpha1.ReasonInvalidSchema, "%s.%s; correct it", place, invalid))
		}
	}
	listed := map[types.NamespacedName]bool{}
	for i, ref := range agent.Spec.SkillRefs {
		target := skillsharing.Target(agent, ref)
		skill := skills.Referenced[target]
		if skill == nil || !skillsharing.Admits(skill, agent.Namespace, in.NamespaceLabels) {
			problems = append(problems, notFound(in, i, target))
			continue
		}
		listed[target] = true
		place := fmt.Sprintf("spec.skillRefs[%d]", i)
		origins = append(origins, sharedOrigin(agent, skill, place))
		problems = append(problems, sharedSchemaProblems(agent, skill, place)...)
	}
	if skills.SelectorError != "" {
		problems = append(problems, skillProblem(a2av1alpha1.ReasonInvalidSelector,
			"spec.skillSelector cannot be evaluated: %s; correct it", skills.SelectorError))
	}
	for _, skill := range skills.Selected {
		if !listed[types.NamespacedName{Namespace: skill.Namespace, Name: skill.Name}] {
			origins = append(origins, sharedOrigin(agent, skill, "spec.skillSelector"))
			problems = append(problems, sharedSchemaProblems(agent, skill, "spec.skillSelector")...)
		}
	}
	return origins, problems
}

// notFound says that there is no such skill for the Agent. Whether another
// namespace has one that does not admit it is not the Agent's to know.
func notFound(in clusterstate.Agent, i int, target types.NamespacedName) usererror.Problem {
	agent := in.Agent
	if in.Skills.Unwatched[target.Namespace] {
		return skillProblem(a2av1alpha1.ReasonSkillNotFound,
			"spec.skillRefs[%d]: the operator does not watch namespace %q, and so sees no AgentSkill %q; "+
				"have whoever installed it add the namespace to --watch-namespaces (watchNamespaces of the chart), or remove the reference",
			i, target.Namespace, target.Name)
	}
	if target.Namespace == agent.Namespace {
		return skillProblem(a2av1alpha1.ReasonSkillNotFound,
			"spec.skillRefs[%d].name: there is no AgentSkill %q in namespace %q; create it or remove the reference",
			i, target.Name, target.Namespace)
	}
	return skillProblem(a2av1alpha1.ReasonSkillNotFound,
		"spec.skillRefs[%d]: namespace %q has no AgentSkill %q that admits Agents of namespace %q; "+
			"have its owner create it, or admit your namespace in its spec.allowedAgents.namespaces, or remove the reference",
		i, target.Namespace, target.Name, agent.Namespace)
}

// sharedOrigin is the origin of an AgentSkill.
func sharedOrigin(agent *a2av1alpha1.Agent, skill *a2av1alpha1.AgentSkill, place string) origin {
	return origin{
		cardSkill(cmp.Or(string(skill.Spec.ID), skill.Name), skill.Spec.SkillDetails),
		fmt.Sprintf("%s (AgentSkill %q)", place, sharedName(agent, skill)),
	}
}

// sharedName is the name of an AgentSkill as an Agent would write it.
func sharedName(agent *a2av1alpha1.Agent, skill *a2av1alpha1.AgentSkill) string {
	if skill.Namespace == agent.Namespace {
		return skill.Name
	}
	return skill.Namespace + "/" + skill.Name
}

// sharedSchemaProblems tells the Agent of what its AgentSkill says of itself.
func sharedSchemaProblems(agent *a2av1alpha1.Agent, skill *a2av1alpha1.AgentSkill, place string) []usererror.Problem {
	invalid := skillschema.Check(&skill.Spec.SkillDetails)
	if invalid == nil {
		return nil
	}
	return []usererror.Problem{skillProblem(a2av1alpha1.ReasonInvalidSchema,
		"%s: AgentSkill %q is not accepted, its spec.%s; correct it there, or remove the skill here", place, sharedName(agent, skill), invalid)}
}

// duplicateIDs names every pair of skills with one id.
func duplicateIDs(origins []origin) []usererror.Problem {
	var problems []usererror.Problem
	first := map[string]string{}
	for _, o := range origins {
		if place, taken := first[o.skill.ID]; taken {
			problems = append(problems, skillProblem(a2av1alpha1.ReasonDuplicateSkillID,
				"%s and %s both have the id %q; change one id or remove one of the skills", place, o.place, o.skill.ID))
			continue
		}
		first[o.skill.ID] = o.place
	}
	return problems
}

// defaultSkill is the one skill of an Agent that names none: a card without a
// skill cannot be found by what it offers.
func defaultSkill(agent *a2av1alpha1.Agent) card.Skill {
	return card.Skill{
		ID:          agent.Name,
		Name:        displayName(agent),
		Description: agent.Spec.Description,
		Tags:        []string{defaultSkillTag},
	}
}

// defaultSkillRemark says why it is on the card. Whoever has written a selector
// meant others.
func defaultSkillRemark(in clusterstate.Agent) usererror.Problem {
	const listed = "The card lists one skill, made from the agent's name and description"
	if in.Agent.Spec.SkillSelector != nil && in.Skills.SelectorError == "" {
		return skillProblem(a2av1alpha1.ReasonDefaultSkill,
			listed+", since spec.skillSelector selects no AgentSkill of namespace %q; "+
				"correct it, or the labels of the AgentSkills", in.Agent.Namespace)
	}
	return skillProblem(a2av1alpha1.ReasonDefaultSkill,
		listed+"; set spec.skills, spec.skillRefs or spec.skillSelector to say more")
}

// hiddenSkillRemarks names skills that nobody is shown: without a credential
// there is no extended card.
func hiddenSkillRemarks(agent *a2av1alpha1.Agent, skills []card.Skill) []usererror.Problem {
	if slices.ContainsFunc(authentications(agent), func(a a2av1alpha1.Authentication) bool {
		return a.Type != a2av1alpha1.AuthenticationAnonymous
	}) {
		return nil
	}
	for i := range skills {
		if skills[i].Extended {
			return []usererror.Problem{{
				Condition: a2av1alpha1.ConditionSkillsResolved,
				Reason:    a2av1alpha1.ReasonExtendedSkillsHidden,
				Message: fmt.Sprintf("The skill %q has visibility Extended, and nobody is shown it: all callers are anonymous; "+
					"add a type to spec.access.authentication, or make the skill Public", skills[i].ID),
			}}
		}
	}
	return nil
}

func skillProblem(reason, format string, args ...any) usererror.Problem {
	return usererror.Problem{
		Condition: a2av1alpha1.ConditionSkillsResolved,
		Reason:    reason,
		Message:   fmt.Sprintf(format, args...),
	}
}

func cardSkill(id string, details a2av1alpha1.SkillDetails) card.Skill {
	return card.Skill{
		ID:          id,
		Name:        details.Name,
		Description: details.Description,
		Tags:        slices.Clone(details.Tags),
		Examples:    slices.Clone(details.Examples),
		InputModes:  mediaTypes(details.InputModes),
		OutputModes: mediaTypes(details.OutputModes),
		Extended:    details.Visibility == a2av1alpha1.SkillVisibilityExtended,

		InputSchema:  rawObject(details.InputSchema),
		OutputSchema: rawObject(details.OutputSchema),
	}
}

func rawObject(raw *runtime.RawExtension) card.RawObject {
	if raw == nil {
		return nil
	}
	return card.RawObject(raw.Raw)
}

func mediaTypes(modes []a2av1alpha1.MediaType) []string {
	var texts []string
	for _, mode := range modes {
		texts = append(texts, string(mode))
	}
	return texts
}
