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

// redisReplica is an engine with a connection of its own to a Redis, in real time.
type redisReplica struct {
	*engine.Engine
	member *faultyMember
	// turns receives each turn that the agent gets. The agent ends the turn with the next
	// state from next.
	turns chan *backend.Turn
	next  chan a2a.State
	// causes receives the cause with which the context of a turn ended.
	causes chan error
}

// Run implements backend.Backend.
func (r *redisReplica) Run(ctx context.Context, turn *backend.Turn, emit backend.Emit) error {
	if err := emit([]a2a.Event{status(a2a.StateWorking)}); err != nil {
		return err
	}
	r.turns <- turn
	select {
	case state := <-r.next:
		return emit([]a2a.Event{status(state)})
	case <-ctx.Done():
		r.causes <- context.Cause(ctx)
		return context.Cause(ctx)
	}
}

func startRedisReplica(t *testing.T, server *redistest.Server, name string) *redisReplica {
	t.Helper()
	s, err := redis.Open(redis.Options{Server: redis.Server{Addresses: []string{server.Address()}}, Prefix: "a2a:{test/agent}:"})
	if err != nil {
		t.Fatal(err)
	}
	r := &redisReplica{member: &faultyMember{Member: s.Join(name)}, turns: make(chan *backend.Turn, 10), next: make(chan a2a.State), causes: make(chan error, 10)}
	r.Engine, err = engine.New(engine.Options{Member: r.member, Backend: r, Lease: 2 * time.Second, Retry: retry})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.member.Renew(t.Context(), 2*time.Second); err != nil {
		t.Fatal(err)
	}
	r.Start()
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.Drain(ended)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *redisReplica) nextTurn(t *testing.T, message string, attempt int) *backend.Turn {
	t.Helper()
	select {
	case turn := <-r.turns:
		if turn.Message.ID != message || turn.Attempt != attempt {
			t.Fatalf("the agent received %s, attempt %d, want %s, attempt %d", turn.Message.ID, turn.Attempt, message, attempt)
		}
		return turn
	case <-time.After(30 * time.Second):
		t.Fatalf("the agent did not receive %s", message)
		return nil
	}
}

// Replica b receives a message, and replica a, which owns the task, accepts it. Replica a
// dies before the turn of the message.
func TestAcceptedMessageOutlivesTheOwnerWithRedis(t *testing.T) {
	server := redistest.Start(t)
	a, b := startRedisReplica(t, server, "a"), startRedisReplica(t, server, "b")
	if _, err := a.Send(t.Context(), returnImmediately(newRequest("m1", "one"))); err != nil {
		t.Fatal(err)
	}
	task := a.nextTurn(t, "m1", 1).TaskID
	answer, err := b.Send(t.Context(), returnImmediately(withTask(newRequest("m2", "two"), task)))
	if err != nil {
		t.Fatal(err)
	}
	wantUnprocessed(t, answer.Task, `["m2"]`)
	a.member.set(storeDown)
	b.nextTurn(t, "m1", 2)
	b.next <- a2a.StateInputRequired
	b.nextTurn(t, "m2", 1)
	watching, err := b.Subscribe(t.Context(), &a2a.SubscribeRequest{Owner: "owner", TaskID: task})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Close()
	b.next <- a2a.StateCompleted
	for err == nil {
		_, err = watching.Next(t.Context())
	}
	now, err := b.Get(t.Context(), &a2a.GetRequest{Owner: "owner", TaskID: task})
	if err != nil {
		t.Fatal(err)
	}
	if len(now.History) != 2 || now.Status.State != a2a.StateCompleted || !strings.Contains(string(now.Metadata), `"a2a.unprocessedMessages":[]`) {
		t.Errorf("the task is %s with %d messages and the metadata %s", now.Status.State, len(now.History), now.Metadata)
	}
}

// No client reads the task at its owner, so the owner does not follow the log of the task in Redis.
func TestCancelAtAnotherReplicaCancelsARunWithoutClientsWithRedis(t *testing.T) {
	server := redistest.Start(t)
	a, b := startRedisReplica(t, server, "a"), startRedisReplica(t, server, "b")
	if _, err := a.Send(t.Context(), returnImmediately(newRequest("m1", "one"))); err != nil {
		t.Fatal(err)
	}
	task := a.nextTurn(t, "m1", 1).TaskID
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
