// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

// TestFailuresAreExcusedByTheirSidecarAndCause: a failed task is a violation, unless a fault of its own sidecars explains the text of its failure.
func TestFailuresAreExcusedByTheirSidecarAndCause(t *testing.T) {
	const refused, interrupted = "The message was refused", "The agent was interrupted too often"
	at := func(seconds int) time.Duration { return time.Duration(seconds) * time.Second }
	window := func(server string, begin, end int) history.Window {
		return history.Window{Server: server, Begin: at(begin), End: at(end)}
	}
	sent := func(server string, begin, end int, isAnswered bool) sentCopy {
		return sentCopy{server, at(begin), at(end), isAnswered}
	}
	lost := []sentCopy{sent("a", 10, 15, false), sent("b", 16, 17, true)}
	for name, test := range map[string]struct {
		text   string
		copies []sentCopy
		faults history.Faults
		want   bool
	}{
		"a pause while a copy got no answer":    {refused, lost, history.Faults{Pauses: []history.Window{window("a", 12, 26)}}, true},
		"a pause of another sidecar":            {refused, lost, history.Faults{Pauses: []history.Window{window("b", 12, 26)}}, false},
		"a pause after the copy":                {refused, lost, history.Faults{Pauses: []history.Window{window("a", 16, 30)}}, false},
		"a pause before the copy":               {refused, lost, history.Faults{Pauses: []history.Window{window("a", 0, 9)}}, false},
		"a kill":                                {refused, lost, history.Faults{Kills: []history.Window{window("a", 12, 13)}}, false},
		"a pause, with an answer":               {refused, []sentCopy{sent("a", 10, 15, true)}, history.Faults{Pauses: []history.Window{window("a", 12, 26)}}, false},
		"a pause, and another failure":          {"The task could not be stored", lost, history.Faults{Pauses: []history.Window{window("a", 12, 26)}}, false},
		"three interruptions":                   {interrupted, lost[1:], history.Faults{Kills: []history.Window{window("b", 17, 18), window("a", 19, 20)}, Pauses: []history.Window{window("b", 21, 35)}}, true},
		"three interruptions, and another text": {refused, lost[1:], history.Faults{Kills: []history.Window{window("b", 17, 18), window("a", 19, 20)}, Pauses: []history.Window{window("b", 21, 35)}}, false},
		"two interruptions":                     {interrupted, lost[1:], history.Faults{Kills: []history.Window{window("b", 17, 18), window("a", 19, 20)}}, false},
		"two interruptions after one of another sidecar": {
			interrupted, lost[1:], history.Faults{Kills: []history.Window{window("a", 16, 17), window("b", 18, 19), window("a", 20, 21)}}, false,
		},
	} {
		l := &lifecycle{fleet: &fleet{begin: time.Now().Add(-time.Minute), faults: test.faults}, wrong: map[string][]history.Violation{}}
		failed := &startedTask{id: "t", copies: test.copies, end: taskState{ID: "t", Status: taskStatus{State: "TASK_STATE_FAILED"}}}
		failed.end.Status.Message.add(test.text)
		l.checkEnd(failed)
		if isExcused := len(l.wrong) == 0; isExcused != test.want {
			t.Errorf("%s: excused = %t, want %t: %v", name, isExcused, test.want, l.wrong)
		}
	}
}
