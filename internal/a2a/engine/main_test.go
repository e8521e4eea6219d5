// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an engine whose agent the test plays.
type bench struct {
	*engine.Engine
	t     *testing.T
	calls chan *call
	// canceled are the notes of the tasks that were canceled at rest.
	canceled []string
}

// call is a turn as the agent sees it.
type call struct {
	*backend.Turn
	t     *testing.T
	ctx   context.Context //nolint:containedctx // it is what the test asks about
	emit  backend.Emit
	steps chan func()
	end   chan error
}

// play runs a test in a bubble of time.
func play(t *testing.T, options engine.Options, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, calls: make(chan *call, 100)}
		if options.Store == nil {
			options.Store = memory.New(memory.Options{})
		}
		options.Backend = b
		e, err := engine.New(options)
		if err != nil {
			t.Fatal(err)
		}
		b.Engine = e
		test(t, b)
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errEndOfTest)
		_ = b.Drain(ended)
	})
}

// atMost bounds the turns that run.
func atMost(n int) func() engine.TurnLimits {
	return func() engine.TurnLimits { return engine.TurnLimits{Max: n, MaxPerPrincipal: n} }
}

var errEndOfTest = errors.New("end of test")

// Run implements backend.Backend.
func (b *bench) Run(ctx context.Context, turn *backend.Turn, emit backend.Emit) error {
	c := &call{Turn: turn, t: b.t, ctx: ctx, emit: emit, steps: make(chan func()), end: make(chan error)}
	b.calls <- c
	for {
		select {
		case step := <-c.steps:
			step()
		case err := <-c.end:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Canceled implements backend.Canceler.
func (b *bench) Canceled(_ context.Context, t *a2a.Task) { b.canceled = append(b.canceled, t.Note) }

// call returns the next turn that the agent is asked to do.
func (b *bench) call() *call {
	b.t.Helper()
	synctest.Wait()
	select {
	case c := <-b.calls:
		return c
	default:
		b.t.Fatal("the agent was not called")
		return nil
	}
}

func (b *bench) noCall() {
	b.t.Helper()
	synctest.Wait()
	select {
	case c := <-b.calls:
		b.t.Fatalf("the agent was called with %q", text(c.Message.Parts))
	default:
	}
}

// says emits from the goroutine of the run, as a backend does.
func (c *call) says(events ...a2a.Event) error {
	result := make(chan error, 1)
	select {
	case c.steps <- func() { result <- c.emit(events) }:
		return <-result
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// must is says for events that are wanted.
func (c *call) must(events ...a2a.Event) {
	c.t.Helper()
	if err := c.says(events...); err != nil {
		c.t.Fatalf("emit() error = %v", err)
	}
}

// ends returns from the run.
func (c *call) ends(err error) {
	select {
	case c.end <- err:
	case <-c.ctx.Done():
	}
	synctest.Wait()
}

// finishes emits what ends the task and returns.
func (c *call) finishes(events ...a2a.Event) {
	c.t.Helper()
	if err := c.says(events...); !errors.Is(err, backend.ErrTurnEnded) {
		c.t.Fatalf("emit() error = %v, want ErrEnded", err)
	}
	c.ends(backend.ErrTurnEnded)
}

func say(id, text string) *a2a.SendRequest {
	return &a2a.SendRequest{
		Owner:   "owner",
		Message: &a2a.Message{ID: id, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)}},
	}
}

// to addresses a message to a task.
func to(r *a2a.SendRequest, task string) *a2a.SendRequest {
	r.Message.TaskID = task
	return r
}

// sent is a Send that goes on beside the test.
type sent struct {
	event a2a.Event
	err   error
	done  chan struct{}
}

func (b *bench) send(r *a2a.SendRequest) *sent {
	s := &sent{done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.event, s.err = b.Send(b.t.Context(), r)
	}()
	synctest.Wait()
	return s
}

func (s *sent) pending() bool {
	synctest.Wait()
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// result is the answer in one word.
func (s *sent) result() string {
	if s.pending() {
		return "pending"
	}
	if s.err != nil {
		return reason(s.err)
	}
	return short(&s.event)
}

func reason(err error) string {
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		return string(problem.Reason)
	}
	return err.Error()
}

// stream opens a stream in the background, since it opens with the first event.
func (b *bench) stream(r *a2a.SendRequest) *reader {
	return b.read(func(ctx context.Context) (a2a.Stream, error) { return b.Stream(ctx, r) })
}

func (b *bench) subscribe(task string, after *uint64) *reader {
	return b.read(func(ctx context.Context) (a2a.Stream, error) {
		return b.Subscribe(ctx, &a2a.SubscribeRequest{Owner: "owner", TaskID: task, After: after})
	})
}

// reader follows a stream beside the test.
type reader struct {
	mu     sync.Mutex
	got    []string
	seq    []uint64
	end    error
	cancel context.CancelFunc
	done   chan struct{}
}

func (b *bench) read(open func(context.Context) (a2a.Stream, error)) *reader {
	ctx, cancel := context.WithCancel(b.t.Context())
	r := &reader{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer cancel()
		var s a2a.Stream
		if s, r.end = open(ctx); r.end != nil {
			return
		}
		defer s.Close()
		for r.end == nil {
			var records []*a2a.Record
			records, r.end = s.Next(ctx)
			r.mu.Lock()
			for _, record := range records {
				r.got = append(r.got, short(&record.Event))
				r.seq = append(r.seq, record.Seq)
			}
			r.mu.Unlock()
		}
	}()
	synctest.Wait()
	return r
}

// want compares what was read so far, with the end of the stream in the last
// word, if it has ended.
func (r *reader) want(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	select {
	case <-r.done:
		end := "EOF"
		if !errors.Is(r.end, io.EOF) {
			end = reason(r.end)
		}
		got = append(slices.Clip(got), end)
	default:
	}
	if s := strings.Join(got, " "); s != want {
		t.Errorf("stream = %q\n    want %q", s, want)
	}
}

func (b *bench) task(id string) *a2a.Task {
	b.t.Helper()
	task, err := b.Get(b.t.Context(), &a2a.GetRequest{Owner: "owner", TaskID: id})
	if err != nil {
		b.t.Fatalf("Get() error = %v", err)
	}
	return task
}

func (b *bench) cancel(id string) (*a2a.Task, error) {
	return b.Cancel(b.t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: id})
}

func (b *bench) wantState(id string, want a2a.State) {
	b.t.Helper()
	synctest.Wait()
	if got := b.task(id).Status.State; got != want {
		b.t.Errorf("task is %s, want %s", got, want)
	}
}

// Events of agents.

func status(state a2a.State, words ...string) a2a.Event {
	u := &a2a.StatusUpdate{Status: a2a.Status{State: state}}
	if len(words) > 0 {
		u.Status.Message = said(words)
	}
	return a2a.Event{Status: u}
}

func paused(state a2a.State, words ...string) a2a.Event {
	e := status(state, words...)
	e.Status.Paused = true
	return e
}

func message(words ...string) a2a.Event { return a2a.Event{Message: said(words)} }

func said(words []string) *a2a.Message {
	return &a2a.Message{Parts: []a2a.Part{a2a.TextPart(strings.Join(words, " "))}}
}

func chunk(text string) a2a.Event {
	return a2a.Event{Artifact: &a2a.ArtifactUpdate{
		Artifact: a2a.Artifact{Parts: []a2a.Part{a2a.TextPart(text)}}, Append: true, JoinText: true,
	}}
}

// short is an event in one word.
func short(e *a2a.Event) string {
	switch {
	case e.Task != nil:
		return "task:" + e.Task.Status.State.String()
	case e.Message != nil:
		return "message:" + text(e.Message.Parts)
	case e.Status != nil:
		s := "status:" + e.Status.Status.State.String()
		if e.Status.Status.Message != nil {
			s += "(" + text(e.Status.Status.Message.Parts) + ")"
		}
		if e.Status.Paused {
			s += "/paused"
		}
		return s
	default:
		u := e.Artifact
		s := "artifact:" + u.Artifact.ID
		if u.Append {
			s += "+"
		} else {
			s += "="
		}
		if s += text(u.Artifact.Parts); u.LastChunk {
			s += "/last"
		}
		return s
	}
}

// text joins the text of parts.
func text(parts []a2a.Part) string {
	s := ""
	for i := range parts {
		s += parts[i].Text + string(parts[i].Data)
	}
	return s
}
