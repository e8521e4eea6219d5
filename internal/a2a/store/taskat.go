// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// errShortLog is returned if a log ends before an event that was read from it.
var errShortLog = errors.New("log ends before an event that was read from it")

// TaskAt returns the task as it was after the event numbered seq. It replays the log, unless
// the event is the last one. If the replay does not reach the event, TaskAt returns the
// current task and an error, which is ErrTrimmed if the log no longer has its beginning.
// After any other error, the record is nil.
func TaskAt(ctx context.Context, log Log, seq uint64) (*a2a.Record, error) {
	now, err := log.Snapshot(ctx)
	if err != nil {
		return nil, err // callers compare it
	}
	if now.Seq <= seq {
		return now, nil
	}
	fold := NewFold(now.Task.ID, Origin{ContextID: now.Task.ContextID, Dialect: now.Task.Dialect})
	var batch []*a2a.Record
	for at := uint64(0); at < seq; {
		clear(batch) // the next read may wait
		batch, err = log.Read(ctx, batch[:0], at)
		switch {
		case errors.Is(err, ErrTrimmed):
			return now, err // callers compare it
		case err != nil:
			return nil, err // callers compare it
		case len(batch) == 0:
			return now, errShortLog
		}
		for _, record := range batch {
			at = record.Seq
			if at <= seq {
				fold.Replay(&record.Event)
			}
		}
	}
	return &a2a.Record{Seq: seq, Event: a2a.Event{Task: fold.Task()}}, nil
}
