// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestTurnsHaveTheirSubjectWhileTheyRun(t *testing.T) {
	var turns Turns
	u1 := &a2a.Subject{Principal: "u1", Owner: "u1", Credential: "1"}
	input := &a2a.Subject{Principal: "u1", Owner: "u1", Credential: "2"}
	u2 := &a2a.Subject{Principal: "u2", Owner: "u2"}
	expect := func(when, task string, want *a2a.Subject) {
		t.Helper()
		if got, isRunning := turns.Of(task); got != want || isRunning != (want != nil) {
			t.Errorf("%s: %+v, %v, want %+v", when, got, isRunning, want)
		}
	}
	expect("at first", "a", nil)
	endWithout := turns.Begin("a", nil)
	if got, isRunning := turns.Of("a"); got != nil || !isRunning {
		t.Errorf("a turn without a subject: %+v, %v", got, isRunning)
	}
	endWithout()
	end1 := turns.Begin("a", u1)
	end2 := turns.Begin("b", u2)
	expect("the first turn", "a", u1)
	expect("a turn of another task", "b", u2)
	expect("another task", "c", nil)
	endInput := turns.Begin("a", input)
	expect("the turn that delivers input", "a", input)
	end1()
	expect("after the first turn", "a", input)
	end1() // twice
	endInput()
	expect("after both", "a", nil)
	end2()
	expect("after the other", "b", nil)
	if len(turns.running) != 0 {
		t.Errorf("turns stay: %v", turns.running)
	}
}

// TestTaskOfTwoOwnersHasNoSubject checks that a client who chooses the id of another client's task (A2A 0.1) does not get its subject.
func TestTaskOfTwoOwnersHasNoSubject(t *testing.T) {
	var turns Turns
	end := turns.Begin("chosen", &a2a.Subject{Principal: "u1", Owner: "u1"})
	turns.Begin("chosen", &a2a.Subject{Principal: "u2", Owner: "u2"})
	if got, isRunning := turns.Of("chosen"); got != nil || isRunning {
		t.Errorf("the subject is %+v", got)
	}
	end()
	if got, _ := turns.Of("chosen"); got == nil || got.Principal != "u2" {
		t.Errorf("the subject is %+v, want u2", got)
	}
}
