// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// rolledBackStore is a store that loses events of the logs that are open when lost is set.
type rolledBackStore struct {
	store.Store
	lost atomic.Bool
}

type rolledBackLog struct {
	store.Log
	of     *rolledBackStore
	before bool
}

func (s *rolledBackStore) Open(ctx context.Context, k store.Key) (store.Log, error) {
	log, err := s.Store.Open(ctx, k)
	if err != nil {
		return nil, err
	}
	return &rolledBackLog{log, s, !s.lost.Load()}, nil
}

func (l *rolledBackLog) Read(ctx context.Context, dst []*a2a.Record, after uint64) ([]*a2a.Record, error) {
	if l.before && l.of.lost.Load() {
		return dst, store.ErrRolledBack
	}
	return l.Log.Read(ctx, dst, after)
}

func TestDeliveryContinuesAfterTheStoreLostEvents(t *testing.T) {
	withFixture(t, push.Options{}, func(_ *testing.T, b *fixture) {
		s := &rolledBackStore{Store: b.tasks}
		b.options.Tasks = s
		b.restart()
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		task.setState(a2a.StateWorking)
		b.wantEvents("3")
		s.lost.Store(true)
		task.setState(a2a.StateInputRequired)
		b.wantEvents("4")
		task.setState(a2a.StateCompleted)
		b.wantEvents("5")
		b.wantFollowing(0)
	})
}
