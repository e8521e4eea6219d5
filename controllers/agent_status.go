// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	a2av1alpha1ac "github.com/a2a-operator/a2a-operator/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/apply"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/desired"
	"github.com/a2a-operator/a2a-operator/internal/status"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// The kinds that hold what a user wrote as it is, and those whose schema is of
// the Gateway API that somebody has installed.
const (
	kindDeployment    = "Deployment"
	kindNetworkPolicy = "NetworkPolicy"
	kindHTTPRoute     = "HTTPRoute"
	kindGRPCRoute     = "GRPCRoute"
)

// statusInputs puts together what the status is made from.
func statusInputs(in clusterstate.Agent, platform desired.Platform, want desired.Result, outcome outcomes, applied bool, now time.Time) status.Inputs {
	inputs := status.Inputs{
		Observed:          in,
		Problems:          slices.Concat(want.Problems, outcomeProblems(userFields(in.Agent, platform, outcome.core)), exposureProblems(outcome, want.Exposure), podProblems(outcome.pods)),
		Remarks:           want.Remarks,
		CardKept:          want.CardKept,
		Applied:           applied,
		DeploymentChanged: slices.Contains(outcome.core.Changed, kindDeployment),
		Now:               now,
	}
	if want.Objects != nil {
		inputs.Card = &status.Card{
			URL:            want.Card.URL,
			ExternalURL:    want.Card.ExternalURL,
			CardDigest:     want.Card.CardDigest,
			ConfigDigest: want.Card.ConfigDigest,
			Skills:         want.Card.Skills,
		}
	}
	return inputs
}

// userFields is an outcome in which a rejection names the fields of the Agent.
func userFields(agent *a2av1alpha1.Agent, platform desired.Platform, outcome apply.Outcome) apply.Outcome {
	if outcome.Rejection == nil {
		return outcome
	}
	rejection := *outcome.Rejection
	switch rejection.Kind {
	case kindDeployment:
		rejection.Message = desired.TemplateFields(agent, platform, rejection.Message)
	case kindNetworkPolicy:
		rejection.Message = desired.EgressFields(rejection.Message)
	}
	outcome.Rejection = &rejection
	return outcome
}

// outcomeProblems are what is to be told about objects that could not be
// written.
func outcomeProblems(outcome apply.Outcome) []usererror.Problem {
	var problems []usererror.Problem
	for _, c := range outcome.Conflicts {
		problems = append(problems, conflictProblem(c))
	}
	if outcome.Rejection != nil {
		problems = append(problems, rejectionProblem(*outcome.Rejection))
	}
	for _, kept := range outcome.Kept {
		problems = append(problems, usererror.Problem{
			Condition: a2av1alpha1.ConditionProgrammed,
			Reason:    a2av1alpha1.ReasonForbidden,
			Message: fmt.Sprintf("%s %q is no longer asked for, and the API server does not let the operator delete it; "+
				"delete it, or ask who installed the operator to have that allowed: %s", kept.Kind, kept.Name, kept.Message),
		})
	}
	return problems
}

// routeProblems are what is to be told about routes that could not be written.
// They keep the agent from nobody inside the cluster.
func routeProblems(outcome outcomes) []usererror.Problem {
	problems := outcomeProblems(outcome.routes)
	if outcome.routesErr != nil {
		problems = append(problems, usererror.Problem{
			Reason: a2av1alpha1.ReasonApplyFailed,
			Message: "The API server has not taken every route of spec.exposure yet; the operator tries again; " +
				"if this stays, ask who installed the operator, whose log has the error",
		})
	}
	for i := range problems {
		problems[i].Condition = a2av1alpha1.ConditionExposed
	}
	return problems
}

// exposureProblems are those with those of the routes that Gateways tell of. Of a
// route that could not be written none has anything to say.
func exposureProblems(outcome outcomes, told []usererror.Problem) []usererror.Problem {
	if outcome.routes.Rejection != nil || len(outcome.routes.Conflicts) > 0 || outcome.routesErr != nil {
		told = slices.DeleteFunc(slices.Clone(told), func(p usererror.Problem) bool { return p.Reason == a2av1alpha1.ReasonRoutePending })
	}
	return append(routeProblems(outcome), told...)
}

// podProblems are what is to be told about pods that cannot be told of a new
// card. The kubelet brings it to them, without anybody being able to see when.
func podProblems(outcome apply.Outcome) []usererror.Problem {
	if outcome.Rejection == nil {
		return nil
	}
	return []usererror.Problem{{
		Condition: a2av1alpha1.ConditionCardPublished,
		Reason:    a2av1alpha1.ReasonForbidden,
		Message: fmt.Sprintf("The API server does not let the operator annotate Pod %q, which has it read the card at once; "+
			"ask who installed the operator to have that allowed: the card arrives within some minutes, but nobody can tell when: %s",
			outcome.Rejection.Name, outcome.Rejection.Message),
	}}
}

func conflictProblem(c apply.Conflict) usererror.Problem {
	p := usererror.Problem{Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonConflict}
	if c.Former {
		p.Message = fmt.Sprintf("%s %q belongs to a deleted Agent of the same name and is being removed", c.Kind, c.Name)
		return p
	}
	if c.Kind == "ServiceAccount" && c.Name == "default" {
		// Kubernetes would make it again at once.
		p.Message = `ServiceAccount "default" is the namespace's own, so nothing is written; give the Agent another metadata.name`
		return p
	}
	p.Message = fmt.Sprintf("%s %q exists and does not belong to this Agent, so nothing is written; "+
		"delete it, or give the Agent another metadata.name", c.Kind, c.Name)
	return p
}

func rejectionProblem(r apply.Rejection) usererror.Problem {
	switch {
	case r.Forbidden:
		return usererror.Problem{
			Condition: a2av1alpha1.ConditionProgrammed,
			Reason:    a2av1alpha1.ReasonForbidden,
			Message: fmt.Sprintf("The API server does not let the operator write %s %q; correct what it names of the Agent, "+
				"or ask who installed the operator to have that allowed: %s", r.Kind, r.Name, r.Message),
		}
	case r.Kind == kindDeployment:
		return usererror.Problem{
			Condition: a2av1alpha1.ConditionAccepted,
			Reason:    a2av1alpha1.ReasonTemplateRejected,
			Message:   "spec.workload.template makes a Deployment that the API server refuses; correct it: " + r.Message,
		}
	case r.Kind == kindNetworkPolicy:
		return usererror.Problem{
			Condition: a2av1alpha1.ConditionAccepted,
			Reason:    a2av1alpha1.ReasonNetworkPolicyRejected,
			Message:   "spec.networkPolicy.egress makes a NetworkPolicy that the API server refuses; correct it: " + r.Message,
		}
	case (r.Kind == kindHTTPRoute || r.Kind == kindGRPCRoute) && r.Undeclared():
		return usererror.Problem{
			Reason: a2av1alpha1.ReasonApplyFailed,
			Message: fmt.Sprintf("The API server refuses %s %q, for its CRD is too old; install the Gateway API %s or later: %s",
				r.Kind, r.Name, desired.GatewayAPIVersion, r.Message),
		}
	case r.Kind == kindHTTPRoute || r.Kind == kindGRPCRoute:
		return usererror.Problem{
			Reason:  a2av1alpha1.ReasonApplyFailed,
			Message: fmt.Sprintf("spec.exposure makes %s %q, which the API server refuses; correct it: %s", r.Kind, r.Name, r.Message),
		}
	default:
		return usererror.Problem{
			Condition: a2av1alpha1.ConditionProgrammed,
			Reason:    a2av1alpha1.ReasonApplyFailed,
			Message: fmt.Sprintf("The API server refuses %s %q; correct what it names of the Agent, or ask who installed the operator: %s",
				r.Kind, r.Name, r.Message),
		}
	}
}

// statusApplyConfiguration is a whole status, for server-side apply.
func statusApplyConfiguration(agent *a2av1alpha1.Agent, s a2av1alpha1.AgentStatus) *a2av1alpha1ac.AgentApplyConfiguration {
	config := a2av1alpha1ac.AgentStatus().
		WithReplicas(s.Replicas).
		WithSelector(s.Selector).
		WithObservedGeneration(s.ObservedGeneration)
	if s.URL != "" {
		config.WithURL(s.URL)
	}
	if s.ExternalURL != "" {
		config.WithExternalURL(s.ExternalURL)
	}
	if s.CardDigest != "" {
		config.WithCardDigest(s.CardDigest)
	}
	if s.Skills != nil {
		config.WithSkills(*s.Skills)
	}
	config.WithConditions(conditionApplyConfigurations(s.Conditions, a2av1alpha1.AgentConditions())...)
	return a2av1alpha1ac.Agent(agent.Name, agent.Namespace).WithUID(agent.UID).WithStatus(config)
}

// conditionApplyConfigurations are those of the conditions that are the
// operator's.
func conditionApplyConfigurations(conditions []metav1.Condition, own []string) []*metav1ac.ConditionApplyConfiguration {
	var configs []*metav1ac.ConditionApplyConfiguration
	for _, c := range conditions {
		if !slices.Contains(own, c.Type) {
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
