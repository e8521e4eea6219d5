// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// verdict is the status, reason and message of a condition.
type verdict struct {
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// typed is a verdict with the type of its condition.
type typed struct {
	condition string
	verdict   verdict
}

// facts are shared by the checks: the rollout, and the verdicts of the conditions that
// precede the current one.
type facts struct {
	rollout  rollout
	verdicts []typed
}

// isTrue reports whether the verdict of a condition is True.
func (f *facts) isTrue(condition string) bool {
	for _, t := range f.verdicts {
		if t.condition == condition {
			return t.verdict.Status == metav1.ConditionTrue
		}
	}
	return false
}

// check returns the verdict of a condition, or false if the next check must decide.
type check func(Inputs, *facts) (verdict, bool)

// problems returns a check that makes a condition False if it has problems. The condition
// has the messages of all its problems, and the reason of the first.
func problems(condition string) check {
	return func(in Inputs, _ *facts) (verdict, bool) {
		return summed(in.Problems, condition, metav1.ConditionFalse)
	}
}

// remarks returns a check that makes a condition True if it has remarks. The condition
// has the messages of all its remarks, and the reason of the first.
func remarks(condition string) check {
	return func(in Inputs, _ *facts) (verdict, bool) {
		return summed(in.Remarks, condition, metav1.ConditionTrue)
	}
}

func summed(all []state.Problem, condition string, status metav1.ConditionStatus) (verdict, bool) {
	var reason string
	var messages []string
	for _, p := range all {
		if p.Condition != condition {
			continue
		}
		if reason == "" {
			reason = p.Reason
		}
		messages = append(messages, p.Message)
	}
	return verdict{status, reason, strings.Join(messages, "; ")}, reason != ""
}

// always returns the last check of a chain. It makes the condition True.
func always(reason, message string) check {
	return func(Inputs, *facts) (verdict, bool) {
		return verdict{metav1.ConditionTrue, reason, message}, true
	}
}

func isFalse(reason, message string) verdict {
	return verdict{metav1.ConditionFalse, reason, message}
}

func unknown(reason, message string) verdict {
	return verdict{metav1.ConditionUnknown, reason, message}
}

// maxMessage is the maximum length of a message, in bytes, so that a status stays
// readable. The limit of the API is much higher.
const maxMessage = 1024

// removeCondition removes a condition in place. Most objects have none of the type, and meta.RemoveStatusCondition copies
// the others each time.
func removeCondition(conditions *[]metav1.Condition, kind string) {
	*conditions = slices.DeleteFunc(*conditions, func(c metav1.Condition) bool { return c.Type == kind })
}

// setCondition sets a condition to a verdict. It truncates the message to maxMessage bytes.
func setCondition(conditions *[]metav1.Condition, condition string, v verdict, generation int64, now time.Time) {
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type:               condition,
		Status:             v.Status,
		Reason:             v.Reason,
		Message:            cut(v.Message, maxMessage),
		ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(now),
	})
}

// cut returns a message with at most the number of bytes in most. It truncates a longer
// message at a character boundary, and marks the cut with an ellipsis.
func cut(message string, most int) string {
	if len(message) <= most {
		return message
	}
	return safetext.Clip(message, most-len("…"))
}
