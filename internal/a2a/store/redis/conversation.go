// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"math"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

func conversationName(c store.Conversation) string {
	return digest(string(c.Owner)) + digest(c.ContextID)
}

// Remember implements store.Store. It does not retry, because a retry could store the
// message twice. After an error, it is unknown whether the store has the message. This is
// acceptable, because conversations are only advice to backends.
func (s *Store) Remember(ctx context.Context, c store.Conversation, m *a2a.Message) (stored func() error) {
	encoded := writeMessage(m)
	if n := store.MaxRememberedBytes + 1; len(encoded) > n {
		encoded = encoded[:n] // the script does not keep a message of this size, so the rest is not sent
	}
	one := s.calls.enqueue(ctx, s.scripts.remember, len(encoded),
		digest(c.Owner.Principal()), conversationName(c), encoded, store.MaxRemembered, store.MaxRememberedBytes, millis(s.options.keyTTL()), s.options.MaxTasks,
		s.options.MaxBytes/8, digest(string(c.Owner))+m.TaskID, millis(s.options.endedTTL()), shareOf(c.Owner))
	return func() error {
		ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
		defer cancel()
		_, err := one.wait(ctx)
		return err
	}
}

// Recall implements store.Store. It reserves memory for a large conversation before it reads it, as for a task.
func (s *Store) Recall(ctx context.Context, c store.Conversation) ([]*a2a.Message, error) {
	messages, size, err := s.recall(ctx, c, limit.Small)
	if err != nil || size == 0 {
		return messages, err
	}
	if err := store.ReserveLoad(ctx, loadCost*size); err != nil {
		return nil, err
	}
	release, err := s.acquireLoad(ctx, c.Owner)
	if err != nil {
		return nil, err
	}
	defer release()
	messages, _, err = s.recall(ctx, c, math.MaxInt64)
	return messages, err
}

// recall reads a conversation. If it has more than most bytes, it returns its size in place of it.
func (s *Store) recall(ctx context.Context, c store.Conversation, most int64) (messages []*a2a.Message, size int64, err error) {
	reply, err := s.calls.run(ctx, s.scripts.recall, digest(c.Owner.Principal()), conversationName(c), millis(s.options.keyTTL()), millis(s.options.endedTTL()), most)
	if err != nil {
		return nil, 0, err
	}
	if size, is := reply.(int64); is {
		return nil, size, nil
	}
	a := newReplyReader(reply)
	for a.more() {
		m, err := readMessage([]byte(a.text()))
		if err != nil {
			return nil, 0, err
		}
		messages = append(messages, m)
	}
	return messages, 0, a.err
}
