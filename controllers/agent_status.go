// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	a2av1alpha1ac "github.com/a2a-operator/a2a-operator/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/desired"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/operator/status"
)

// statusInputs returns the inputs of an Agent's status.
func statusInputs(in state.Agent, platform desired.Platform, want desired.Result, results writeResults, applied bool, now time.Time) status.Inputs {
	outcome := status.Outcome{
		Core: withAgentFields(in.Agent, platform, results.core), Routes: results.routes, RoutesFailed: results.routesErr != nil,
		Pods: results.pods, Contests: results.contests, GatewayAPIVersion: desired.GatewayAPIVersion,
	}
	inputs := status.Inputs{
		Observed:          in,
		Problems:          slices.Concat(want.Problems, outcome.Problems(want.Exposure)),
		Remarks:           slices.Concat(outcome.Remarks(), want.Remarks),
		CardKept:          want.CardKept,
		CardAwaitsPod:     want.CardAwaitsPod,
		TemplateDigest:    want.TemplateDigest,
		SpecTemplate:      want.SpecTemplate,
		Runs:              want.Runs,
		RevisionDigest:    want.RevisionDigest,
		Reports:           platform.RegistryURL != "",
		Applied:           applied,
		DeploymentChanged: slices.Contains(results.core.Changed, "Deployment"),
		Now:               now,
	}
	if want.Objects != nil {
		inputs.Card = new(status.Card(want.Card))
	}
	return inputs
}

// withAgentFields returns the result. If the API server rejected an object, the message of the
// rejection names the fields of the Agent in place of the fields of the object.
func withAgentFields(agent *a2av1alpha1.Agent, platform desired.Platform, result state.Written) state.Written {
	if result.Rejection == nil {
		return result
	}
	rejection := *result.Rejection
	switch rejection.Kind {
	case "Deployment":
		rejection.Message = desired.TemplateFields(agent, platform, rejection.Message)
	case "NetworkPolicy":
		rejection.Message = desired.EgressFields(rejection.Message)
	}
	result.Rejection = &rejection
	return result
}

// statusApplyConfiguration returns a complete status for a server-side apply to a version of the
// Agent; "" stands for any version.
func statusApplyConfiguration(agent *a2av1alpha1.Agent, version string, s a2av1alpha1.AgentStatus) *a2av1alpha1ac.AgentApplyConfiguration {
	config := a2av1alpha1ac.AgentStatus().
		WithReplicas(s.Replicas).
		WithSelector(s.Selector).
		WithObservedGeneration(s.ObservedGeneration)
	if s.Operator != "" {
		config.WithOperator(s.Operator)
	}
	if s.URL != "" {
		config.WithURL(s.URL)
	}
	if s.ExternalURL != "" {
		config.WithExternalURL(s.ExternalURL)
	}
	if s.ObservedSpecDigest != "" {
		config.WithObservedSpecDigest(s.ObservedSpecDigest)
	}
	if s.ObservedSchemaGeneration != 0 {
		config.WithObservedSchemaGeneration(s.ObservedSchemaGeneration)
	}
	if s.CardDigest != "" {
		config.WithCardDigest(s.CardDigest)
	}
	if s.Skills != nil {
		config.WithSkills(*s.Skills)
	}
	if revisions := s.Revisions; revisions != nil {
		config.WithRevisions(revisionsApplyConfiguration(revisions))
	}
	for _, image := range s.Images {
		config.WithImages(a2av1alpha1ac.AgentImage().WithContainer(image.Container).WithImage(image.Image).WithDigests(image.Digests...))
	}
	config.WithConditions(conditionApplyConfigurations(s.Conditions, append(a2av1alpha1.AgentConditions(), a2av1alpha1.OptionalAgentConditions()...))...)
	return a2av1alpha1ac.Agent(agent.Name, agent.Namespace).WithResourceVersion(version).WithStatus(config)
}

// conditionApplyConfigurations returns the conditions whose types the operator owns.
func conditionApplyConfigurations(conditions []metav1.Condition, owned []string) []*metav1ac.ConditionApplyConfiguration {
	var configs []*metav1ac.ConditionApplyConfiguration
	for _, c := range conditions {
		if !slices.Contains(owned, c.Type) {
			continue
		}
		configs = append(configs, metav1ac.Condition().
			WithType(c.Type).
			WithStatus(c.Status).
			WithReason(c.Reason).
			WithMessage(c.Message).
			WithObservedGeneration(c.ObservedGeneration).
			WithLastTransitionTime(c.LastTransitionTime))
	}
	return configs
}

func revisionsApplyConfiguration(revisions *a2av1alpha1.AgentRevisions) *a2av1alpha1ac.AgentRevisionsApplyConfiguration {
	config := a2av1alpha1ac.AgentRevisions().
		WithLastGood(revisions.LastGood).
		WithLastGoodDigest(revisions.LastGoodDigest).
		WithLastGoodTemplate(revisions.LastGoodTemplate)
	if revisions.Running != 0 {
		config.WithRunning(revisions.Running)
	}
	if revisions.FailedTemplate != "" {
		config.WithFailedTemplate(revisions.FailedTemplate).WithFailure(revisions.Failure)
	}
	return config
}
