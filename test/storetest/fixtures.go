// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

var (
	key    = store.Key{Owner: "alice", TaskID: "t1"}
	origin = store.Origin{ContextID: "c1", Dialect: a2a.DialectV01}
)

// Message returns a message of a client.
func Message(id, text string) *a2a.Message {
	return &a2a.Message{ID: id, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)}}
}

// Status returns a status event with a fixed time.
func Status(state a2a.State, message *a2a.Message) a2a.Event {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: state, Message: message, Time: at}}}
}

// Chunk returns an event that adds a text to an artifact.
func Chunk(id, text string) a2a.Event {
	return a2a.Event{Artifact: &a2a.ArtifactUpdate{
		Artifact: a2a.Artifact{ID: id, Parts: []a2a.Part{a2a.TextPart(text)}}, Append: true,
	}}
}

// Begin returns the events that a log starts with.
func Begin() []a2a.Event {
	return []a2a.Event{{Message: Message("m1", "hi")}, Status(a2a.StateSubmitted, nil)}
}

func create(t *testing.T, s store.Store, k store.Key) store.Log {
	t.Helper()
	log, err := s.Create(t.Context(), store.NewTask{Key: k, Origin: origin, Events: Begin()})
	if err != nil {
		t.Fatalf("Create() error = %v", err)
	}
	return log
}

func add(t *testing.T, log store.Log, after uint64, events ...a2a.Event) {
	t.Helper()
	seq, err := log.Append(t.Context(), store.Append{After: after, Events: events})
	if want := after + uint64(len(events)); err != nil || seq != want {
		t.Fatalf("Append() = %d, %v, want %d", seq, err, want)
	}
}

func task(t *testing.T, log store.Log) *a2a.Record {
	t.Helper()
	record, err := log.Snapshot(t.Context())
	if err != nil {
		t.Fatalf("Snapshot() error = %v", err)
	}
	return record
}

var ignoreTime = cmpopts.IgnoreFields(a2a.Status{}, "Time")

// tell returns a watcher that fills a channel of capacity 1.
func tell(wake chan<- struct{}) func() {
	return func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}
