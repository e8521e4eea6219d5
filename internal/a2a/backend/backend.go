// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backend defines the interface between the engine and the agent's container: a
// Backend runs turns. Each protocol that a container may use has a package below this one.
//
// A backend turns one message into events and holds no state between turns. It depends on no
// client, no binding of A2A and no store. It does not decide the state of a task: it emits
// the events of the agent, and the engine evaluates them.
package backend

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// Backend runs turns.
type Backend interface {
	// Run runs one turn. It calls emit with the events of the agent as they arrive, only from
	// the goroutine that called Run. It returns
	//
	//   - nil when the agent has ended its response,
	//   - a *TurnError when the agent has failed or has rejected the message,
	//   - ErrInputAccepted if Turn.Input is true and the waiting run continues with the message,
	//   - the error of emit if emit returns one. Run then ends the call to the agent.
	//
	// When ctx ends, Run ends the call to the agent and returns. It does so at once, except
	// that the A2A backend may wait up to 5 s for the id of the agent's task to cancel. The
	// cause of ctx is ErrCanceled when the client has canceled the task, and ErrSuperseded
	// when a later run continues the turn.
	Run(ctx context.Context, t *Turn, emit Emit) error
}

// Unfinisher is a Backend that writes a journal. When the engine fails a task, the client learns what its last turn has left undone.
type Unfinisher interface {
	// Unfinished returns sentences about the steps of a task without a known outcome, "" for nothing. journal reads the entries of the
	// task.
	Unfinished(ctx context.Context, task string, journal func() ([][]byte, error)) string
}

// Canceler is a Backend whose agent has tasks of its own. If a client cancels a task of the
// sidecar, the agent's task must be canceled, too.
type Canceler interface {
	// Canceled cancels the agent's task that belongs to t. The engine calls it after a client
	// has canceled t while no run worked on t. Canceled does not block. ctx is the context of
	// the client's request: Canceled may use the values of ctx, and must ignore the end of
	// ctx.
	Canceled(ctx context.Context, t *a2a.Task)
}

// Emit passes one or more events to the engine, in order. The engine owns the values that
// the events point to; the backend may reuse the slice. The engine adds missing ids, context
// ids and times. After an error, such as ErrTurnEnded, the backend stops the run.
type Emit func(events []a2a.Event) error

// Flush emits the events of a batch, if there are any, and empties the batch.
func (e Emit) Flush(batch *[]a2a.Event) error {
	if len(*batch) == 0 {
		return nil
	}
	err := e(*batch)
	clear(*batch)
	*batch = (*batch)[:0]
	return err
}

var (
	// ErrTurnEnded is the error that Emit returns when the turn has ended and needs no further
	// event. It is not a failure.
	ErrTurnEnded = errors.New("the turn has ended")
	// ErrInputAccepted is the error that Run returns if Turn.Input is true, and the earlier
	// run that waits for input continues with the message. Run has then emitted no event.
	ErrInputAccepted = errors.New("the waiting run accepts the input")
	// ErrCanceled is the cause of a run's context when its task was canceled.
	ErrCanceled = errors.New("task was canceled")
	// ErrSuperseded is the cause of a run's context when a later run continues the turn. This
	// happens if the agent reacts to an input in its response to the later run, and not in its
	// response to the run that waited.
	ErrSuperseded = errors.New("a later run continues the turn")
)

// Turn is one message with its context. It is immutable.
type Turn struct {
	TaskID    string
	ContextID string
	// Number is the number of the turn in its task, and Attempt is the number of the attempt
	// to run the turn (see re-run in the glossary). Both begin at 1.
	Number  int
	Attempt int
	// Interrupted is the time of the last status of the task before this attempt, at most the time at which the earlier attempt ended. It is
	// zero for the first attempt.
	Interrupted time.Time
	// Owner is the principal that sent the message. Unlike the owner of the task, it does not
	// include the tenant.
	Owner a2a.Owner
	// AccountingPrincipal is the principal whose limits the turn counts toward.
	AccountingPrincipal a2a.AccountingPrincipal
	Message             *a2a.Message
	// Task is the task that the turn continues, without the message. It is nil for a new
	// task.
	Task *a2a.Task
	// History has the earlier messages of the context, the oldest first.
	History []*a2a.Message
	// References are the tasks that the message refers to, if they belong to its owner. The engine counts their memory until Counted is
	// called. It may be called more than once, and is nil if they are not counted.
	References          []*a2a.Task
	Counted             func()
	AcceptedOutputModes []string
	Metadata            a2a.Object
	Extensions          []string
	Tenant              string
	Trace               a2a.TraceContext
	// Subject is the subject for whom the agent calls other agents, nil for none. Its credential is for
	// the gateway. No backend sends it to an agent or stores it.
	Subject *a2a.Subject
	// Input is true if an earlier run of the task is paused and still waits for input.
	Input bool
	// Reserve changes the memory that the turn has reserved, for an event that it reads or for what
	// it keeps, to a total of bytes, and waits until there is room. 0 releases it. The error is a *TurnError, or wraps
	// the cause of the end of the turn. The backend calls it from one goroutine at a time. A nil
	// Reserve reserves nothing.
	Reserve func(bytes int64) error
	// ReportUsage records the usage of the call so far, if the usage is not in the metadata of
	// an emitted event. The backend calls it from the goroutine of Run. A nil ReportUsage
	// records nothing.
	ReportUsage func(Usage)
	// ReportChunk counts a chunk of output as at least one token, until a reported usage
	// includes the chunk. The backend calls it from the goroutine of Run. A nil ReportChunk
	// counts nothing.
	ReportChunk func()
	// CheckBudget returns an *a2a.Error if the caller has no tokens left, after all reported usage is charged. The backend
	// calls it from the goroutine of Run, between calls of a model. A nil CheckBudget checks nothing.
	CheckBudget func(ctx context.Context) error
	// Journal is the private journal of the task, across its turns.
	Journal Journal
}

// Journal is the private record of the steps of a task. A backend that continues a task reads from it what has happened. No client
// gets an entry.
type Journal interface {
	// Entries reads all entries. The caller must not change them. Before it reads many bytes, it calls reserve with
	// their number, and returns the error of reserve if there is one.
	Entries(ctx context.Context, reserve func(bytes int64) error) ([][]byte, error)
	// Append adds an entry after all others, and returns once it is stored. The backend calls it from the
	// goroutine of Run. The error is one that Run returns.
	Append(ctx context.Context, entry []byte) error
}

// TurnError is a failure that ends a task.
type TurnError struct {
	// State is failed or rejected.
	State a2a.State
	// Reason is shown to the client. The only text of the agent that it may contain is an
	// excerpt made by Excerpt.
	Reason string
	// Err is logged. It is nil if Reason contains all information.
	Err error
	// Interrupted is true if the turn ended before the agent reported an outcome. If the
	// turn runs again, its outcome may differ.
	Interrupted bool
	// Unrecognized is true if the agent sent something that the backend does not
	// understand. A metric counts these failures.
	Unrecognized bool
}

// Failed returns a TurnError with the state failed.
func Failed(reason string, err error) *TurnError {
	return &TurnError{State: a2a.StateFailed, Reason: reason, Err: err}
}

// Interrupted returns the TurnError of a turn that ended before the agent reported an
// outcome.
func Interrupted(reason string, err error) *TurnError {
	return &TurnError{State: a2a.StateFailed, Reason: reason, Err: err, Interrupted: true}
}

// Rejected returns a TurnError with the state rejected.
func Rejected(reason string) *TurnError {
	return &TurnError{State: a2a.StateRejected, Reason: reason}
}

// Error returns the reason with the wrapped error.
func (e *TurnError) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return e.Reason + ": " + e.Err.Error()
}

// Unwrap returns the wrapped error.
func (e *TurnError) Unwrap() error { return e.Err }

// ArtifactID returns the id of the artifact that a backend adds for a turn. This artifact
// holds the output that the agent does not assign to an artifact. turn is Turn.Number.
func ArtifactID(turn int) string { return "turn-" + strconv.Itoa(turn) }

// Limits of the history in a request to the agent.
const (
	maxHistory      = 64
	maxHistoryBytes = 256 << 10
)

// Newest returns the newest messages of a history: at most maxHistory, of at most
// maxHistoryBytes together.
func Newest(history []*a2a.Message) []*a2a.Message {
	from := len(history)
	bytes := 0
	for from > 0 && len(history)-from < maxHistory {
		bytes += history[from-1].Size()
		if bytes > maxHistoryBytes {
			break
		}
		from--
	}
	return history[from:]
}

// MetadataUsage is the name of the member with the usage of the call, in the metadata of a
// status or of a message. Its value is an object with prompt_tokens and completion_tokens,
// as in ChatCompletions.
const MetadataUsage = "a2a-operator.dev/usage"

// Usage is the number of tokens that one call of the agent has used so far.
type Usage struct {
	Input, Output int
	// Unreadable is true if a part of the report was not a number of tokens. Input and Output
	// have the other part.
	Unreadable bool
}

// maxTokens is the largest number of tokens of a report. A larger number counts as this one.
const maxTokens = math.MaxInt32

// Total returns the sum of Input and Output.
func (u Usage) Total() int64 { return int64(u.Input) + int64(u.Output) }

// Max returns the larger Input and the larger Output of two reports. An agent may report the
// usage of a call several times; each report includes the former ones.
func (u Usage) Max(other Usage) Usage {
	return Usage{Input: max(u.Input, other.Input), Output: max(u.Output, other.Output), Unreadable: u.Unreadable || other.Unreadable}
}

// UsageIn returns the usage in the member MetadataUsage of metadata. ok is false if the metadata
// has no such member, or if it is null. A number is a whole number of at least 0, also in a form
// such as 12.0 or 1e3. If one of the two numbers is missing or null, it is 0. Everything else is
// unreadable, also a report without a number.
func UsageIn(metadata a2a.Object) (usage Usage, ok bool) {
	if !bytes.Contains(metadata, []byte(MetadataUsage)) {
		return Usage{}, false
	}
	r := jsonread.New(metadata)
	defer r.Close()
	for name := range r.Members() {
		if string(name) != MetadataUsage {
			continue
		}
		ok = true
		if r.Kind() != '{' {
			usage.Unreadable = true
			continue
		}
		numbers := 0
		for name := range r.Members() {
			switch string(name) {
			case "prompt_tokens":
				usage.Input, usage.Unreadable = tokens(r.Raw(), usage.Unreadable)
				numbers++
			case "completion_tokens":
				usage.Output, usage.Unreadable = tokens(r.Raw(), usage.Unreadable)
				numbers++
			}
		}
		usage.Unreadable = usage.Unreadable || numbers == 0
	}
	if r.End() != nil {
		return Usage{Unreadable: true}, true
	}
	return usage, ok
}

// tokens returns a number of tokens in JSON, and unreadable. If the text is no such number, it
// returns 0 and true.
func tokens(text []byte, unreadable bool) (int, bool) {
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || n < 0 || n != math.Trunc(n) && !math.IsInf(n, 1) {
		return 0, true
	}
	return int(min(n, maxTokens)), unreadable
}
