// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// opened is a stream that replaces its snapshot by other events, for clients that cannot
// read snapshots.
type opened struct {
	a2a.Stream
	open func(snapshot *a2a.Record) []*a2a.Record
}

// Next implements a2a.Stream. A snapshot can only be the first record.
func (s *opened) Next(ctx context.Context) ([]*a2a.Record, error) {
	records, err := s.Stream.Next(ctx)
	return s.replace(records), err
}

func (s *opened) replace(records []*a2a.Record) []*a2a.Record {
	if len(records) == 0 || records[0].Task == nil {
		return records
	}
	return append(s.open(records[0]), records[1:]...)
}

// openV01 returns the events of 0.1 that describe a task: its status and, for a subscriber,
// its artifacts. A client that sends a message to the task already has the artifacts. For a
// task that has ended, the only event is its status, because clients stop reading after it.
func openV01(snapshot *a2a.Record, subscribed bool) []*a2a.Record {
	t := snapshot.Task
	events := []*a2a.Record{statusOf(t)}
	if subscribed && !t.Status.State.Terminal() {
		for i := range t.Artifacts {
			events = append(events, &a2a.Record{Event: a2a.Event{Artifact: &a2a.ArtifactUpdate{
				TaskID: t.ID, ContextID: t.ContextID, Artifact: t.Artifacts[i], Index: i, LastChunk: true,
			}}})
		}
	}
	// Only the last event has the number of the snapshot, so that a client that resumes
	// after this number has received all of them.
	events[len(events)-1].Seq = snapshot.Seq
	return events
}

// openStatus returns the status of a task in place of its snapshot.
func openStatus(snapshot *a2a.Record, _ bool) []*a2a.Record {
	r := statusOf(snapshot.Task)
	r.Seq = snapshot.Seq
	return []*a2a.Record{r}
}

// statusOf returns the status of a task as an event. The event is final only if the task
// has ended, because the stream continues while the task waits for its client.
func statusOf(t *a2a.Task) *a2a.Record {
	return &a2a.Record{Event: a2a.Event{Status: &a2a.StatusUpdate{
		TaskID: t.ID, ContextID: t.ContextID, Status: t.Status, Paused: t.Status.State.Interrupted(),
	}}}
}
