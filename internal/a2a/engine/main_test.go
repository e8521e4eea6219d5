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
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is an engine. The test acts as its agent.
type fixture struct {
	*engine.Engine
	t     *testing.T
	calls chan *call
	// canceled are the notes of the tasks that were canceled while they had no run.
	canceled []string
}

// call is a turn that the agent has received.
type call struct {
	*backend.Turn
	t     *testing.T
	ctx   context.Context //nolint:containedctx // the test checks the context
	emit  backend.Emit
	steps chan func()
	end   chan error
}

// withEngine runs a test with a fake clock.
func withEngine(t *testing.T, options engine.Options, test func(t *testing.T, b *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &fixture{t: t, calls: make(chan *call, 100)}
		if options.Store == nil {
			options.Store = memory.New(memory.Options{})
		}
		options.Backend = b
		options.Moved = checkMove(t)
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

// checkMove returns a function for engine.Options.Moved. It fails the test if the table of transitions
// does not have a move.
func checkMove(t *testing.T) func(store.Key, engine.Transition) {
	return func(k store.Key, m engine.Transition) {
		if m.To == "" {
			t.Errorf("task %s: the table of transitions does not have the event %q in the phase %q", k.TaskID, m.Event, m.From)
		}
	}
}

// limitTurns returns limits of n running turns, without a queue.
func limitTurns(n int) func() engine.TurnLimits {
	return func() engine.TurnLimits { return engine.TurnLimits{Max: n, MaxPerCaller: n} }
}

var errEndOfTest = errors.New("end of test")

// Run implements backend.Backend.
func (b *fixture) Run(ctx context.Context, turn *backend.Turn, emit backend.Emit) error {
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
func (b *fixture) Canceled(_ context.Context, t *a2a.Task) { b.canceled = append(b.canceled, t.Note) }

// nextCall returns the next turn that the engine passes to the agent.
func (b *fixture) nextCall() *call {
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

func (b *fixture) wantNoCall() {
	b.t.Helper()
	synctest.Wait()
	select {
	case c := <-b.calls:
		b.t.Fatalf("the agent was called with %q", text(c.Message.Parts))
	default:
	}
}

// emitEvents emits from the goroutine of the run, as a backend does.
func (c *call) emitEvents(events ...a2a.Event) error {
	result := make(chan error, 1)
	select {
	case c.steps <- func() { result <- c.emit(events) }:
		return <-result
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// mustEmit emits events that the engine must accept.
func (c *call) mustEmit(events ...a2a.Event) {
	c.t.Helper()
	if err := c.emitEvents(events...); err != nil {
		c.t.Fatalf("emit() error = %v", err)
	}
}

// endRun returns from the run.
func (c *call) endRun(err error) {
	select {
	case c.end <- err:
	case <-c.ctx.Done():
	}
	synctest.Wait()
}

// finishTask emits events that end the task, and returns from the run.
func (c *call) finishTask(events ...a2a.Event) {
	c.t.Helper()
	if err := c.emitEvents(events...); !errors.Is(err, backend.ErrTurnEnded) {
		c.t.Fatalf("emit() error = %v, want ErrTurnEnded", err)
	}
	c.endRun(backend.ErrTurnEnded)
}

func newRequest(id, text string) *a2a.SendRequest {
	return &a2a.SendRequest{
		Owner:   "owner",
		Message: &a2a.Message{ID: id, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)}},
	}
}

// withTask addresses a message to a task.
func withTask(r *a2a.SendRequest, task string) *a2a.SendRequest {
	r.Message.TaskID = task
	return r
}

// pendingSend is a Send in the background.
type pendingSend struct {
	event a2a.Event
	err   error
	done  chan struct{}
}

func (b *fixture) send(r *a2a.SendRequest) *pendingSend {
	s := &pendingSend{done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.event, s.err = b.Send(b.t.Context(), r)
	}()
	synctest.Wait()
	return s
}

func (s *pendingSend) pending() bool {
	synctest.Wait()
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// result returns a summary of the answer.
func (s *pendingSend) result() string {
	if s.pending() {
		return "pending"
	}
	if s.err != nil {
		return reasonOf(s.err)
	}
	return summary(&s.event)
}

// want compares result with a summary.
func (s *pendingSend) want(t *testing.T, want string) {
	t.Helper()
	if got := s.result(); got != want {
		t.Errorf("Send() = %s, want %s", got, want)
	}
}

func reasonOf(err error) string {
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		return string(problem.Reason)
	}
	return err.Error()
}

// stream opens a stream in the background, because the call returns only with the
// first event.
func (b *fixture) stream(r *a2a.SendRequest) *streamReader {
	return b.read(func(ctx context.Context) (a2a.Stream, error) { return b.Stream(ctx, r) })
}

func (b *fixture) subscribe(task string, after *uint64) *streamReader {
	return b.read(func(ctx context.Context) (a2a.Stream, error) {
		return b.Subscribe(ctx, &a2a.SubscribeRequest{Owner: "owner", TaskID: task, After: after})
	})
}

// streamReader reads a stream in the background.
type streamReader struct {
	mu     sync.Mutex
	got    []string
	seq    []uint64
	end    error
	cancel context.CancelFunc
	done   chan struct{}
}

func (b *fixture) read(open func(context.Context) (a2a.Stream, error)) *streamReader {
	ctx, cancel := context.WithCancel(b.t.Context())
	r := &streamReader{cancel: cancel, done: make(chan struct{})}
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
				r.got = append(r.got, summary(&record.Event))
				r.seq = append(r.seq, record.Seq)
			}
			r.mu.Unlock()
		}
	}()
	synctest.Wait()
	return r
}

// want compares the events that were read so far. If the stream has ended, the last word of
// want is EOF, or the error of the stream.
func (r *streamReader) want(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	select {
	case <-r.done:
		end := "EOF"
		if !errors.Is(r.end, io.EOF) {
			end = reasonOf(r.end)
		}
		got = append(slices.Clip(got), end)
	default:
	}
	if s := strings.Join(got, " "); s != want {
		t.Errorf("stream = %q\n    want %q", s, want)
	}
}

func (b *fixture) task(id string) *a2a.Task {
	b.t.Helper()
	task, err := b.Get(b.t.Context(), &a2a.GetRequest{Owner: "owner", TaskID: id})
	if err != nil {
		b.t.Fatalf("Get() error = %v", err)
	}
	return task
}

func (b *fixture) cancel(id string) (*a2a.Task, error) {
	return b.Cancel(b.t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: id})
}

func (b *fixture) wantState(id string, want a2a.State) {
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
		u.Status.Message = agentMessage(words)
	}
	return a2a.Event{Status: u}
}

func paused(state a2a.State, words ...string) a2a.Event {
	e := status(state, words...)
	e.Status.Paused = true
	return e
}

func message(words ...string) a2a.Event { return a2a.Event{Message: agentMessage(words)} }

func agentMessage(words []string) *a2a.Message {
	return &a2a.Message{Parts: []a2a.Part{a2a.TextPart(strings.Join(words, " "))}}
}

func chunk(text string) a2a.Event {
	return a2a.Event{Artifact: &a2a.ArtifactUpdate{
		Artifact: a2a.Artifact{Parts: []a2a.Part{a2a.TextPart(text)}}, Append: true, JoinText: true,
	}}
}

// summary returns an event as one word.
func summary(e *a2a.Event) string {
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
