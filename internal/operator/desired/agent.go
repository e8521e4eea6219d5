// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package desired renders the objects of an Agent.
//
// The package is pure: from the observed state and the settings of the installation it
// renders apply configurations, or returns the user errors that prevent the rendering. It
// reads no clock and no cluster, writes nothing and logs nothing. Equal inputs give equal
// objects.
package desired

import (
	"cmp"
	"errors"
	"slices"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Agent returns the desired state of an Agent. It returns an error for a failure of the
// operator, and a Problem for a mistake in the spec.
//
// If the card of the spec has a mistake, Agent renders the rest of the spec with the card of
// keptCard, if there is one. For example, a rule that revokes access must apply even if the
// owner of a skill has deleted the skill. For any other mistake, Result.Objects is nil.
func Agent(in state.Agent, platform Platform) (Result, error) {
	if size := state.DescribeTooLarge(in.Agent); size != "" {
		return Result{Problems: []state.Problem{state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonSpecTooLarge,
			"The spec %s; shorten it: put large texts into a ConfigMap that the container mounts, and move skills into AgentSkills", size)}}, nil
	}
	if problem := untrustedSpec(in); problem != nil {
		return Result{Problems: []state.Problem{*problem}}, nil
	}
	if in.Agent.Spec.Remote != nil {
		if problems := urlProblems(in.Agent, platform); len(problems) > 0 {
			return Result{Problems: problems}, nil
		}
		return remoteAgent(in)
	}
	chosen, err := choose(in, platform)
	if err != nil {
		return Result{}, err
	}
	result, err := workloadAgent(chosen)
	if err != nil {
		return Result{}, err
	}
	result.Runs = chosen.runs
	result.SpecTemplate = cmp.Or(chosen.specTemplate, result.TemplateDigest)
	if chosen.runs == 0 {
		_, result.RevisionDigest, err = Revision(in, platform)
	}
	return result, err
}

// choice is the state that a reconcile renders: that of the spec, or that of a kept revision.
type choice struct {
	in       state.Agent
	platform Platform
	// runs is the number of the revision, 0 for the spec.
	runs int64
	// specTemplate is the digest of the pod template of the spec, "" unless it differs from that of in.
	specTemplate string
	problems     []state.Problem
	remarks      []state.Problem
	// spec is the state with the spec, whose skills have the files.
	spec state.Agent
	// pending are the ids of the spec's skills, which the rules of the spec may name.
	pending []string
}

// choose returns what to render for an Agent with a workload.
func choose(in state.Agent, platform Platform) (choice, error) {
	chosen := choice{in: in, platform: platform, spec: in}
	if in.Revision == nil {
		return chosen, nil
	}
	specTemplate := ""
	pinned := in.Agent.Spec.Workload.Revision > 0
	if !pinned {
		var err error
		if specTemplate, err = templateDigest(in, platform); err != nil {
			return choice{}, err
		}
	}
	revision, problem, err := chooseRevision(in, platform, specTemplate)
	switch {
	case err != nil:
		return choice{}, err
	case problem != nil:
		chosen.problems = []state.Problem{*problem}
	case revision != nil:
		chosen.in, chosen.platform = withRevision(in, platform, revision.Content)
		chosen.runs = revision.Number
		chosen.specTemplate = specTemplate
		chosen.pending = pendingSkills(in)
		if pinned {
			chosen.remarks = []state.Problem{pinnedRemark(in, revision.Number)}
		}
	}
	return chosen, nil
}

// workloadAgent renders an Agent with a workload.
func workloadAgent(chosen choice) (Result, error) {
	in := chosen.in
	platform := chosen.platform
	authorization, invalid, err := configAuthorization(in.Agent)
	if err != nil {
		return Result{}, err
	}
	_, wrong, err := configDecisions(in, platform)
	if err != nil {
		return Result{}, err
	}
	invalid = append(invalid, wrong...)
	exposed := expose(in)
	inside := serviceBases(in.Agent, platform)
	bases := slices.Concat(exposed.bases, inside)
	published := publishedCard(in, inside[0])
	problems := slices.Concat(chosen.problems, templateConflicts(in.Agent), skillMountConflicts(in), emptyHooks(in.Agent), pushProblems(in.Agent), modelProblems(in.Agent), urlProblems(in.Agent, platform), invalid)
	remarks, err := agentRemarks(in, published)
	if err != nil {
		return Result{}, err
	}
	if published.card != nil {
		rules := published.ruleSkills(in)
		rules.pending = append(rules.pending, chosen.pending...)
		unknown, harmless := unknownSkills(in.Agent, rules)
		problems = append(problems, unknown...)
		remarks = append(remarks, harmless...)
	}
	remarks = append(remarks, chosen.remarks...)
	problems = append(problems, issuerProblems(in, platform)...)
	result := Result{Problems: slices.Concat(problems, published.problems), Remarks: remarks, Exposure: exposed.problems}
	if len(problems) > 0 || published.card == nil {
		return result, nil
	}

	template, err := stampedTemplate(in, platform, &result)
	if err != nil {
		return Result{}, err
	}
	if result.CardAwaitsPod, err = published.awaitPod(in, result.TemplateDigest, bases); err != nil {
		return Result{}, err
	}
	files, filesDigest, err := skillFilesOf(chosen.spec)
	if err != nil {
		return Result{}, err
	}
	config, encoded, err := configuration(in, platform, *published.card, bases, authorization, filesDigest)
	if errors.Is(err, sidecarconfig.ErrTooLarge) {
		result.Problems = append(result.Problems, cardTooLarge(len(config.Card.Skills)))
	}
	for errors.Is(err, sidecarconfig.ErrTooLarge) {
		if !published.smaller(in) {
			return result, nil
		}
		config, encoded, err = configuration(in, platform, *published.card, bases, authorization, filesDigest)
	}
	if err != nil {
		return Result{}, err
	}
	result.CardKept = published.kept && !result.CardAwaitsPod
	if result.Card, err = publicationOf(config, encoded); err != nil {
		return Result{}, err
	}
	result.Card.URL = agentURL(in.Agent, platform)
	result.Card.ExternalURL = exposed.url
	result.Objects = &Objects{
		ServiceAccount: serviceAccount(in.Agent),
		ConfigMap:      configMap(in.Agent, sidecarconfig.FileName, string(encoded), result.Card.ConfigDigest),
		SkillFiles:     files,
		Service:        service(in.Agent),
		Deployment:     deployment(in.Agent, template),
		NetworkPolicy:  networkPolicy(in.Agent, platform),
		Autoscaler:     autoscaler(in.Agent),
		Budget:         disruptionBudget(in.Agent),
		HTTPRoute:      httpRoute(in),
		GRPCRoute:      grpcRoute(in),
	}
	return result, nil
}

// issuerProblems returns a problem for each issuer of tokens whose keys the sidecar needs and the operator does not
// know yet.
func issuerProblems(in state.Agent, platform Platform) []state.Problem {
	var problems []state.Problem
	if needsIssuer(in.Agent) && in.Issuer == nil {
		problems = append(problems, issuerUnknown())
	}
	if (needsIssuer(in.Agent) || hasDecisionPage(in.Agent, platform)) && in.TokenIssuer == nil && platform.IssuesTokens {
		problems = append(problems, tokenKeysUnknown())
	}
	return problems
}

// stampedTemplate returns the pod template, and sets its digest and the remarks on it in result.
func stampedTemplate(in state.Agent, platform Platform, result *Result) (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	template := podTemplate(in, platform)
	annotateRestarts(in, template)
	var err error
	if result.TemplateDigest, err = stampTemplate(template); err != nil {
		return nil, err
	}
	// The digest is that of the spec, which another ServiceAccount does not change.
	if uid := youngerAccount(in); uid != "" {
		template.WithAnnotations(map[string]string{a2av1alpha1.AnnotationServiceAccountUID: uid})
	}
	added, err := additionRemarks(in, template)
	result.Remarks = append(result.Remarks, added...)
	return template, err
}

// untrustedSpec returns a problem if the API server may have dropped fields of the spec, or if this version does not
// know a part of it: applying it could remove access rules, limits and other restrictions.
func untrustedSpec(in state.Agent) *state.Problem {
	if in.Schemas.Outdated != "" {
		return &state.Problem{Condition: a2av1alpha1.ConditionAccepted, Reason: a2av1alpha1.ReasonSpecPruned, Message: in.Schemas.Outdated}
	}
	if reason, message := crdschema.Untrusted(in.Observed, in.Agent.Generation); reason != "" {
		return &state.Problem{Condition: a2av1alpha1.ConditionAccepted, Reason: reason, Message: message}
	}
	return nil
}

// agentRemarks returns the remarks on a valid spec.
func agentRemarks(in state.Agent, published *cardChoice) ([]state.Problem, error) {
	remarks, err := securityRemarks(in.Agent)
	if err != nil {
		return nil, err
	}
	remarks = append(remarks, preStopRemarks(in.Agent)...)
	remarks = append(remarks, restartRemarks(in)...)
	remarks = append(remarks, signInRemarks(in)...)
	if spec := &in.Agent.Spec; len(spec.Skills) == 0 && len(spec.SkillRefs) == 0 && len(in.Skills.Selected) == 0 {
		remarks = append(remarks, defaultSkillRemark(in))
	}
	if published.card != nil {
		remarks = append(remarks, hiddenSkillRemarks(in.Agent, published.card.Skills)...)
	}
	return append(remarks, autoscalerRemarks(in)...), nil
}

// publicationOf describes the card of an encoded sidecar configuration.
func publicationOf(config *sidecarconfig.Config, encoded []byte) (Publication, error) {
	digest, err := card.Digest(&config.Card, config.Bases...)
	if err != nil {
		return Publication{}, err
	}
	return Publication{
		CardDigest:   digest,
		ConfigDigest: sidecarconfig.Digest(encoded),
		Skills:       int32(len(config.Card.Skills)), //nolint:gosec // sidecarconfig.MaxSize bounds the number
	}, nil
}

// remoteAgent returns the desired state of a remote agent: a ConfigMap with its card. The
// registry in every replica of the manager reads the card from the ConfigMap. Objects is
// nil while no card is known.
func remoteAgent(in state.Agent) (Result, error) {
	if in.Remote == nil || in.Remote.Card == nil {
		return Result{}, nil
	}
	published := in.Remote.Card
	if published.TooLarge {
		return Result{Problems: []state.Problem{skillProblem(a2av1alpha1.ReasonCardTooLarge,
			"The card at spec.remote.url needs more than %d KiB; shorten it there", sidecarconfig.MaxSize>>10)}}, nil
	}
	digest := sidecarconfig.Digest([]byte(published.Text))
	return Result{
		Objects: &Objects{
			ConfigMap: configMap(in.Agent, sidecarconfig.CardFileName, published.Text, digest),
		},
		Remarks: remoteRemarks(in.Remote),
		Card: Publication{
			URL:          in.Agent.Spec.Remote.URL,
			CardDigest:   published.Digest,
			ConfigDigest: digest,
			Skills:       published.Skills,
		},
	}, nil
}

// remoteRemarks returns the remarks on the card of a remote agent that is used.
func remoteRemarks(remote *state.Remote) []state.Problem {
	var remarks []state.Problem
	if remote.CredentialsMismatch != "" {
		remarks = append(remarks, state.NewProblem(a2av1alpha1.ConditionAvailable, a2av1alpha1.ReasonRemoteCredentialsMismatch, "%s", remote.CredentialsMismatch))
	}
	if remote.OmittedAddresses > 0 {
		remarks = append(remarks, state.NewProblem(a2av1alpha1.ConditionAvailable, a2av1alpha1.ReasonAddressesOmitted,
			"The agent serves its card; the registry omits %d of the addresses on it, because they are not at the origin of spec.remote.url. "+
				"Correct the card, or set spec.remote.url to the origin of these addresses. If no client can reach them, set spec.remote.addresses to Registered", remote.OmittedAddresses))
	}
	if remote.ReplacedAddress != "" {
		remarks = append(remarks, state.NewProblem(a2av1alpha1.ConditionAvailable, a2av1alpha1.ReasonAddressesReplaced,
			"The agent serves its card; calls go to the origin of spec.remote.url, and not to %s, which is on the card (spec.remote.addresses)", remote.ReplacedAddress))
	}
	return remarks
}
