// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events creates Kubernetes events for the changes of an Agent's status.
//
// transitions.go is pure and computes the events from two statuses. recorder.go sends them.
// The package does not read the cluster and writes only events.
package events

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// Event is a Kubernetes event about an Agent.
type Event struct {
	// Type is Normal or Warning.
	Type string
	// Reason is the reason of a condition, or one of the constants of this package.
	Reason string
	// Note is the message of the event.
	Note string
}

// ReasonCardChanged is the reason of the event after a change of the card.
const ReasonCardChanged = "CardChanged"

// Outdated returns the event that the operator does not apply a spec because a CRD is older than the operator.
func Outdated(note string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: a2av1alpha1.ReasonSpecPruned, Note: note}
}

// ReasonTakenOver is the reason of the event that an operator manages an Agent that another one managed.
const ReasonTakenOver = "TakenOver"

// TakenOver returns the event that an operator manages an Agent that another one managed.
func TakenOver(former, operator string) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: ReasonTakenOver, Note: "Operator " + operator + " manages the Agent, which " + former + " managed"}
}

// Left returns the event that an operator leaves an Agent to another one.
func Left(note string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: a2av1alpha1.ReasonManagedByAnotherOperator, Note: note}
}

// withoutEvent lists the reasons of conditions for which there is no event: intermediate
// states, and consequences of another condition that has an event.
var withoutEvent = map[string]bool{
	a2av1alpha1.ReasonPending:              true,
	a2av1alpha1.ReasonBlocked:              true,
	a2av1alpha1.ReasonCardKept:             true,
	a2av1alpha1.ReasonApplyFailed:          true,
	a2av1alpha1.ReasonWaitingForIssuerKeys: true,
	a2av1alpha1.ReasonWaitingForTokenKeys:  true,
	a2av1alpha1.ReasonRolloutInProgress:    true,
	a2av1alpha1.ReasonAgentStarting:        true,
	a2av1alpha1.ReasonNotProgrammed:        true,
	a2av1alpha1.ReasonNoPodReady:           true,
	a2av1alpha1.ReasonPublishing:           true,
}

// Transitions returns the events for the changes between two statuses of an Agent: first the
// events of the conditions, in the order of the conditions, then the event of a changed card, and
// last the event of a recovery.
func Transitions(before, after a2av1alpha1.AgentStatus) []Event {
	var events []Event
	for _, condition := range a2av1alpha1.AgentConditions() {
		if condition == a2av1alpha1.ConditionReady {
			continue
		}
		was := meta.FindStatusCondition(before.Conditions, condition)
		is := meta.FindStatusCondition(after.Conditions, condition)
		if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
			continue
		}
		if event, ok := changed(*is); ok {
			events = append(events, event)
		}
	}
	if before.CardDigest != "" && before.CardDigest != after.CardDigest {
		events = append(events, cardChanged(after))
	}
	if !fullyReady(before) && fullyReady(after) {
		events = append(events, ready(after))
	}
	return events
}

// changed returns the event of a condition that became worse. There is no event when the
// condition recovers: the event of Ready covers the recovery.
func changed(is metav1.Condition) (Event, bool) {
	switch {
	case withoutEvent[is.Reason]:
		return Event{}, false
	case is.Reason == a2av1alpha1.ReasonScaledToZero:
		return Event{Type: corev1.EventTypeNormal, Reason: is.Reason, Note: "The agent has no pods because spec.workload.replicas is 0"}, true
	case is.Reason == a2av1alpha1.ReasonAddressesOmitted, is.Reason == a2av1alpha1.ReasonAddressesReplaced: // the agent works, and the user need not act
		return Event{Type: corev1.EventTypeNormal, Reason: is.Reason, Note: is.Message}, true
	case is.Status == metav1.ConditionFalse, degraded(is):
		return Event{Type: corev1.EventTypeWarning, Reason: is.Reason, Note: is.Message}, true
	default:
		return Event{}, false
	}
}

// degraded reports whether Available or Programmed is True for a special reason: the current spec
// does not work, a dependency has failed, or others set fields of the objects again and again.
func degraded(is metav1.Condition) bool {
	if is.Type == a2av1alpha1.ConditionProgrammed {
		return is.Reason == a2av1alpha1.ReasonFieldsContested
	}
	return is.Type == a2av1alpha1.ConditionAvailable && is.Status == metav1.ConditionTrue &&
		is.Reason != a2av1alpha1.ReasonAvailable
}

// fullyReady reports whether an Agent is ready and has all its dependencies.
func fullyReady(s a2av1alpha1.AgentStatus) bool {
	ready := meta.FindStatusCondition(s.Conditions, a2av1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.Reason == a2av1alpha1.ReasonReady
}

func cardChanged(after a2av1alpha1.AgentStatus) Event {
	skills := fmt.Sprintf("%d skills", ptr.Deref(after.Skills, 0))
	if skills == "1 skills" {
		skills = "1 skill"
	}
	return Event{
		Type:   corev1.EventTypeNormal,
		Reason: ReasonCardChanged,
		Note:   fmt.Sprintf("The card changed to %s and lists %s", after.CardDigest, skills),
	}
}

func ready(after a2av1alpha1.AgentStatus) Event {
	return Event{
		Type:   corev1.EventTypeNormal,
		Reason: a2av1alpha1.ReasonReady,
		Note:   "The agent serves at " + after.URL,
	}
}
