// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// controlled is the access of one replica to the shared store. Each attempt of a call
// waits for the scheduler. Like the client of a real store, it retries writes.
type controlled struct {
	store.Member
	replica   int
	scheduler *scheduler
}

func attempt[T any](c *controlled, op string, write bool, do func() (T, error)) (T, error) {
	var none T
	switch c.scheduler.wait(c.replica, op, write) {
	case refused:
		return none, store.ErrUnavailable
	case unanswered:
		if _, err := do(); err != nil {
			return none, err
		}
		return none, store.ErrUnavailable
	default:
		return do()
	}
}

func retried[T any](ctx context.Context, c *controlled, op string, w *store.Write, do func() (T, error)) (result T, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(w.RetryFor, time.Second))
	defer cancel()
	err = store.RetryWrite(ctx, w.Repeat, func() (err error) {
		result, err = attempt(c, op, true, do)
		w.Repeat = w.Repeat || err != nil
		return err
	})
	return result, err
}

func (c *controlled) Create(ctx context.Context, n store.NewTask) (store.Log, error) {
	log, err := retried(ctx, c, "create", &n.Write, func() (store.Log, error) { return c.Member.Create(ctx, n) })
	if err != nil {
		return nil, err
	}
	return &controlledLog{log, c}, nil
}

func (c *controlled) Open(ctx context.Context, k store.Key) (store.Log, error) {
	log, err := attempt(c, "open", false, func() (store.Log, error) { return c.Member.Open(ctx, k) })
	if err != nil {
		return nil, err
	}
	return &controlledLog{log, c}, nil
}

func (c *controlled) Recall(ctx context.Context, k store.Conversation) ([]*a2a.Message, error) {
	return attempt(c, "recall", false, func() ([]*a2a.Message, error) { return c.Member.Recall(ctx, k) })
}

func (c *controlled) Renew(ctx context.Context, d time.Duration) ([]store.Key, error) {
	return attempt(c, "renew", true, func() ([]store.Key, error) { return c.Member.Renew(ctx, d) })
}

func (c *controlled) Leave(ctx context.Context) error {
	_, err := attempt(c, "leave", true, func() (struct{}, error) { return struct{}{}, c.Member.Leave(ctx) })
	return err
}

func (c *controlled) Alive(ctx context.Context, r store.Replica) (bool, error) {
	return attempt(c, "alive", false, func() (bool, error) { return c.Member.Alive(ctx, r) })
}

func (c *controlled) Dead(ctx context.Context) ([]store.Replica, error) {
	return attempt(c, "dead", false, func() ([]store.Replica, error) { return c.Member.Dead(ctx) })
}

func (c *controlled) Holding(ctx context.Context, r store.Replica) ([]store.Key, error) {
	return attempt(c, "holding", false, func() ([]store.Key, error) { return c.Member.Holding(ctx, r) })
}

func (c *controlled) Holder(ctx context.Context, k store.Key) (store.Hold, error) {
	return attempt(c, "holder", false, func() (store.Hold, error) { return c.Member.Holder(ctx, k) })
}

func (c *controlled) Waiting(ctx context.Context, k store.Key) ([]store.WaitingMessage, error) {
	return attempt(c, "waiting", false, func() ([]store.WaitingMessage, error) { return c.Member.Waiting(ctx, k) })
}

func (c *controlled) Claim(ctx context.Context, m string, claim store.MessageClaim, window time.Duration) (store.MessageClaim, error) {
	return attempt(c, "claim", true, func() (store.MessageClaim, error) { return c.Member.Claim(ctx, m, claim, window) })
}

func (c *controlled) Unclaim(ctx context.Context, m string, claim store.MessageClaim, tasks ...store.Key) (begun bool, err error) {
	return attempt(c, "unclaim", true, func() (bool, error) { return c.Member.Unclaim(ctx, m, claim, tasks...) })
}

func (c *controlled) Post(ctx context.Context, to store.Replica, m *store.InboxMessage) (string, error) {
	return attempt(c, "post", true, func() (string, error) { return c.Member.Post(ctx, to, m) })
}

func (c *controlled) Withdraw(ctx context.Context, to store.Replica, place string) (bool, error) {
	return attempt(c, "withdraw", true, func() (bool, error) { return c.Member.Withdraw(ctx, to, place) })
}

// Receive waits for messages outside of the schedule. A real inbox keeps a message
// until its receipt is answered, so only a disconnected replica loses messages.
func (c *controlled) Receive(ctx context.Context) ([]*store.InboxMessage, error) {
	messages, err := c.Member.Receive(ctx)
	if err != nil {
		return nil, err
	}
	return attempt(c, "receive", false, func() ([]*store.InboxMessage, error) { return messages, nil })
}

type controlledLog struct {
	store.Log
	store *controlled
}

func (l *controlledLog) Append(ctx context.Context, a store.Append) (uint64, error) {
	return retried(ctx, l.store, "append", &a.Write, func() (uint64, error) { return l.Log.Append(ctx, a) })
}

func (l *controlledLog) Snapshot(ctx context.Context) (*a2a.Record, error) {
	return attempt(l.store, "snapshot", false, func() (*a2a.Record, error) { return l.Log.Snapshot(ctx) })
}

func (l *controlledLog) Read(ctx context.Context, dst []*a2a.Record, after uint64) ([]*a2a.Record, error) {
	return attempt(l.store, "read", false, func() ([]*a2a.Record, error) { return l.Log.Read(ctx, dst, after) })
}

// pushes are the push configurations of one replica. The URL of a configuration is the id of
// its message.
type pushes struct {
	store    *controlled
	observed *observations
}

func (p pushes) Check(context.Context, a2a.PushConfig) error { return nil }

func (p pushes) Attach(_ context.Context, k store.Key, c a2a.PushConfig, _ uint64) error {
	_, err := attempt(p.store, "attach", true, func() (struct{}, error) {
		p.observed.attachPush(k.TaskID, c.URL)
		return struct{}{}, nil
	})
	return err
}

func (p pushes) Reattach(ctx context.Context, k store.Key, c a2a.PushConfig, after uint64) error {
	return p.Attach(ctx, k, c, after)
}
