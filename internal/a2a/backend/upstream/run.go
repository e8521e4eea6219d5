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
const maxErrorBody = 64 << 10

// run is one turn.
type run struct {
	backend  *Backend
	turn     *backend.Turn
	emit     backend.Emit
	watchdog *stream.Watchdog
	endpoint *endpoint

	// link is what the agent calls the task and the context, as far as is known,
	// and origin what was known before the turn. alias is what we call the
	// context for an agent that has no name for it.
	ids, initialIDs agentIDs
	derivedContext  string
	// named is true once the agent's task has a name.
	taskNamed atomic.Bool
	// noted is the note that is kept with the task already.
	storedNote string
	// answered is true once the agent has said anything.
	responded bool
	// state is where the agent's task stands, StateUnknown before it said so;
	// last is the status behind it.
	state      a2a.State
	lastStatus a2a.Status
	// resumed is true while a resumed subscription is read: it may miss an event or
	// repeat one. signal is called for each of its events. ending is the status
	// that ends the turn and waits until a poll has confirmed the output of the task.
	resubscribed bool
	onEvent      func()
	heldStatus   *a2a.StatusUpdate
	// news counts what the agent said of the task that was not known before.
	updates int
	// spoke is true when the agent said something without a task.
	hasMessage bool
	// brokeOff is true once a stream ended before the task did. Sent holds the ids
	// of the messages that were emitted, open the ids of the artifacts whose last
	// chunk did not come, and produced is true once there was an artifact.
	streamIncomplete            bool
	sentMessages, openArtifacts map[string]bool
	hasArtifact                 bool
	// streaming is true while the stream that answers the message is read.
	streaming bool
	// artifacts are those of the task as far as they are known to be as they
	// were when it was last told whole.
	knownArtifacts map[string]*a2a.Artifact
	// batch holds the events of one read.
	batch []a2a.Event
}

func newRun(b *Backend, t *backend.Turn, emit backend.Emit) *run {
	r := &run{backend: b, turn: t, emit: emit, derivedContext: derivedID("context", t, t.ContextID), knownArtifacts: map[string]*a2a.Artifact{}, sentMessages: map[string]bool{}, openArtifacts: map[string]bool{}}
	if t.Task != nil {
		r.initialIDs, r.storedNote = parseNote(t.Task.Note), t.Task.Note
		for i := range t.Task.Artifacts {
			r.knownArtifacts[t.Task.Artifacts[i].ID] = &t.Task.Artifacts[i]
		}
	}
	if r.initialIDs.context == "" {
		r.initialIDs.context = b.contextNames.agentName(r.derivedContext)
	}
	return r
}

// end ends the call to the agent from outside, at once unless the task is to be
// canceled and has no name yet: then its first event is awaited, and ends the
// run.
func (r *run) stop(cause error, stop context.CancelCauseFunc) {
	if errors.Is(cause, backend.ErrCanceled) && !r.taskNamed.Load() {
		time.AfterFunc(cancelTimeout, func() { stop(cause) })
		return
	}
	stop(cause)
}

// perform runs the turn with what the card offers. An agent that does not know
// what it is asked has done nothing, so that there may be another try.
func (r *run) tryEndpoints(ctx context.Context) error {
	if r.turn.Input {
		// The run that waits ends here: both would be told the same events.
		if err := r.emit([]a2a.Event{{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}}}}); err != nil {
			return err
		}
	}
	p, fresh, err := r.backend.endpoint(ctx, r.turn)
	for err == nil {
		r.endpoint, r.ids = p, r.initialIDs
		r.taskNamed.Store(r.ids.task != "")
		err = r.sendAndFollow(ctx)
		problem, isFault := errors.AsType[*protocolError](err)
		switch {
		case !isFault:
			if isAgentFailure(err) {
				r.backend.forgetEndpoint(p)
			}
			return err
		case !problem.isUnsupported() || r.responded:
			return r.turnError(problem, p)
		case p.fallback != nil && (r.turn.Task == nil || fresh):
			p, err = p.fallback, nil
			r.backend.current.Store(p)
		case fresh:
			r.backend.forgetEndpoint(p)
			return r.turnError(problem, p)
		default:
			r.backend.forgetEndpoint(p)
			p, fresh, err = r.backend.endpoint(ctx, r.turn)
		}
	}
	return err
}

// converse sends the message and stays until the agent's task has ended or
// waits.
func (r *run) sendAndFollow(ctx context.Context) error {
	err := r.sendMessage(ctx)
	problem, isFault := errors.AsType[*protocolError](err)
	if isFault && !r.responded && r.endpoint.streaming.Load() &&
		(problem.reason == a2a.ReasonMethodNotFound || problem.reason == a2a.ReasonUnsupportedOperation) {
		// The card promises more than there is.
		r.endpoint.streaming.Store(false)
		if err = r.sendMessage(ctx); err != nil && !r.responded {
			r.endpoint.streaming.Store(true)
		}
	}
	if err != nil && (r.state == a2a.StateUnknown || !stream.ConnectionLost(err)) {
		return err
	}
	switch {
	case r.stopped():
		return nil
	case r.state != a2a.StateUnknown || r.heldStatus != nil:
		return r.follow(ctx, err == nil)
	case r.hasMessage:
		return nil
	default:
		return backend.Failed("The agent's answer says nothing of a task", nil)
	}
}

// settled reports whether nothing more is to come in this turn.
func (r *run) stopped() bool { return r.state.Terminal() || r.state.Interrupted() }

// say sends the message of the turn.
func (r *run) sendMessage(ctx context.Context) error {
	op := opSend
	if r.endpoint.streaming.Load() {
		op = opStream
	}
	m := *r.turn.Message
	if r.endpoint.namesTasks && r.ids.task == "" {
		r.ids.task = derivedID("task", r.turn, r.turn.TaskID)
	}
	m.TaskID, m.ContextID = r.ids.task, r.ids.context
	m.ReferenceTasks = r.referencedTasks()
	tenant := r.endpoint.tenantOf(r.turn)
	r.streaming = op == opStream
	defer func() { r.streaming = false }()
	return r.call(ctx, op, &callParams{tenant: tenant, send: &a2a.SendRequest{
		Message: &m, AcceptedOutputModes: r.turn.AcceptedOutputModes, HistoryLength: new(0),
		Metadata: r.turn.Metadata, Tenant: tenant,
	}})
}

// references names the tasks that the message refers to as the agent does. It
// does not know those of other agents.
func (r *run) referencedTasks() []string {
	var all []string
	for _, t := range r.turn.References {
		if l := parseNote(t.Note); l.task != "" {
			all = append(all, l.task)
		}
	}
	return all
}

// call sends a call and takes what the agent answers.
func (r *run) call(ctx context.Context, op operation, c *callParams) error {
	client := r.backend.client
	resp, err := client.Do(ctx, r.backend.request(r.endpoint, op, r.turn, c))
	if err != nil {
		return err
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
		return err
	case !stream.IsSuccess(resp.StatusCode):
		return r.statusError(resp.StatusCode, body)
	case mediaType == "text/event-stream":
		err = body.SSE(r.streamEvent, r.flush)
	default:
		err = r.singleResponse(op, body)
	}
	if errors.Is(err, errStatusHeld) {
		// The turn goes on, so that a connection that stays open is closed.
		return r.flush()
	}
	if errors.Is(err, backend.ErrTurnEnded) && watchdog != nil {
		body.DiscardRest()
	}
	return err
}

// refused is the end of a call that was answered with an error status.
func (r *run) statusError(status int, body *stream.Body) error {
	if text, fits, err := body.ReadUpTo(maxErrorBody); err == nil && fits {
		if problem := r.endpoint.binding.decodeError(status, text); problem != nil {
			return problem
		}
	}
	if r.backend.remote != nil && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		return &protocolError{reason: a2a.ReasonUnauthenticated, code: status}
	}
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
		r.backend.forgetEndpoint(r.endpoint)
	}
	return stream.StatusError(status)
}

// failure is what a fault means for our task.
func (r *run) turnError(f *protocolError, p *endpoint) *backend.TurnError {
	asked := f.reason == a2a.ReasonUnauthenticated || f.reason == a2a.ReasonPermissionDenied
	if r.backend.remote != nil && asked {
		return backend.Failed("The agent asks for other credentials; what it is shown is the Authorization header of the request, and no other", f)
	}
	return f.turnError(p)
}

// abandons reports whether the agent is left with a task that nobody wants any
// more. cause is why the turn was ended from outside, nil if it was not.
func (r *run) mustCancelTask(cause, err error) bool {
	switch {
	case err == nil, r.state == a2a.StateUnknown, r.state.Terminal(), r.ids.task == "", errors.Is(cause, backend.ErrSuperseded):
		return false
	case r.state.Interrupted():
		return errors.Is(cause, backend.ErrCanceled)
	default:
		return true
	}
}
