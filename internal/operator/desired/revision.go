// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/agentskill"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Revision returns the content of the revision that the spec describes, as JSON, and its digest. The digest is "" if there
// is no such revision: the Agent is remote, one of its skills cannot be resolved, or the content is larger than
// state.MaxRevisionSize.
func Revision(in state.Agent, platform Platform) (encoded []byte, digest string, err error) {
	spec := &in.Agent.Spec
	if spec.Remote != nil {
		return nil, "", nil
	}
	if _, problems := resolveSkills(in); len(problems) > 0 {
		return nil, "", nil
	}
	content := state.RevisionContent{SidecarImage: platform.SidecarImage, SkillFiles: haveFiles(in)}
	takeCard(&content.Spec, spec)
	content.Spec.Skills = inlineSkills(in)
	content.Spec.Model = withInstructions(spec.Model, in.Instructions)
	content.Spec.Workload = new(ownWorkload(spec.Workload, &a2av1alpha1.AgentWorkload{}))
	encoded, digest, err = content.Encode()
	if err != nil || state.RevisionExceeds(encoded) {
		return nil, "", err
	}
	return encoded, digest, nil
}

// withInstructions returns a model with the text of its ConfigMap, because an edit of the ConfigMap would change all
// revisions. A text that sidecars refuse stays out.
func withInstructions(model *a2av1alpha1.AgentModel, from *state.Instructions) *a2av1alpha1.AgentModel {
	if model == nil || from == nil || from.Text == "" || len(from.Text) > sidecarconfig.MaxInstructions || !utf8.ValidString(from.Text) {
		return model
	}
	inline := *model
	inline.Instructions = from.Text
	inline.InstructionsFrom = nil
	return &inline
}

// takeCard sets the fields of the card in to, except for the skills, to those of from.
func takeCard(to, from *a2av1alpha1.AgentSpec) {
	to.DisplayName = from.DisplayName
	to.Description = from.Description
	to.Version = from.Version
	to.Provider = from.Provider
	to.IconURL = from.IconURL
	to.DocumentationURL = from.DocumentationURL
	to.DefaultInputModes = from.DefaultInputModes
	to.DefaultOutputModes = from.DefaultOutputModes
	to.Extensions = from.Extensions
}

// ownWorkload returns the workload of a revision with those fields of current that no revision has: they say how many pods
// there are, and how they are replaced.
func ownWorkload(revision, current *a2av1alpha1.AgentWorkload) a2av1alpha1.AgentWorkload {
	workload := *revision
	workload.Replicas = current.Replicas
	workload.Autoscaling = current.Autoscaling
	workload.Strategy = current.Strategy
	workload.RestartOn = current.RestartOn
	workload.DisruptionBudget = current.DisruptionBudget
	workload.Revision = current.Revision
	workload.OnFailure = current.OnFailure
	workload.ProgressDeadline = current.ProgressDeadline
	return workload
}

// inlineSkills returns the skills of the Agent and of the AgentSkills, in the order of resolveSkills, which has found all of
// them.
func inlineSkills(in state.Agent) []a2av1alpha1.Skill {
	skills := slices.Clone(in.Agent.Spec.Skills)
	listed := map[string]bool{}
	add := func(skill *a2av1alpha1.AgentSkill) {
		if key := skill.Namespace + "/" + skill.Name; !listed[key] {
			listed[key] = true
			skills = append(skills, a2av1alpha1.Skill{
				ID: a2av1alpha1.SkillID(cmp.Or(string(skill.Spec.ID), skill.Name)), SkillDetails: skill.Spec.SkillDetails,
			})
		}
	}
	for _, ref := range in.Agent.Spec.SkillRefs {
		add(in.Skills.Referenced[agentskill.Target(in.Agent, ref)])
	}
	for _, skill := range in.Skills.Selected {
		add(skill)
	}
	for i := range skills {
		// The files of skills change without a restart, so they are no part of a revision. An image is.
		skills[i].Instructions = ""
		skills[i].Resources = nil
	}
	return skills
}

// withRevision returns the state of an Agent whose spec has the fields of a revision, and the platform with its sidecar.
func withRevision(in state.Agent, platform Platform, content *state.RevisionContent) (state.Agent, Platform) {
	agent := *in.Agent
	takeCard(&agent.Spec, &content.Spec)
	agent.Spec.Skills = content.Spec.Skills
	agent.Spec.SkillRefs = nil
	agent.Spec.SkillSelector = nil
	agent.Spec.Model = content.Spec.Model
	agent.Spec.Workload = new(ownWorkload(content.Spec.Workload, in.Agent.Spec.Workload))
	in.Agent = &agent
	in.Skills = state.Skills{HaveFiles: content.SkillFiles}
	platform.SidecarImage = content.SidecarImage
	return in, platform
}

// chooseRevision returns the revision that runs in place of the spec, nil if the spec runs, and a problem if the revision
// that the spec names is not kept. specTemplate is the digest of the pod template of the spec.
func chooseRevision(in state.Agent, platform Platform, specTemplate string) (*state.Revision, *state.Problem, error) {
	revision := in.Revision
	workload := in.Agent.Spec.Workload
	switch {
	case revision == nil:
		return nil, nil, nil
	case revision.TooMany:
		return nil, new(state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonTooManyRevisions, "The revision to run cannot be read: %s", tooManyRevisions(in.Agent))), nil
	case workload.Revision > 0:
		if revision.Content == nil {
			return nil, new(revisionNotFound(revision)), nil
		}
		return revision, nil, nil
	case revision.Content == nil || workload.OnFailure != a2av1alpha1.FailureRollBack || specTemplate != in.Agent.Status.Revisions.FailedTemplate:
		return nil, nil, nil
	}
	// A revision with the template that failed would fail, too.
	template, err := templateDigest(withRevision(in, platform, revision.Content))
	if err != nil || template == specTemplate {
		return nil, nil, err
	}
	return revision, nil, nil
}

// templateDigest returns the digest of the pod template of an Agent.
func templateDigest(in state.Agent, platform Platform) (string, error) {
	template := podTemplate(in, platform)
	annotateRestarts(in, template)
	return stampTemplate(template)
}

func revisionNotFound(revision *state.Revision) state.Problem {
	if revision.Ambiguous {
		return state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonRevisionNotFound,
			"spec.workload.revision is %d, and several ControllerRevisions of the Agent have this number; delete those that the operator did not write", revision.Number)
	}
	kept := "no revision is kept; remove the field"
	if len(revision.Kept) > 0 {
		kept = fmt.Sprintf("the kept revisions are %s; set one of them, or remove the field",
			strings.Trim(strings.Join(strings.Fields(fmt.Sprint(revision.Kept)), ", "), "[]"))
	}
	return state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonRevisionNotFound, "spec.workload.revision is %d, and %s", revision.Number, kept)
}

// TooManyRevisions returns the remark that what the Agent describes is not kept as a revision.
func TooManyRevisions(agent *a2av1alpha1.Agent) state.Problem {
	return state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonTooManyRevisions, "This spec is not kept as a revision: %s", tooManyRevisions(agent))
}

func tooManyRevisions(agent *a2av1alpha1.Agent) string {
	return fmt.Sprintf("more than %d ControllerRevisions have the label %s=%s, or the Agent controls more than %d of them; delete those that it does not need",
		state.MaxListedRevisions, a2av1alpha1.LabelAgent, agent.Name, state.MaxKeptRevisions)
}

// pinnedRemark returns the remark that a revision runs because the spec names it.
func pinnedRemark(in state.Agent, number int64) state.Problem {
	return state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonRevisionPinned,
		"Revision %d runs in place of the spec, because spec.workload.revision names it; edits of the pod template, the backend and the card take effect "+
			"when the field is removed: kubectl a2a rollback -n %s %s --clear", number, in.Agent.Namespace, in.Agent.Name)
}
