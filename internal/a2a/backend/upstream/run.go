// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// maxRefusal bounds what is read of an answer that is an error.
const maxRefusal = 64 << 10

// run is one turn.
type run struct {
	backend  *Backend
	turn     *backend.Turn
	emit     backend.Emit
	watchdog *stream.Watchdog
	peer     *peer

	// link is what the agent calls the task and the context, as far as is known,
	// and origin what was known before the turn. alias is what we call the
	// context for an agent that has no name for it.
	link, origin link
	alias        string
	// named is true once the agent's task has a name.
	named atomic.Bool
	// noted is the note that is kept with the task already.
	noted string
	// answered is true once the agent has said anything.
	answered bool
	// state is where the agent's task stands, StateUnknown before it said so;
	// last is the status behind it.
	state a2a.State
	last  a2a.Status
	// resumed is true while a resumed subscription is read: it may miss an event or
	// repeat one. signal is called for each of its events. ending is the status
	// that ends the turn and waits until a poll has confirmed the output of the task.
	resumed bool
	signal  func()
	ending  *a2a.StatusUpdate
	// news counts what the agent said of the task that was not known before.
	news int
	// spoke is true when the agent said something without a task.
	spoke bool
	// brokeOff is true once a stream ended before the task did. Sent holds the ids
	// of the messages that were emitted, open the ids of the artifacts whose last
	// chunk did not come, and produced is true once there was an artifact.
	brokeOff   bool
	sent, open map[string]bool
	produced   bool
	// streaming is true while the stream that answers the message is read.
	streaming bool
	// artifacts are those of the task as far as they are known to be as they
	// were when it was last told whole.
	artifacts map[string]*a2a.Artifact
	// batch holds the events of one read.
	batch []a2a.Event
}

func newRun(b *Backend, t *backend.Turn, emit backend.Emit) *run {
	r := &run{backend: b, turn: t, emit: emit, alias: alias("context", t, t.ContextID), artifacts: map[string]*a2a.Artifact{}, sent: map[string]bool{}, open: map[string]bool{}}
	if t.Task != nil {
		r.origin, r.noted = readLink(t.Task.Note), t.Task.Note
		for i := range t.Task.Artifacts {
			r.artifacts[t.Task.Artifacts[i].ID] = &t.Task.Artifacts[i]
		}
	}
	if r.origin.context == "" {
		r.origin.context = b.contexts.of(r.alias)
	}
	return r
}

// end ends the call to the agent from outside, at once unless the task is to be
// canceled and has no name yet: then its first event is awaited, and ends the
// run.
func (r *run) end(cause error, stop context.CancelCauseFunc) {
	if errors.Is(cause, backend.ErrCanceled) && !r.named.Load() {
		time.AfterFunc(cancelTimeout, func() { stop(cause) })
		return
	}
	stop(cause)
}

// perform runs the turn with what the card offers. An agent that does not know
// what it is asked has done nothing, so that there may be another try.
func (r *run) perform(ctx context.Context) error {
	if r.turn.Input {
		// The run that waits ends here: both would be told the same events.
		if err := r.emit([]a2a.Event{{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}}}}); err != nil {
			return err
		}
	}
	p, fresh, err := r.backend.peer(ctx, r.turn)
	for err == nil {
		r.peer, r.link = p, r.origin
		r.named.Store(r.link.task != "")
		err = r.converse(ctx)
		problem, isFault := errors.AsType[*fault](err)
		switch {
		case !isFault:
			if isFailure(err) {
				r.backend.forget(p)
			}
			return err
		case !problem.unknown() || r.answered:
			return r.failure(problem, p)
		case p.next != nil && (r.turn.Task == nil || fresh):
			p, err = p.next, nil
			r.backend.known.Store(p)
		case fresh:
			r.backend.forget(p)
			return r.failure(problem, p)
		default:
			r.backend.forget(p)
			p, fresh, err = r.backend.peer(ctx, r.turn)
		}
	}
	return err
}

// converse sends the message and stays until the agent's task has ended or
// waits.
func (r *run) converse(ctx context.Context) error {
	err := r.say(ctx)
	problem, isFault := errors.AsType[*fault](err)
	if isFault && !r.answered && r.peer.streaming.Load() &&
		(problem.reason == a2a.ReasonMethodNotFound || problem.reason == a2a.ReasonUnsupportedOperation) {
		// The card promises more than there is.
		r.peer.streaming.Store(false)
		if err = r.say(ctx); err != nil && !r.answered {
			r.peer.streaming.Store(true)
		}
	}
	if err != nil && (r.state == a2a.StateUnknown || !stream.BrokeOff(err)) {
		return err
	}
	switch {
	case r.settled():
		return nil
	case r.state != a2a.StateUnknown || r.ending != nil:
		return r.follow(ctx, err == nil)
	case r.spoke:
		return nil
	default:
		return backend.Failed("The agent's answer says nothing of a task", nil)
	}
}

// settled reports whether nothing more is to come in this turn.
func (r *run) settled() bool { return r.state.Terminal() || r.state.Interrupted() }

// say sends the message of the turn.
func (r *run) say(ctx context.Context) error {
	op := opSend
	if r.peer.streaming.Load() {
		op = opStream
	}
	m := *r.turn.Message
	if r.peer.namesTasks && r.link.task == "" {
		r.link.task = alias("task", r.turn, r.turn.TaskID)
	}
	m.TaskID, m.ContextID = r.link.task, r.link.context
	m.ReferenceTasks = r.references()
	tenant := r.peer.tenantOf(r.turn)
	r.streaming = op == opStream
	defer func() { r.streaming = false }()
	return r.call(ctx, op, &call{tenant: tenant, send: &a2a.SendRequest{
		Message: &m, AcceptedOutputModes: r.turn.AcceptedOutputModes, HistoryLength: new(0),
		Metadata: r.turn.Metadata, Tenant: tenant,
	}})
}

// references names the tasks that the message refers to as the agent does. It
// does not know those of other agents.
func (r *run) references() []string {
	var all []string
	for _, t := range r.turn.References {
		if l := readLink(t.Note); l.task != "" {
			all = append(all, l.task)
		}
	}
	return all
}

// call sends a call and takes what the agent answers.
func (r *run) call(ctx context.Context, op operation, c *call) error {
	client := r.backend.client
	resp, err := client.Do(ctx, r.backend.request(r.peer, op, r.turn, c))
	if err != nil {
		return err //nolint:wrapcheck // it is a failure with its reason
	}
	defer resp.Body.Close()
	watchdog := r.watchdog
	if op == opGet || op == opSubscribe {
		// The bytes of an answer, such as the comments with which servers keep a
		// connection open, do not show that the task goes on. News and events do.
		watchdog = nil
	}
	body := client.NewBody(resp, watchdog)
	mediaType, _, err := body.MediaType()
	switch {
	case err != nil:
		return err //nolint:wrapcheck // as above
	case !stream.Success(resp.StatusCode):
		return r.refused(resp.StatusCode, body)
	case mediaType == "text/event-stream":
		err = body.SSE(r.line, r.send)
	default:
		err = r.whole(op, body)
	}
	if errors.Is(err, errHeld) {
		// The turn goes on, so that a connection that stays open is closed.
		return r.send()
	}
	if errors.Is(err, backend.ErrEnded) && watchdog != nil {
		body.Farewell()
	}
	return err
}

// refused is the end of a call that was answered with an error status.
func (r *run) refused(status int, body *stream.Body) error {
	if text, fits, err := body.UpTo(maxRefusal); err == nil && fits {
		if problem := r.peer.binding.refused(status, text); problem != nil {
			return problem
		}
	}
	if r.backend.elsewhere != nil && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		return &fault{reason: a2a.ReasonUnauthenticated, code: status}
	}
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
		r.backend.forget(r.peer)
	}
	return stream.Refusal(status)
}

// failure is what a fault means for our task.
func (r *run) failure(f *fault, p *peer) *backend.TurnError {
	asked := f.reason == a2a.ReasonUnauthenticated || f.reason == a2a.ReasonPermissionDenied
	if r.backend.elsewhere != nil && asked {
		return backend.Failed("The agent asks for other credentials; what it is shown is the Authorization header of the request, and no other", f)
	}
	return f.failure(p)
}

// abandons reports whether the agent is left with a task that nobody wants any
// more. cause is why the turn was ended from outside, nil if it was not.
func (r *run) abandons(cause, err error) bool {
	switch {
	case err == nil, r.state == a2a.StateUnknown, r.state.Terminal(), r.link.task == "", errors.Is(cause, backend.ErrSuperseded):
		return false
	case r.state.Interrupted():
		return errors.Is(cause, backend.ErrCanceled)
	default:
		return true
	}
}
