// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// stepping is a replica whose agent emits events when the test sends them to steps. The turn of the
// message big fills the cache of the store.
type stepping struct {
	*redisReplica
	steps chan []a2a.Event
}

// Run implements backend.Backend.
func (r *stepping) Run(ctx context.Context, turn *backend.Turn, emit backend.Emit) error {
	if turn.Message.ID == "big" {
		return emit([]a2a.Event{{Artifact: &a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{{Text: strings.Repeat("x", 200_000)}}}}}})
	}
	if err := emit([]a2a.Event{status(a2a.StateWorking)}); err != nil {
		return err
	}
	r.turns <- turn
	for {
		select {
		case events := <-r.steps:
			if err := emit(events); err != nil {
				return err
			}
			r.steps <- nil
		case <-ctx.Done():
			r.causes <- context.Cause(ctx)
			return context.Cause(ctx)
		}
	}
}

// The cache of a has dropped the log of the task, and has read it again for a client.
func TestCancelAtAnotherReplicaWithASmallCache(t *testing.T) {
	server := redistest.Start(t)
	b := startRedisReplica(t, server, "b")
	s, err := redis.Open(redis.Options{Server: redis.Server{Addresses: []string{server.Address()}}, Prefix: "a2a:{test/agent}:", CacheBytes: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	a := &stepping{&redisReplica{member: &faultyMember{Member: s.Join("a")}, turns: make(chan *backend.Turn, 10), causes: make(chan error, 10)}, make(chan []a2a.Event)}
	a.Engine, err = engine.New(engine.Options{Member: a.member, Backend: a, Lease: 2 * time.Second, Retry: retry})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.member.Renew(t.Context(), 2*time.Second); err != nil {
		t.Fatal(err)
	}
	a.Start()
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = a.Drain(ended)
		_ = s.Close()
	})
	if _, err := a.Send(t.Context(), returnImmediately(newRequest("m1", "one"))); err != nil {
		t.Fatal(err)
	}
	task := a.nextTurn(t, "m1", 1).TaskID
	if _, err := a.Send(t.Context(), newRequest("big", "two")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Get(t.Context(), &a2a.GetRequest{Owner: "owner", TaskID: task}); err != nil {
		t.Fatal(err)
	}
	a.steps <- []a2a.Event{{Artifact: &a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{{Text: "x"}}}}}}
	<-a.steps
	if canceled, err := b.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: task}); err != nil || canceled.Status.State != a2a.StateCanceled {
		t.Fatalf("Cancel() = %v, %v", canceled, err)
	}
	select {
	case cause := <-a.causes:
		if !errors.Is(cause, backend.ErrCanceled) {
			t.Errorf("the context of the run ended with %v, want ErrCanceled", cause)
		}
	case <-time.After(30 * time.Second):
		t.Error("the run continues after the cancel")
	}
}
