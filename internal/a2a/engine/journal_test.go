// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// turnFunc is a Backend.
type turnFunc func(ctx context.Context, t *backend.Turn, emit backend.Emit) error

func (f turnFunc) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	return f(ctx, t, emit)
}

// entriesOf returns the entries of a journal as one text.
func entriesOf(t *testing.T, turn *backend.Turn) string {
	entries, err := turn.Journal.Entries(context.Background(), func(int64) error { return nil })
	if err != nil {
		t.Errorf("Entries() error = %v", err)
	}
	return string(slices.Concat(entries...))
}

// TestJournalOverTurns writes a journal before any event, and reads it in the next turn. No client gets an entry.
func TestJournalOverTurns(t *testing.T) {
	for name, options := range map[string]engine.Options{
		"one process": {Store: memory.New(memory.Options{})},
		"replicas":    {Member: storetest.NewMemory(memory.Options{}).Join("a")},
	} {
		t.Run(name, func(t *testing.T) {
			var read []string
			options.Backend = turnFunc(func(ctx context.Context, turn *backend.Turn, emit backend.Emit) error {
				read = append(read, entriesOf(t, turn))
				for _, entry := range []string{"secret-", "step-"} {
					if err := turn.Journal.Append(ctx, []byte(entry)); err != nil {
						return err
					}
				}
				if turn.Number == 1 {
					return emit([]a2a.Event{status(a2a.StateInputRequired)})
				}
				return emit([]a2a.Event{status(a2a.StateCompleted)})
			})
			e, err := engine.New(options)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = e.Drain(context.Background()) }()
			if options.Member != nil {
				e.Start()
			}
			first := &a2a.SendRequest{Owner: "o", Message: &a2a.Message{ID: "1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("go")}}}
			event, err := e.Send(t.Context(), first)
			if err != nil || event.Task.Status.State != a2a.StateInputRequired {
				t.Fatalf("Send() = %v, %v", event, err)
			}
			next := &a2a.SendRequest{Owner: "o", Message: &a2a.Message{ID: "2", TaskID: event.Task.ID, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("on")}}}
			event, err = e.Send(t.Context(), next)
			if err != nil || event.Task.Status.State != a2a.StateCompleted {
				t.Fatalf("Send() = %v, %v", event, err)
			}
			if diff := cmp.Diff([]string{"", "secret-step-"}, read); diff != "" {
				t.Errorf("Entries() (-want +got):\n%s", diff)
			}
			for _, m := range event.Task.History {
				if strings.Contains(m.Parts[0].Text, "secret") {
					t.Errorf("a client gets %q", m.Parts[0].Text)
				}
			}
		})
	}
}

// TestJournalAfterCancel writes to the journal of a task that its client has canceled.
func TestJournalAfterCancel(t *testing.T) {
	appended := make(chan error, 1)
	began := make(chan struct{})
	e, err := engine.New(engine.Options{Store: memory.New(memory.Options{}), Backend: turnFunc(func(ctx context.Context, turn *backend.Turn, emit backend.Emit) error {
		if err := emit([]a2a.Event{status(a2a.StateWorking)}); err != nil {
			return err
		}
		close(began)
		<-ctx.Done()
		appended <- turn.Journal.Append(ctx, []byte("late"))
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Drain(context.Background()) }()
	s, err := e.Stream(t.Context(), &a2a.SendRequest{Owner: "o", Message: &a2a.Message{ID: "1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("go")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	<-began
	records, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Cancel(t.Context(), &a2a.CancelRequest{Owner: "o", TaskID: records[0].Task.ID}); err != nil {
		t.Fatal(err)
	}
	if err := <-appended; !errors.Is(err, backend.ErrTurnEnded) {
		t.Errorf("Append() error = %v, want ErrTurnEnded", err)
	}
}

// unfinished is a Backend whose turns leave a step without a known outcome.
type unfinished struct{ turnFunc }

func (unfinished) Unfinished(_ context.Context, _ string, journal func() ([][]byte, error)) string {
	entries, err := journal()
	return "Unfinished: " + string(slices.Concat(entries...)) + errorText(err)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestFailedTaskNamesUnfinishedSteps fails tasks whose journals have a step: by the error of the turn, by a shutdown, and by crashes.
func TestFailedTaskNamesUnfinishedSteps(t *testing.T) {
	const step = "pay"
	send := &a2a.SendRequest{Owner: "o", Message: &a2a.Message{ID: "1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("go")}}, ReturnImmediately: true}
	pay := func(ctx context.Context, turn *backend.Turn) {
		if err := turn.Journal.Append(ctx, []byte(step)); err != nil {
			t.Errorf("Append() error = %v", err)
		}
	}
	check := func(t *testing.T, e *engine.Engine, id, reason string) {
		t.Helper()
		s, err := e.Subscribe(t.Context(), &a2a.SubscribeRequest{Owner: "o", TaskID: id, After: new(uint64)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for {
			records, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				if r.Status == nil || !r.Status.Status.State.Terminal() {
					continue
				}
				if got := text(r.Status.Status.Message.Parts); got != reason+". Unfinished: pay" {
					t.Errorf("the task says %q, want the reason %q and the step", got, reason)
				}
				return
			}
		}
	}
	for name, end := range map[string]struct {
		err    error
		drains bool
		reason string
	}{
		"error":    {err: backend.Failed("The turn is over", nil), reason: "The turn is over"},
		"shutdown": {drains: true, reason: "The agent was shut down before it finished"},
	} {
		t.Run(name, func(t *testing.T) {
			began := make(chan struct{})
			e, err := engine.New(engine.Options{Store: memory.New(memory.Options{}), Backend: unfinished{func(ctx context.Context, turn *backend.Turn, _ backend.Emit) error {
				pay(ctx, turn)
				close(began)
				if end.drains {
					<-ctx.Done()
				}
				return end.err
			}}})
			if err != nil {
				t.Fatal(err)
			}
			event, err := e.Send(t.Context(), send)
			if err != nil {
				t.Fatal(err)
			}
			<-began
			if end.drains {
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				_ = e.Drain(ended)
			}
			check(t, e, event.Task.ID, end.reason)
			_ = e.Drain(context.Background())
		})
	}
}
