// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/test/redistest"
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

func TestCompactAppendsDropEvents(t *testing.T) {
	o := Options{Server: Server{Addresses: []string{redistest.Start(t).Address()}}, Prefix: "a2a:{test/compact}:"}
	var stores []*Store
	for range 2 {
		s, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		stores = append(stores, s)
	}
	key := store.Key{Owner: "alice", TaskID: "t1"}
	log, err := stores[0].Create(t.Context(), store.NewTask{Key: key, Events: []a2a.Event{
		{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateInputRequired, Time: time.UnixMilli(1)}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	const appends = 40
	for i := range appends {
		_, err := log.Append(t.Context(), store.Append{After: uint64(i + 1), Compact: true, Events: []a2a.Event{{Artifact: &a2a.ArtifactUpdate{
			Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.TextPart(strings.Repeat("x", 64<<10))}},
		}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	other, err := stores[1].Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Read(t.Context(), nil, appends/2); !errors.Is(err, store.ErrTrimmed) {
		t.Errorf("Read() error = %v, want ErrTrimmed", err)
	}
}
