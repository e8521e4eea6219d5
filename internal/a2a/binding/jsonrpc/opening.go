// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// opened is a stream whose snapshot is replaced by other events, for clients
// that know no snapshots.
type opened struct {
	a2a.Stream
	open func(snapshot *a2a.Record) []*a2a.Record
}

// Next implements a2a.Stream. The snapshot comes first or not at all.
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

// openV01 says with events of 0.1 where a task stands. Who subscribes to a task
// is also told its artifacts; who sends a message to it knows them. A task that
// has ended is one event, after which a client reads no further.
func openV01(snapshot *a2a.Record, subscribed bool) []*a2a.Record {
	t := snapshot.Task
	events := []*a2a.Record{standing(t)}
	if subscribed && !t.Status.State.Terminal() {
		for i := range t.Artifacts {
			events = append(events, &a2a.Record{Event: a2a.Event{Artifact: &a2a.ArtifactUpdate{
				TaskID: t.ID, ContextID: t.ContextID, Artifact: t.Artifacts[i], Index: i, LastChunk: true,
			}}})
		}
	}
	// Who resumes behind the number has seen all of them.
	events[len(events)-1].Seq = snapshot.Seq
	return events
}

// openStatus says where a task stands, and no more.
func openStatus(snapshot *a2a.Record, _ bool) []*a2a.Record {
	r := standing(snapshot.Task)
	r.Seq = snapshot.Seq
	return []*a2a.Record{r}
}

// standing is the status of a task. It is final only when the task has ended:
// the stream goes on while the task waits for its client.
func standing(t *a2a.Task) *a2a.Record {
	return &a2a.Record{Event: a2a.Event{Status: &a2a.StatusUpdate{
		TaskID: t.ID, ContextID: t.ContextID, Status: t.Status, Paused: t.Status.State.Interrupted(),
	}}}
}
