// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agentstate derives the state of an Agent from its status, so that the command line, the page,
// the registry and the metrics show the same one as `kubectl get agents`. It is pure.
package agentstate

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// State is the state of an Agent.
type State struct {
	// Serves is true if the agent takes calls: its condition Available is True. The agent may serve calls
	// although it is not ready, for example while a rollout fails.
	Serves bool
	// Ready, Reason and Message are those of the condition Ready, whose reason is that of the first cause. Without
	// the condition, Ready is Unknown and the reason is Pending.
	Ready           metav1.ConditionStatus
	Reason, Message string
}

// Of returns the state in a status.
func Of(status *a2av1alpha1.AgentStatus) State {
	s := State{
		Serves: meta.IsStatusConditionTrue(status.Conditions, a2av1alpha1.ConditionAvailable),
		Ready:  metav1.ConditionUnknown,
		Reason: a2av1alpha1.ReasonPending,
	}
	if ready := meta.FindStatusCondition(status.Conditions, a2av1alpha1.ConditionReady); ready != nil {
		s.Ready = ready.Status
		s.Reason = ready.Reason
		s.Message = ready.Message
	}
	return s
}

// IsReady reports whether the Agent is ready.
func (s State) IsReady() bool { return s.Ready == metav1.ConditionTrue }

// Problem returns the reason of what fails or waits, "" if nothing does. A ready Agent may have a problem, too.
func (s State) Problem() string {
	if s.IsReady() && s.Reason == a2av1alpha1.ReasonReady {
		return ""
	}
	return s.Reason
}
