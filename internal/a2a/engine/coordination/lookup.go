// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coordination

import (
	"context"
	"errors"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// findIn looks for a message in the logs of tasks, one after the other. It returns the
// position at which the turn of the message began, or nil if no log contains the message. It
// skips tasks that do not exist.
func (s *Shared) findIn(ctx context.Context, tasks []store.Key, r *a2a.SendRequest) (*Position, error) {
	for _, k := range tasks {
		if k.TaskID == "" {
			continue
		}
		found, err := s.find(ctx, k, r)
		if found != nil || err != nil && !errors.Is(err, store.ErrNotFound) {
			return found, err
		}
	}
	return nil, nil // nil means that no log contains the message
}

func (s *Shared) find(ctx context.Context, k store.Key, r *a2a.SendRequest) (*Position, error) {
	log, err := s.member.Open(ctx, k)
	if err != nil {
		return nil, err
	}
	now, err := log.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(now.Task.History, func(m *a2a.Message) bool { return m.ID == r.Message.ID }) {
		return nil, nil // nil means that the log does not contain the message
	}
	seq, err := FindMessage(ctx, log, r)
	if err != nil || seq == 0 {
		return nil, err
	}
	return &Position{Key: k, Log: log, Seq: seq + 1}, nil // the event after the message is the status that begins the turn
}

// FindMessage returns the number of the event with the message of a request. It returns 0 if
// the log does not contain the message, or no longer has its beginning.
//
// It compares ids. A client may use the same id for the message that creates a task and for
// messages that continue the task. If the request names no task, FindMessage returns the first
// message with the id, and otherwise the last one. If the request names the task and has no
// ClientTaskID, it skips the message that created the task.
func FindMessage(ctx context.Context, log store.Log, r *a2a.SendRequest) (seq uint64, err error) {
	named := r.Message.TaskID != ""
	continues := named && !r.ClientTaskID
	var batch []*a2a.Record
	for at := uint64(0); ; {
		clear(batch) // the next read may wait
		batch, err = log.Read(ctx, batch[:0], at)
		if errors.Is(err, store.ErrTrimmed) {
			return 0, nil
		}
		if err != nil || len(batch) == 0 {
			return seq, err
		}
		for _, record := range batch {
			at = record.Seq
			if record.Message == nil || record.Message.ID != r.Message.ID || continues && at == 1 {
				continue
			}
			seq = at
			if !named {
				return seq, nil
			}
		}
	}
}
