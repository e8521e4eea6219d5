// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis/redistest"
)

// A client that lists tasks may read a new task before the creation returns. The log still
// has each event only once.
func TestNewLogIsReadBeforeItsCreationIsConfirmed(t *testing.T) {
	s, err := Open(Options{Server: Server{Addresses: []string{redistest.Start(t).Address()}}, Prefix: "a2a:{test/log}:"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	key, origin := store.Key{Owner: "alice", TaskID: "t1"}, store.Origin{ContextID: "c1"}
	events := func() []a2a.Event {
		return []a2a.Event{
			{Message: &a2a.Message{ID: "m", Role: a2a.RoleUser, TaskID: "t1", ContextID: "c1"}},
			{Status: &a2a.StatusUpdate{TaskID: "t1", ContextID: "c1", Status: a2a.Status{State: a2a.StateWorking, Time: time.UnixMilli(1)}}},
		}
	}
	if _, err := s.Create(t.Context(), store.NewTask{Key: key, Origin: origin, Events: events()}); err != nil {
		t.Fatal(err)
	}
	l := s.cache.replace(s, key)
	if err := l.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	dropMemories(l.initialize(store.NewFold(key.TaskID, origin), &store.NewTask{Key: key, Origin: origin, Events: events()}, "token", 100))
	record, err := l.Snapshot(t.Context())
	if err != nil || record.Seq != 2 || len(record.Task.History) != 1 {
		t.Errorf("Snapshot() = %+v, %v", record, err)
	}
	if records, err := l.Read(t.Context(), nil, 0); err != nil || len(records) != 2 {
		t.Errorf("Read() = %d records, %v", len(records), err)
	}
	if seq, err := l.Append(t.Context(), store.Append{After: 2, Events: events()[1:]}); seq != 3 || err != nil {
		t.Errorf("Append() = %d, %v", seq, err)
	}
}
