// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

func (e *Engine) open(ctx context.Context, k store.Key) (store.Log, error) {
	log, err := e.options.Store.Open(ctx, k)
	if err != nil {
		return nil, storeError("open task", k.TaskID, err)
	}
	return log, nil
}

func snapshot(ctx context.Context, log store.Log, id string, history *int) (*a2a.Task, error) {
	record, err := log.Snapshot(ctx)
	if err != nil {
		return nil, storeError("read task", id, err)
	}
	return record.Task.WithHistory(history), nil
}

// taskAt returns the task as it was after the event numbered seq, or the current task if
// the log no longer has its beginning.
func taskAt(ctx context.Context, log store.Log, k store.Key, seq uint64) (*a2a.Record, error) {
	record, err := store.TaskAt(ctx, log, seq)
	if record == nil {
		return nil, storeError("read task", k.TaskID, err)
	}
	return record, nil
}

func artifactOf(t *a2a.Task, id string) *a2a.Artifact {
	if t == nil {
		return nil
	}
	for i := range t.Artifacts {
		if t.Artifacts[i].ID == id {
			return &t.Artifacts[i]
		}
	}
	return nil
}

// withHistory returns a snapshot with at most the newest *n messages of the history; nil
// means all. It returns r itself, with its cached encodings, if r has no more messages.
func withHistory(r *a2a.Record, n *int) *a2a.Record {
	t := r.Task.WithHistory(n)
	if t == r.Task {
		return r
	}
	return &a2a.Record{Seq: r.Seq, Event: a2a.Event{Task: t}}
}
