// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// Outcome contains the results of a reconcile's writes. The messages of rejections name the
// fields of the Agent.
type Outcome struct {
	// Core is the result for the objects that callers inside the cluster need.
	Core state.Written
	// Routes is the result for the routes of the Gateway API.
	Routes state.Written
	// RoutesFailed reports that an error prevented the write of routes. The operator
	// retries.
	RoutesFailed bool
	// Pods is the result of annotating the pods with the digest of a new configuration.
	Pods state.Written
	// Contests are the fields of the objects that others set again and again.
	Contests []state.Contest
	// GatewayAPIVersion is the first release of the Gateway API whose schema has all fields
	// of the routes.
	GatewayAPIVersion string
}

// Problems returns the problems of the writes and the problems in reported, which is
// desired.Result.Exposure. If a route could not be written, Problems omits the reported
// problem that no Gateway has accepted the route yet.
func (o Outcome) Problems(reported []state.Problem) []state.Problem {
	problems := o.problemsOf(o.Core)
	routes := o.problemsOf(o.Routes)
	if o.RoutesFailed {
		routes = append(routes, state.Problem{
			Reason: a2av1alpha1.ReasonApplyFailed,
			Message: "The operator could not write every route of spec.exposure and retries; " +
				"if this persists, ask the administrator of the operator for the error in the manager's log",
		})
	}
	for i := range routes {
		routes[i].Condition = a2av1alpha1.ConditionExposed
	}
	problems = append(problems, routes...)
	for _, p := range reported {
		if written := o.Routes.Complete() && !o.RoutesFailed; written || p.Reason != a2av1alpha1.ReasonRoutePending {
			problems = append(problems, p)
		}
	}
	if rejected := o.Pods.Rejection; rejected != nil && rejected.Webhook != "" {
		problems = append(problems, webhookProblem(a2av1alpha1.ConditionCardPublished, *rejected))
	} else if rejected != nil {
		problems = append(problems, state.NewProblem(a2av1alpha1.ConditionCardPublished, a2av1alpha1.ReasonForbidden,
			"The API server rejects the annotation of Pod %q, which makes the pod read the card at once. "+
				"The kubelet updates the card within some minutes, but no condition can show when; "+
				"ask the administrator of the operator to allow it: %s", rejected.Name, rejected.Message))
	}
	return problems
}

// Remarks returns the remarks on objects that are in sync.
func (o Outcome) Remarks() []state.Problem {
	if len(o.Contests) == 0 {
		return nil
	}
	var fields []string
	begin := "An admission webhook or a policy changes fields in each write of the operator, which leaves them as they are"
	settled := true
	action := "stop the other program, or set the value in the Agent"
	for _, c := range o.Contests {
		by := "an admission webhook, a policy or another program"
		if !c.Undone {
			begin = "Others set fields again and again, and the operator sets them back"
			settled = false
		}
		if c.Manager != "" {
			by = fmt.Sprintf("manager %q", c.Manager)
		}
		if c.Autoscaler != "" {
			by = fmt.Sprintf("HorizontalPodAutoscaler %q (%s)", c.Autoscaler, by)
		}
		fields = append(fields, fmt.Sprintf("%s of %s %q by %s", c.Field, c.Kind, c.Name, by))
		if c.Field == "spec.replicas" {
			action = "delete the HorizontalPodAutoscaler or the other program that scales the Deployment, and use spec.workload.autoscaling or spec.workload.replicas of the Agent"
		}
	}
	remark := state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonFieldsContested,
		"%s: %s; %s", begin, strings.Join(fields, ", "), action)
	remark.Settled = settled
	return []state.Problem{remark}
}

// problemsOf returns the problems of objects that could not be written or deleted.
func (o Outcome) problemsOf(result state.Written) []state.Problem {
	var problems []state.Problem
	for _, c := range result.Conflicts {
		problems = append(problems, state.Problem{
			Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonConflict, Message: conflictMessage(c), Transient: c.Former,
		})
	}
	if result.Rejection != nil {
		problems = append(problems, o.rejectionProblem(*result.Rejection))
	}
	for _, r := range result.NotDeleted {
		if r.Webhook != "" {
			problems = append(problems, webhookProblem(a2av1alpha1.ConditionProgrammed, r))
			continue
		}
		problems = append(problems, state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonForbidden,
			"%s %q is no longer desired, but the API server rejects its deletion by the operator; "+
				"delete it, or ask the administrator of the operator to allow the deletion: %s", r.Kind, r.Name, r.Message))
	}
	return problems
}

// webhookProblem returns the problem of an admission webhook that does not answer.
func webhookProblem(condition string, r state.Rejection) state.Problem {
	p := state.NewProblem(condition, a2av1alpha1.ReasonWebhookFailed,
		"The API server does not write %s %q, because admission webhook %q does not answer; repair or remove the webhook, the operator retries within a minute: %s",
		r.Kind, r.Name, r.Webhook, r.Message)
	p.Transient = true
	return p
}

func conflictMessage(c state.Conflict) string {
	switch {
	case c.Former:
		return fmt.Sprintf("%s %q belongs to a deleted Agent of the same name, and the garbage collector deletes it soon", c.Kind, c.Name)
	case c.Kind == "ServiceAccount" && c.Name == "default":
		// Do not advise to delete it: Kubernetes creates this ServiceAccount again immediately.
		return `ServiceAccount "default" belongs to the namespace, so the operator writes nothing; delete this Agent and create it with another metadata.name`
	default:
		own := ""
		if c.Kind == "ServiceAccount" {
			own = "; for pods that use it, set " + template + ".serviceAccountName to it"
		}
		return fmt.Sprintf("%s %q exists and does not belong to this Agent, so the operator writes nothing; "+
			"delete this Agent and create it with another metadata.name, or delete the %s if it is not needed%s", c.Kind, c.Name, c.Kind, own)
	}
}

func (o Outcome) rejectionProblem(r state.Rejection) state.Problem {
	route := slices.Contains([]string{"HTTPRoute", "GRPCRoute"}, r.Kind)
	switch {
	case r.Webhook != "":
		return webhookProblem(a2av1alpha1.ConditionProgrammed, r)
	case r.TooLarge:
		return state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonApplyFailed,
			"The metadata of %s %q is too large for the operator; remove the labels, annotations or finalizers that others have added to it", r.Kind, r.Name)
	case r.Immutable():
		return state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonApplyFailed,
			"%s %q cannot be changed; delete it, and the operator creates it again: %s", r.Kind, r.Name, r.Message)
	case r.Forbidden:
		return state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonForbidden,
			"The API server does not allow the operator to write %s %q; correct the fields of the Agent that the message names, "+
				"or ask the administrator of the operator to allow the write: %s", r.Kind, r.Name, r.Message)
	case r.Kind == "Deployment":
		return state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonTemplateRejected,
			"The API server rejects the Deployment of spec.workload.template; correct it: %s", r.Message)
	case r.Kind == "NetworkPolicy":
		return state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonNetworkPolicyRejected,
			"The API server rejects the NetworkPolicy of spec.networkPolicy.egress; correct it: %s", r.Message)
	case route && r.UndeclaredField():
		return state.Problem{
			Reason: a2av1alpha1.ReasonApplyFailed,
			Message: fmt.Sprintf("The API server rejects %s %q because its CRD is too old; install the Gateway API %s or later: %s",
				r.Kind, r.Name, o.GatewayAPIVersion, r.Message),
		}
	case route:
		return state.Problem{
			Reason:  a2av1alpha1.ReasonApplyFailed,
			Message: fmt.Sprintf("The API server rejects %s %q of spec.exposure; correct it: %s", r.Kind, r.Name, r.Message),
		}
	default:
		return state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonApplyFailed,
			"The API server rejects %s %q; correct the fields of the Agent that the message names, "+
				"or ask the administrator of the operator: %s", r.Kind, r.Name, r.Message)
	}
}
