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

// maxErrorBody bounds the body of an error response, in bytes.
const maxErrorBody = 64 << 10

// run runs one turn.
type run struct {
	backend  *Backend
	turn     *backend.Turn
	emit     backend.Emit
	watchdog *stream.Watchdog
	endpoint *endpoint

	// ids are the agent's ids of the task and of the context, if they are known. initialIDs
	// are the ids that were known before the turn. derivedContext is the derived id of the
	// context, for an agent that has not chosen another one.
	ids, initialIDs agentIDs
	derivedContext  string
	// taskNamed is true once the id of the agent's task is known.
	taskNamed atomic.Bool
	// storedNote is the note that is stored with the task.
	storedNote string
	// responded is true once the agent has sent an event or a response.
	responded bool
	// state is the state of the agent's task, StateUnknown before the first status.
	// lastStatus is the status that has this state.
	state      a2a.State
	lastStatus a2a.Status
	// resubscribed is true while the events come from a resumed subscription, which may
	// miss events and repeat others. onEvent is called for each event of the subscription.
	// heldStatus is a status that ends the turn and that is emitted only after a poll has
	// confirmed the output of the task.
	resubscribed bool
	onEvent      func()
	heldStatus   *a2a.StatusUpdate
	// updates counts the updates of the task, without repeated ones.
	updates int
	// hasMessage is true if the agent sent a message without a task.
	hasMessage bool
	// streamIncomplete is true once a stream ended before the task did. sentMessages
	// contains the ids of the emitted messages. openArtifacts contains the ids of the
	// artifacts whose last chunk has not arrived. hasArtifact is true once the turn has
	// emitted an artifact.
	streamIncomplete            bool
	sentMessages, openArtifacts map[string]bool
	hasArtifact                 bool
	// streaming is true while the run reads the stream that is the response to the
	// message.
	streaming bool
	// knownArtifacts has the artifacts of the last whole task, by their id. An artifact
	// that an update has changed is removed.
	knownArtifacts map[string]*a2a.Artifact
	// batch has the events of one read.
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

// stop ends the call to the agent. If the client canceled the task before its id is known,
// stop waits for the first event, which has the id, at most for cancelTimeout.
func (r *run) stop(cause error, stop context.CancelCauseFunc) {
	if errors.Is(cause, backend.ErrCanceled) && !r.taskNamed.Load() {
		time.AfterFunc(cancelTimeout, func() { stop(cause) })
		return
	}
	stop(cause)
}

// tryEndpoints runs the turn with the current endpoint. If the agent does not support the
// request, it has not processed it, so the run tries the fallback, or reads the card again,
// before it fails.
func (r *run) tryEndpoints(ctx context.Context) error {
	if r.turn.Input {
		// This event ends the waiting run, because both runs would receive the same events.
		if err := r.emit([]a2a.Event{{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}}}}); err != nil {
			return err
		}
	}
	p, fresh, err := r.backend.endpoint(ctx, r.turn)
	for err == nil {
		r.endpoint, r.ids = p, r.initialIDs
		r.taskNamed.Store(r.ids.task != "")
		err = r.sendAndFollow(ctx)
		problem, isProtocolError := errors.AsType[*protocolError](err)
		switch {
		case !isProtocolError:
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

// sendAndFollow sends the message and follows the agent's task until it ends or is
// paused.
func (r *run) sendAndFollow(ctx context.Context) error {
	err := r.sendMessage(ctx)
	problem, isProtocolError := errors.AsType[*protocolError](err)
	if isProtocolError && !r.responded && r.endpoint.streaming.Load() &&
		(problem.reason == a2a.ReasonMethodNotFound || problem.reason == a2a.ReasonUnsupportedOperation) {
		// The agent does not support streaming, although its card declares it.
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
		return backend.Failed("The agent's answer names no task", nil)
	}
}

// stopped reports whether the task has ended or is paused, so that the turn has no further
// event.
func (r *run) stopped() bool { return r.state.Terminal() || r.state.Interrupted() }

// sendMessage sends the message of the turn.
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

// referencedTasks returns the agent's ids of the tasks that the message refers to. It omits
// tasks without a note of this backend, because the agent does not know them.
func (r *run) referencedTasks() []string {
	var all []string
	for _, t := range r.turn.References {
		if l := parseNote(t.Note); l.task != "" {
			all = append(all, l.task)
		}
	}
	return all
}

// call sends a request and handles the events of the response.
func (r *run) call(ctx context.Context, op operation, c *callParams) error {
	client := r.backend.client
	resp, err := client.Do(ctx, r.backend.request(r.endpoint, op, r.turn, c))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	watchdog := r.watchdog
	if op == opGet || op == opSubscribe {
		// The bytes of these responses, such as the comments that keep a connection open,
		// do not show that the task makes progress. Only new events count as activity.
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
		// The turn continues with a poll. The stream is closed even if the agent keeps it
		// open.
		return r.flush()
	}
	if errors.Is(err, backend.ErrTurnEnded) && watchdog != nil {
		body.DiscardRest()
	}
	return err
}

// statusError returns the error of a response with an error status.
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

// turnError returns the failure of the turn for an error that the agent returned.
func (r *run) turnError(f *protocolError, p *endpoint) *backend.TurnError {
	needsCredentials := f.reason == a2a.ReasonUnauthenticated || f.reason == a2a.ReasonPermissionDenied
	if r.backend.remote != nil && needsCredentials {
		return backend.Failed("The agent requires other credentials; it receives the Authorization header of the request and no other credential", f)
	}
	return f.turnError(p)
}

// mustCancelTask reports whether the agent still has an unfinished task that the sidecar no
// longer needs. cause is the cause of the end of the turn's context, nil if the turn ended
// by itself.
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
