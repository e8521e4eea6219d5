// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// verbose is an agent that completes each turn with 10 KB of text.
type verbose struct{}

func (verbose) Run(_ context.Context, _ *backend.Turn, emit backend.Emit) error {
	text := strings.Repeat("x", 10_000)
	return emit([]a2a.Event{{Artifact: &a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{{Text: text}}}}}})
}

// fill sends as many messages as make the store evict every task that it may evict.
func fill(t *testing.T, e *Engine) {
	t.Helper()
	for i := range 200 {
		if _, err := e.Send(t.Context(), &a2a.SendRequest{Message: &a2a.Message{ID: "filler-" + strconv.Itoa(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	e.recent.forgetAll()
}

// The goroutine of the client does not run between the decision of its turn and the eviction of older
// tasks.
func TestFullStoreKeepsATaskUntilItsClientIsAnswered(t *testing.T) {
	tasks := memory.New(memory.Options{MaxBytes: 1 << 20})
	e, err := New(Options{Store: tasks, Backend: verbose{}})
	if err != nil {
		t.Fatal(err)
	}
	tn, err := e.decide(t.Context(), &a2a.SendRequest{Message: &a2a.Message{ID: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	<-tn.stopped
	fill(t, e)

	if _, err := snapshot(t.Context(), tn.log, tn.taskID, nil); err != nil {
		t.Errorf("task of a waiting client: %v", err)
	}
	stream := e.follow(tn.log, tn.first, tn.first.Seq, (*a2a.StatusUpdate).Final, nil)
	tn.clients.remove()
	fill(t, e)
	var last a2a.Event
	for {
		records, err := stream.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("Next() error = %v", err)
		}
		last = records[len(records)-1].Event
	}
	if last.Status == nil || last.Status.Status.State != a2a.StateCompleted {
		t.Errorf("the stream ends with %+v, want the state completed", last)
	}
	stream.Close()

	fill(t, e)
	if _, err := tasks.Open(t.Context(), store.Key{TaskID: tn.taskID}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("task of an answered client: error = %v, want ErrNotFound", err)
	}
	if err := e.Drain(t.Context()); err != nil {
		t.Errorf("Drain() error = %v", err)
	}
}

// gated is an agent that completes the turn of the message m after gate is closed.
type gated struct{ gate chan struct{} }

func (g gated) Run(ctx context.Context, turn *backend.Turn, emit backend.Emit) error {
	if turn.Message.ID == "m" {
		if err := emit([]a2a.Event{{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}}}}); err != nil {
			return err
		}
		<-g.gate
	}
	return verbose{}.Run(ctx, turn, emit)
}

// The client of the first copy of the message has disconnected when the client sends it again.
func TestFullStoreKeepsATaskUntilTheClientOfARepeatedMessageIsAnswered(t *testing.T) {
	g := gated{make(chan struct{})}
	e, err := New(Options{Store: memory.New(memory.Options{MaxBytes: 1 << 20}), Backend: g})
	if err != nil {
		t.Fatal(err)
	}
	r := &a2a.SendRequest{Message: &a2a.Message{ID: "m"}}
	first, err := e.decide(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	first.clients.remove()
	second, err := e.decide(t.Context(), r)
	if err != nil || second != first {
		t.Fatalf("the repeated message does not join the turn: %v", err)
	}
	close(g.gate)
	<-second.stopped
	fill(t, e)
	if _, err := snapshot(t.Context(), second.log, second.taskID, nil); err != nil {
		t.Errorf("task of a waiting client: %v", err)
	}
	second.clients.remove()
	if err := e.Drain(t.Context()); err != nil {
		t.Errorf("Drain() error = %v", err)
	}
}
