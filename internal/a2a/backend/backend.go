// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backend is what runs a turn: the seam between the engine and the
// agent's container. Each protocol that a container may speak is a package
// below this one.
//
// A backend turns one message into events and keeps nothing between turns. It
// knows no client, no transport of A2A and no store, and it does not decide what
// becomes of a task: it emits what the agent said, and the engine judges.
package backend

import (
	"context"
	"errors"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Backend runs turns.
type Backend interface {
	// Run runs one turn. It calls emit from this goroutine, and from no other,
	// with what the agent says as it says it, and returns
	//
	//   - nil when the agent has said all it had to say,
	//   - a *TurnError when it could or would not,
	//   - ErrTaken for an input that the waiting run goes on with,
	//   - emit's error, as soon as there is one; it closes the call to the agent.
	//
	// When ctx ends, so does the call to the agent, at once. The cause is
	// ErrCanceled when the client has canceled the task, and ErrSuperseded when
	// the agent is to go on with a later run.
	Run(ctx context.Context, t *Turn, emit Emit) error
}

// Canceler is a Backend whose agent keeps tasks of its own.
type Canceler interface {
	// Canceled is told of a task that was canceled while no run was at work on
	// it. It does not block, and may take values of ctx, which is that of the
	// request, but not its end.
	Canceled(ctx context.Context, t *a2a.Task)
}

// Emit takes events in order, as many as there are at once. It owns what they
// point to, not the slice. Ids, contexts and times may be missing.
type Emit func(events []a2a.Event) error

var (
	// ErrEnded is what Emit returns once nothing more is wanted. It is no
	// failure.
	ErrTurnEnded = errors.New("the turn has ended")
	// ErrTaken is what Run returns for a turn with Input when the run that
	// waits for it goes on. Nothing was emitted.
	ErrInputAccepted = errors.New("the waiting run takes the input")
	// ErrCanceled is why the context of a run ends when its task was canceled.
	ErrCanceled = errors.New("task was canceled")
	// ErrSuperseded is why the context of a run ends when the one that brought
	// an input is answered at length, and takes over.
	ErrSuperseded = errors.New("a later run took over")
)

// Turn is one message and what the agent may want to know about it. Nothing in
// it is changed after it was handed over.
type Turn struct {
	TaskID    string
	ContextID string
	// Number counts the turns of a task from 1, and Attempt the runs of a turn.
	Number  int
	Attempt int
	// Owner is the principal that speaks, without its tenant.
	Owner   a2a.Owner
	Message *a2a.Message
	// Task is what the turn continues, without its message; nil for a new one.
	Task *a2a.Task
	// History is what was said before in this context, the oldest first.
	History []*a2a.Message
	// References are the tasks that the message refers to and its owner owns.
	References          []*a2a.Task
	AcceptedOutputModes []string
	Metadata            a2a.Object
	Extensions          []string
	Tenant              string
	// TraceParent is the W3C trace context, "" for none.
	TraceParent string
	// Input is true when an earlier run of the task has paused and still waits.
	Input bool
}

// TurnError ends a task.
type TurnError struct {
	// State is failed or rejected.
	State a2a.State
	// Reason is shown to the client. Of the agent's answer it holds at most an
	// excerpt that Excerpt made.
	Reason string
	// Err is for the log; nil when Reason says it all.
	Err error
	// Interrupted is true when the agent did not get to say how the turn ends:
	// that may be otherwise when it is run again.
	Interrupted bool
	// Unrecognized is true when the agent sent something that the backend does
	// not understand. Metrics count these failures.
	Unrecognized bool
}

// Failed returns a failure of the agent.
func Failed(reason string, err error) *TurnError {
	return &TurnError{State: a2a.StateFailed, Reason: reason, Err: err}
}

// Interrupted returns a failure of the agent that is not its last word.
func Interrupted(reason string, err error) *TurnError {
	return &TurnError{State: a2a.StateFailed, Reason: reason, Err: err, Interrupted: true}
}

// Rejected returns the agent's refusal to work on the message.
func Rejected(reason string) *TurnError {
	return &TurnError{State: a2a.StateRejected, Reason: reason}
}

// Error returns the reason and what is behind it.
func (f *TurnError) Error() string {
	if f.Err == nil {
		return f.Reason
	}
	return f.Reason + ": " + f.Err.Error()
}

// Unwrap returns what is behind the failure.
func (f *TurnError) Unwrap() error { return f.Err }

// ArtifactID names the artifact of a turn, which is where an agent's answer
// goes when it does not name one.
func ArtifactID(turn int) string { return "turn-" + strconv.Itoa(turn) }

// Bounds on the history that an agent is sent: the newest messages that meet
// both.
const (
	maxHistory      = 64
	maxHistoryBytes = 256 << 10
)

// Newest bounds a history, from its end.
func Newest(history []*a2a.Message) []*a2a.Message {
	from, bytes := len(history), 0
	for from > 0 && len(history)-from < maxHistory {
		if bytes += history[from-1].Size(); bytes > maxHistoryBytes {
			break
		}
		from--
	}
	return history[from:]
}
