// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"bytes"
	"errors"
	"reflect"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

var errOtherTask = errors.New("event is of another task")

// line takes one event of a stream.
func (r *run) line(number int, text []byte) error {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil
	}
	content, err := r.peer.binding.open(text)
	var e a2a.Event
	if err == nil {
		text = content
		e, err = r.peer.event(content)
	}
	if err == nil {
		err = r.take(&e)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, errHeld) {
		return err
	}
	// What came before was said.
	if sendErr := r.send(); sendErr != nil {
		return sendErr
	}
	return blame("event in line "+strconv.Itoa(number), text, err)
}

// whole takes an answer that is no stream.
func (r *run) whole(op operation, body *stream.Body) error {
	text, err := body.Whole()
	if err != nil {
		return err //nolint:wrapcheck // it is a failure with its reason
	}
	content, err := r.peer.binding.open(text)
	var e a2a.Event
	if err == nil {
		text = content
	}
	switch {
	case err != nil:
	case op == opGet:
		e.Task, err = r.peer.task(content)
	default:
		e, err = r.peer.answer(content)
	}
	if err == nil {
		err = r.take(&e)
	}
	switch {
	case errors.Is(err, errHeld):
		return err
	case err != nil:
		return blame("answer", text, err)
	}
	return r.send()
}

// blame returns faults as they are, and the failure of the turn for what was not
// understood.
func blame(what string, text []byte, err error) error {
	if problem, ok := errors.AsType[*fault](err); ok {
		return problem
	}
	if failure, ok := errors.AsType[*backend.TurnError](err); ok {
		return failure
	}
	switch {
	case errors.Is(err, errOtherTask):
		return backend.Failed("The agent's "+what+" is of another task", err)
	case errors.Is(err, errOtherRequest):
		return backend.Failed("The agent's "+what+" belongs to another request", err)
	default:
		return backend.Unrecognized("The agent's "+what+" "+stream.Fault(err, "A2A"), text, err)
	}
}

// take adds what an event says to the batch, without the ids of the agent. It
// returns errHeld for a status that ends the turn and waits for a poll.
func (r *run) take(e *a2a.Event) error {
	r.answered = true
	if r.signal != nil {
		r.signal()
	}
	switch {
	case e.Task != nil:
		return r.task(e.Task)
	case e.Status != nil:
		if err := r.belongs(e.Status.TaskID, e.Status.ContextID); err != nil {
			return err
		}
		return r.update(e.Status)
	case e.Artifact != nil:
		if err := r.belongs(e.Artifact.TaskID, e.Artifact.ContextID); err != nil {
			return err
		}
		r.artifact(e.Artifact)
	case e.Message != nil:
		if err := r.belongs(e.Message.TaskID, e.Message.ContextID); err != nil {
			return err
		}
		r.spoke = true
		r.batch = append(r.batch, a2a.Event{Message: anonymous(e.Message)})
	}
	return nil
}

// update adds a status, unless it ends the turn and the output of the task is not
// certain: it is held back then.
func (r *run) update(u *a2a.StatusUpdate) error {
	over := u.Status.State.Terminal() || u.Status.State.Interrupted()
	switch {
	case r.resumed && r.stale(&u.Status):
		return nil
	case r.resumed && over, r.emptySuccess(u):
		r.ending = u
		return errHeld
	}
	r.status(u)
	return nil
}

// task adds what a whole task says that was not said yet. A task that begins a
// resumed subscription and waits for its client is held back like a status: the
// subscription may go on to repeat events that the task holds, as a2a-sdk 1.3
// does, which opens its queue before it reads the task.
func (r *run) task(t *a2a.Task) error {
	if err := r.belongs(t.ID, t.ContextID); err != nil {
		return err
	}
	if !r.resumed || !t.Status.State.Interrupted() || r.stale(&t.Status) {
		return r.snapshot(t)
	}
	r.ending = &a2a.StatusUpdate{Status: t.Status, Metadata: t.Metadata}
	t.Status = a2a.Status{State: a2a.StateWorking}
	if err := r.snapshot(t); err != nil {
		return err
	}
	return errHeld
}

// belongs learns the agent's names for the task and the context, and refuses
// what is of another task.
func (r *run) belongs(taskID, contextID string) error {
	switch {
	case taskID == "" || taskID == r.link.task:
	case r.link.task != "":
		return errOtherTask
	default:
		r.link.task = taskID
		r.named.Store(true)
	}
	if contextID != "" && contextID != r.link.context {
		r.link.context = contextID
		r.backend.contexts.remember(r.alias, contextID)
	}
	return nil
}

// anonymous takes the agent's ids off a message.
func anonymous(m *a2a.Message) *a2a.Message {
	if m != nil {
		m.TaskID, m.ContextID, m.ReferenceTasks = "", "", nil
	}
	return m
}

// snapshot tells what a task says that was not said yet.
func (r *run) snapshot(t *a2a.Task) error {
	if err := r.recoverMissed(t); err != nil {
		return err
	}
	if r.stale(&t.Status) {
		t.Status = a2a.Status{State: a2a.StateWorking}
	}
	over := t.Status.State.Terminal() || t.Status.State.Interrupted()
	last := lastOfEach(t.Artifacts)
	for i := range t.Artifacts {
		a := &t.Artifacts[i]
		if last[a.ID] != i {
			continue
		}
		if said := r.artifacts[a.ID]; said != nil && reflect.DeepEqual(said, a) {
			continue
		}
		r.heard()
		r.introduce()
		r.produced = true
		r.batch = append(r.batch, a2a.Event{Artifact: &a2a.ArtifactUpdate{Artifact: *a, LastChunk: over}})
		r.artifacts[a.ID] = a
	}
	if r.state != a2a.StateUnknown && same(&r.last, &t.Status) {
		return nil
	}
	r.status(&a2a.StatusUpdate{Status: t.Status, Metadata: t.Metadata})
	return nil
}

// lastOfEach returns the place of the last artifact of each name, which is the
// one that counts. The first without a name is that of the turn, and others get
// a name by their place.
func lastOfEach(all []a2a.Artifact) map[string]int {
	last := make(map[string]int, len(all))
	for i := range all {
		if _, taken := last[""]; taken && all[i].ID == "" {
			all[i].ID = "artifact-" + strconv.Itoa(i)
		}
		last[all[i].ID] = i
	}
	return last
}

// stale reports whether a status is the one in which the task was when the
// client was last heard: agents begin with it when a task goes on.
func (r *run) stale(s *a2a.Status) bool {
	return r.turn.Task != nil && s.State.Interrupted() && same(&r.turn.Task.Status, s)
}

// same compares statuses by what names them.
func same(a, b *a2a.Status) bool {
	switch {
	case a.State != b.State, (a.Message == nil) != (b.Message == nil):
		return false
	case a.Message != nil && a.Message.ID != "" && b.Message.ID != "":
		return a.Message.ID == b.Message.ID
	default:
		return a.Time.Equal(b.Time) && !a.Time.IsZero() || a.Time.IsZero() && b.Time.IsZero() && !a.State.Interrupted()
	}
}

func (r *run) status(u *a2a.StatusUpdate) {
	r.heard()
	r.last = u.Status
	if u.Status.State != a2a.StateUnknown || r.state == a2a.StateUnknown {
		r.state = max(u.Status.State, a2a.StateSubmitted)
	}
	u.TaskID, u.ContextID = "", ""
	if m := anonymous(u.Status.Message); m != nil {
		r.sent[m.ID] = true
	}
	if u.Status.State > a2a.StateSubmitted {
		r.note(u)
	}
	r.batch = append(r.batch, a2a.Event{Status: u})
}

// artifact tells an update. What the artifact is now is no longer known.
func (r *run) artifact(u *a2a.ArtifactUpdate) {
	if r.state <= a2a.StateSubmitted {
		r.state = a2a.StateWorking
	}
	r.heard()
	delete(r.artifacts, u.Artifact.ID)
	r.produced = true
	if r.open[u.Artifact.ID] = true; u.LastChunk {
		delete(r.open, u.Artifact.ID)
	}
	u.TaskID, u.ContextID = "", ""
	r.introduce()
	r.batch = append(r.batch, a2a.Event{Artifact: u})
}

// introduce has the note of the task kept before anything that it produced.
func (r *run) introduce() {
	if r.link.task == "" || r.link.note() == r.noted {
		return
	}
	u := &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}}
	r.note(u)
	r.batch = append(r.batch, a2a.Event{Status: u})
}

func (r *run) note(u *a2a.StatusUpdate) {
	if r.link.task == "" {
		return
	}
	if note := r.link.note(); note != r.noted {
		u.Note, r.noted = note, note
	}
}

// heard counts news of the task, wherever it came from, as a sign of life.
func (r *run) heard() {
	r.news++
	r.watchdog.Heard()
}

// send emits what was gathered.
func (r *run) send() error {
	if len(r.batch) == 0 {
		return nil
	}
	err := r.emit(r.batch)
	clear(r.batch)
	r.batch = r.batch[:0]
	r.watchdog.Pause(r.state.Interrupted())
	return err
}
