// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

// advanceCalls takes the calls of the last answer as far as they go without the client: it runs those that need no approval or have it,
// and then asks for the approval of the others. isPaused is true if the task waits for the client.
func (l *loop) advanceCalls(ctx context.Context) (isPaused bool, err error) {
	var runnable, asks []*call
	for _, c := range l.transcript.calls {
		if c.state == callEnded || c.state == callPaused {
			continue
		}
		tool, problem := l.check(c)
		switch {
		case problem != nil:
			problem.Call = c.ID
			if err := l.end(ctx, c, problem, 0); err != nil {
				return false, err
			}
		case c.state == callAsked, c.state == callProposed && tool.NeedsApproval:
			asks = append(asks, c)
		default:
			runnable = append(runnable, c)
		}
	}
	if len(runnable) > 0 {
		return false, l.runCalls(ctx, runnable)
	}
	if paused := l.transcript.in(callPaused); len(paused) > 0 {
		return true, l.output.pause(paused[0], l.tools[paused[0].Name])
	}
	if len(asks) > 0 {
		return true, l.ask(ctx, asks)
	}
	return false, nil
}

const textUnknown = "The outcome of this call is not known: the agent was interrupted while the call ran. It may have happened. It was not repeated. Find out before you call the tool again."

// check returns the tool of a call, or the result of a call that cannot run.
func (l *loop) check(c *call) (*Tool, *resultEntry) {
	tool := l.tools[c.Name]
	switch {
	case c.state == callStarted && !l.mayRepeat(c, tool):
		return nil, &resultEntry{Outcome: outcomeUnknown, Text: textUnknown}
	case tool == nil:
		return nil, &resultEntry{Outcome: outcomeFailed, Text: fmt.Sprintf("There is no tool %q", c.Name)}
	case !isObject(c.Arguments):
		return tool, &resultEntry{Outcome: outcomeFailed, Text: "The arguments are not a JSON object, or are nested too deeply: " + backend.Excerpt([]byte(c.Arguments))}
	case c.state == callApproved && c.digest != tool.digest():
		return tool, &resultEntry{Outcome: outcomeFailed, Text: "The tool has changed since the call was approved. The call did not run. Call the tool again to ask for a new approval."}
	default:
		return tool, nil
	}
}

// mayRepeat reports whether a call that an earlier attempt began may run again. tool may be nil.
func (l *loop) mayRepeat(c *call, tool *Tool) bool {
	switch {
	case tool == nil || !tool.IsRepeatable:
		return false
	case tool.RepeatableFor == 0:
		return true
	default:
		// Before the last attempt, nobody knows when the attempt that began the call ended.
		return l.turn.Attempt <= c.attempt+1 && l.options.Now().Sub(l.turn.Interrupted) <= tool.RepeatableFor
	}
}

// metadataLevels is the nesting of the arguments in the metadata of a request for approval.
const metadataLevels = "{{[{"

// isObject reports whether a text is a JSON object that everyone reads in the same way: people approve it, tools run with it, and each
// list of tasks has it. An empty text counts as one, because some models send it for a tool without parameters.
func isObject(text string) bool {
	trimmed := bytes.TrimSpace([]byte(text))
	if len(trimmed) == 0 {
		return true
	}
	r := jsonread.New(trimmed)
	r.Object()
	return r.End() == nil && jsonread.Unreadable(append([]byte(metadataLevels), trimmed...)) == ""
}

// arguments returns the arguments of a call as a JSON object.
func (c *callEntry) arguments() json.RawMessage {
	if text := bytes.TrimSpace([]byte(c.Arguments)); len(text) > 0 {
		return text
	}
	return json.RawMessage("{}")
}

// runCalls runs calls, and records each result when it comes.
func (l *loop) runCalls(ctx context.Context, calls []*call) error {
	var started []string
	for _, c := range calls {
		if c.state != callStarted {
			started = append(started, c.ID)
		}
	}
	if len(started) > 0 {
		if err := l.record(ctx, entry{Started: started}); err != nil {
			return err
		}
	}
	return l.during(ctx, func(ctx context.Context, do doer) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(l.options.Limits.Parallel)
		for _, c := range calls {
			group.Go(func() error { return l.runCall(ctx, c, do) })
		}
		return group.Wait()
	})
}

func (l *loop) runCall(ctx context.Context, c *call, do doer) error {
	tool := l.tools[c.Name]
	began := l.options.Now()
	if err := do(func() error { return l.output.step(c, tool, "", 0) }); err != nil {
		return err
	}
	result, err := l.callTool(ctx, c, tool, func(text string) {
		_ = do(func() error { return l.output.progress(c, tool, text) })
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	took := l.options.Now().Sub(began)
	return do(func() error {
		switch {
		case err != nil:
			l.options.Log.WarnContext(ctx, "a call of a tool failed", "task", l.turn.TaskID, "tool", c.Name, "error", err)
			return l.end(ctx, c, &resultEntry{Call: c.ID, Outcome: outcomeUnknown, Text: "The outcome of this call is not known: " + backend.Excerpt([]byte(err.Error()))}, took)
		case result.Pause != nil:
			return l.recordPause(ctx, c, result.Pause)
		}
		if err := l.output.files(c, result.Files); err != nil {
			return err
		}
		done := &resultEntry{Call: c.ID, Outcome: outcomeDone, Text: l.bounded(result.Text)}
		if result.IsError {
			done.Outcome = outcomeFailed
		}
		return l.end(ctx, c, done, took)
	})
}

// callTool runs a call in a span.
func (l *loop) callTool(ctx context.Context, c *call, tool *Tool, progress func(string)) (result *Result, err error) {
	defer func() {
		// The call has a goroutine of its own, and a server chooses the result.
		if reason := recover(); reason != nil {
			l.options.Log.ErrorContext(ctx, "call of a tool panicked", "task", l.turn.TaskID, "tool", c.Name, "reason", reason, "stack", string(debug.Stack()))
			err = errors.New("the sidecar cannot handle the result")
		}
	}()
	ctx, span := l.options.Tracer.StartTool(ctx, l.turn.Trace, c.Name, c.ID, l.turn.TaskID)
	turn := *l.turn
	turn.Trace = span.Of(turn.Trace)
	run := &Call{Turn: &turn, ID: c.ID, Tool: tool, Arguments: c.arguments()}
	if c.paused != nil {
		run.Resume = c.paused.Resume
		run.Answer = l.turn.Message
	}
	result, err = tool.Toolset.Call(ctx, run, progress)
	switch {
	case ctx.Err() != nil:
		span.End("canceled")
	case err != nil:
		span.End(string(outcomeUnknown))
	case result.IsError:
		span.End(string(outcomeFailed))
	default:
		span.End("")
	}
	return result, err // not wrapped: the caller determines the outcome from the error
}

func (l *loop) recordPause(ctx context.Context, c *call, p *Pause) error {
	text, err := plainjson.Marshal(p.Message) // the names of the fields are the format
	if err != nil {
		return backend.Failed("The question of a tool cannot be stored", err)
	}
	return l.record(ctx, entry{Paused: &pausedEntry{Call: c.ID, State: p.State, Message: text, Resume: p.Resume}})
}

// end records the result of a call, and tells the client.
func (l *loop) end(ctx context.Context, c *call, result *resultEntry, took time.Duration) error {
	if err := l.record(ctx, entry{Result: result}); err != nil {
		return err
	}
	if result.Outcome == outcomeUnknown {
		l.options.Log.WarnContext(ctx, "the outcome of a call is not known", "task", l.turn.TaskID, "owner", string(l.turn.Owner), "call", c.ID, "tool", c.Name,
			"arguments_digest", digestOf(c.arguments()))
	}
	return l.output.step(c, l.tools[c.Name], result.Outcome, took)
}

// bounded returns the part of a result that the model gets.
func (l *loop) bounded(text string) string {
	limit := l.options.Limits.ResultBytes
	if len(text) <= limit {
		return text
	}
	return string(bytes.ToValidUTF8([]byte(text[:limit]), nil)) + fmt.Sprintf("\n(The result has %d bytes more, which were left out.)", len(text)-limit)
}

// doer runs a function on the goroutine of Run, which alone may emit events and write the journal, and returns its error.
type doer func(func() error) error

// during runs work on another goroutine until it returns. Meanwhile it runs the functions that work passes to its doer. After
// Limits.Silence without one, it emits a status, so that no client takes the turn for dead.
func (l *loop) during(ctx context.Context, work func(ctx context.Context, do doer) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	functions := make(chan func())
	done := make(chan error, 1)
	go func() {
		done <- work(ctx, func(f func() error) error {
			result := make(chan error, 1)
			select {
			case functions <- func() { result <- f() }:
				return <-result
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	silence := time.NewTimer(l.options.Limits.Silence)
	defer silence.Stop()
	for {
		select {
		case f := <-functions:
			f()
		case <-silence.C:
			if err := l.output.working(); err != nil {
				cancel(err)
				return errors.Join(err, <-done)
			}
		case err := <-done:
			return err
		}
		silence.Reset(l.options.Limits.Silence)
	}
}
