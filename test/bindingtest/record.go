// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bindingtest

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Time is the time of all statuses.
var Time = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Task returns a task with the id t1 in the context c1, made by a client of a dialect.
func Task(d a2a.Dialect, state a2a.State) *a2a.Task {
	return &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.Status{State: state, Time: Time}, Dialect: d}
}

// Snapshot returns the record of a task.
func Snapshot(seq uint64, t *a2a.Task) *a2a.Record {
	return &a2a.Record{Seq: seq, Event: a2a.Event{Task: t}}
}

// Status returns the record of a status of the task t1.
func Status(seq uint64, state a2a.State) *a2a.Record {
	return &a2a.Record{Seq: seq, Event: a2a.Event{Status: &a2a.StatusUpdate{
		TaskID: "t1", ContextID: "c1", Status: a2a.Status{State: state, Time: Time},
	}}}
}

// Artifact returns the record of an update that completes the artifact a1 of the task t1.
func Artifact(seq uint64, text string) *a2a.Record {
	return &a2a.Record{Seq: seq, Event: a2a.Event{Artifact: &a2a.ArtifactUpdate{
		TaskID: "t1", ContextID: "c1", Artifact: a2a.Artifact{ID: "a1", Parts: []a2a.Part{a2a.TextPart(text)}}, LastChunk: true,
	}}}
}
