// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events tells what happened to an Agent, once it has happened.
//
// What is told is the difference of two statuses (transitions.go, pure); how
// it is told is recorder.go. Nothing here reads or writes the cluster in any
// other way.
package events

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// Event is one thing that happened to an Agent.
type Event struct {
	// Type is Normal or Warning.
	Type string
	// Reason is a condition's reason, or one of the constants here.
	Reason string
	// Note says what happened, and to which value.
	Note string
}

// ReasonCardChanged is the reason of an event about another card.
const ReasonCardChanged = "CardChanged"

// quiet are the reasons that are a stage on the way, or that another
// condition's event has told already.
var quiet = map[string]bool{
	a2av1alpha1.ReasonPending:              true,
	a2av1alpha1.ReasonBlocked:              true,
	a2av1alpha1.ReasonCardKept:             true,
	a2av1alpha1.ReasonApplyFailed:          true,
	a2av1alpha1.ReasonWaitingForIssuerKeys: true,
	a2av1alpha1.ReasonRolloutInProgress:    true,
	a2av1alpha1.ReasonAgentStarting:        true,
	a2av1alpha1.ReasonNotProgrammed:        true,
	a2av1alpha1.ReasonNoPodReady:           true,
	a2av1alpha1.ReasonPublishing:           true,
}

// Transitions returns what happened between two statuses of an Agent, in the
// order of its conditions.
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
		if event, tell := changed(*is); tell {
			events = append(events, event)
		}
	}
	if before.CardDigest != "" && before.CardDigest != after.CardDigest {
		events = append(events, cardChanged(after))
	}
	if !whollyReady(before) && whollyReady(after) {
		events = append(events, ready(after))
	}
	return events
}

// changed tells of a condition that went wrong. That it is well again is told
// by Ready.
func changed(is metav1.Condition) (Event, bool) {
	switch {
	case quiet[is.Reason]:
		return Event{}, false
	case is.Reason == a2av1alpha1.ReasonScaledToZero:
		return Event{Type: corev1.EventTypeNormal, Reason: is.Reason, Note: "The agent has no pod, as spec.workload.replicas says"}, true
	case is.Status == metav1.ConditionFalse, servesWithTrouble(is):
		return Event{Type: corev1.EventTypeWarning, Reason: is.Reason, Note: is.Message}, true
	default:
		return Event{}, false
	}
}

// servesWithTrouble reports whether the agent takes calls although the current
// spec does not work, or without something that it depends on.
func servesWithTrouble(is metav1.Condition) bool {
	return is.Type == a2av1alpha1.ConditionAvailable && is.Status == metav1.ConditionTrue &&
		is.Reason != a2av1alpha1.ReasonAvailable
}

// whollyReady reports whether an Agent is ready and has lost nothing that it
// depends on.
func whollyReady(s a2av1alpha1.AgentStatus) bool {
	ready := meta.FindStatusCondition(s.Conditions, a2av1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.Reason == a2av1alpha1.ReasonReady
}

func cardChanged(after a2av1alpha1.AgentStatus) Event {
	skills := int32(0)
	if after.Skills != nil {
		skills = *after.Skills
	}
	return Event{
		Type:   corev1.EventTypeNormal,
		Reason: ReasonCardChanged,
		Note:   fmt.Sprintf("The card is now %s and lists %d skills", after.CardDigest, skills),
	}
}

func ready(after a2av1alpha1.AgentStatus) Event {
	return Event{
		Type:   corev1.EventTypeNormal,
		Reason: a2av1alpha1.ReasonReady,
		Note:   "The agent takes calls at " + after.URL,
	}
}
