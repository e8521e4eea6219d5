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

var errOtherTask = errors.New("event belongs to another task")

// streamEvent handles one event of a stream.
func (r *run) streamEvent(number int, text []byte) error {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil
	}
	content, err := r.endpoint.binding.unwrap(text)
	var e a2a.Event
	if err == nil {
		text = content
		e, err = r.endpoint.event(content)
	}
	if err == nil {
		err = r.handleEvent(&e)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, errStatusHeld) {
		return err
	}
	// Emit the earlier events first.
	if sendErr := r.flush(); sendErr != nil {
		return sendErr
	}
	return decodeFailure("event in line "+strconv.Itoa(number), text, err)
}

// singleResponse handles a response that is not a stream.
func (r *run) singleResponse(op operation, body *stream.Body) error {
	text, err := body.ReadAll()
	if err != nil {
		return err
	}
	content, err := r.endpoint.binding.unwrap(text)
	var e a2a.Event
	if err == nil {
		text = content
	}
	switch {
	case err != nil:
	case op == opGet:
		e.Task, err = r.endpoint.task(content)
	default:
		e, err = r.endpoint.response(content)
	}
	if err == nil {
		err = r.handleEvent(&e)
	}
	switch {
	case errors.Is(err, errStatusHeld):
		return err
	case err != nil:
		return decodeFailure("answer", text, err)
	}
	return r.flush()
}

// decodeFailure returns the error to report if a text cannot be decoded: err itself if it
// is a protocol error or a failure of the turn, and an Unrecognized failure with an excerpt
// otherwise.
func decodeFailure(what string, text []byte, err error) error {
	if problem, ok := errors.AsType[*protocolError](err); ok {
		return problem
	}
	if failure, ok := errors.AsType[*backend.TurnError](err); ok {
		return failure
	}
	switch {
	case errors.Is(err, errOtherTask):
		return backend.Failed("The agent's "+what+" belongs to another task", err)
	case errors.Is(err, errOtherRequest):
		return backend.Failed("The agent's "+what+" belongs to another request", err)
	default:
		return backend.Unrecognized("The agent's "+what+" "+stream.DecodeReason(err, "A2A"), text, err)
	}
}

// handleEvent removes the agent's ids from an event and adds it to the batch. If a status
// that ends the turn has to wait until a poll has confirmed the output, handleEvent holds
// it and returns errStatusHeld.
func (r *run) handleEvent(e *a2a.Event) error {
	r.responded = true
	if r.onEvent != nil {
		r.onEvent()
	}
	switch {
	case e.Task != nil:
		return r.handleTask(e.Task)
	case e.Status != nil:
		if err := r.checkIDs(e.Status.TaskID, e.Status.ContextID); err != nil {
			return err
		}
		r.reportUsage(e.Status.Metadata)
		return r.handleStatus(e.Status)
	case e.Artifact != nil:
		if err := r.checkIDs(e.Artifact.TaskID, e.Artifact.ContextID); err != nil {
			return err
		}
		r.addArtifact(e.Artifact)
	case e.Message != nil:
		if err := r.checkIDs(e.Message.TaskID, e.Message.ContextID); err != nil {
			return err
		}
		r.reportUsage(e.Message.Metadata)
		r.hasMessage = true
		r.batch = append(r.batch, a2a.Event{Message: removeIDs(e.Message)})
	}
	return nil
}

// handleStatus adds a status to the batch. It holds a status that ends the turn if the
// output of the task is not confirmed.
func (r *run) handleStatus(u *a2a.StatusUpdate) error {
	ended := u.Status.State.Terminal() || u.Status.State.Interrupted()
	switch {
	case r.resubscribed && r.isPreviousPause(&u.Status):
		return nil
	case r.resubscribed && ended, r.isEmptySuccess(u):
		r.heldStatus = u
		return errStatusHeld
	}
	r.addStatus(u)
	return nil
}

// handleTask adds the changes of a whole task. If a resumed subscription begins with a task
// that waits for its client, handleTask holds the status. The subscription may continue
// with events that the task already contains: a2a-sdk 1.3 opens its queue before it reads
// the task.
func (r *run) handleTask(t *a2a.Task) error {
	if err := r.checkIDs(t.ID, t.ContextID); err != nil {
		return err
	}
	r.reportTaskUsage(t)
	if !r.resubscribed || !t.Status.State.Interrupted() || r.isPreviousPause(&t.Status) {
		return r.addChanges(t)
	}
	r.heldStatus = &a2a.StatusUpdate{Status: t.Status, Metadata: t.Metadata}
	t.Status = a2a.Status{State: a2a.StateWorking}
	if err := r.addChanges(t); err != nil {
		return err
	}
	return errStatusHeld
}

// checkIDs stores the agent's ids of the task and of the context. It fails for an event
// of another task.
func (r *run) checkIDs(taskID, contextID string) error {
	switch {
	case taskID == "" || taskID == r.ids.task:
	case r.ids.task != "":
		return errOtherTask
	default:
		r.ids.task = taskID
		r.taskNamed.Store(true)
	}
	if contextID != "" && contextID != r.ids.context {
		r.ids.context = contextID
		r.backend.contextNames.remember(r.derivedContext, contextID)
	}
	return nil
}

// removeIDs removes the agent's ids from a message.
func removeIDs(m *a2a.Message) *a2a.Message {
	if m != nil {
		m.TaskID, m.ContextID, m.ReferenceTasks = "", "", nil
	}
	return m
}

// addChanges adds the artifacts and the status of a whole task that were not emitted yet.
func (r *run) addChanges(t *a2a.Task) error {
	if err := r.recoverOutput(t); err != nil {
		return err
	}
	if r.isPreviousPause(&t.Status) {
		t.Status = a2a.Status{State: a2a.StateWorking}
	}
	ended := t.Status.State.Terminal() || t.Status.State.Interrupted()
	last := lastIndexByID(t.Artifacts)
	for i := range t.Artifacts {
		a := &t.Artifacts[i]
		if last[a.ID] != i {
			continue
		}
		if known := r.knownArtifacts[a.ID]; known != nil && reflect.DeepEqual(known, a) {
			continue
		}
		r.recordUpdate()
		r.addNote()
		r.hasArtifact = true
		r.batch = append(r.batch, a2a.Event{Artifact: &a2a.ArtifactUpdate{Artifact: *a, LastChunk: ended}})
		r.knownArtifacts[a.ID] = a
	}
	if r.state != a2a.StateUnknown && sameStatus(&r.lastStatus, &t.Status) {
		return nil
	}
	r.addStatus(&a2a.StatusUpdate{Status: t.Status, Metadata: t.Metadata})
	return nil
}

// lastIndexByID maps the id of each artifact to the index of the last artifact with this
// id, which replaces earlier ones. The first artifact without an id keeps the empty id,
// which means the turn's own artifact. Each later artifact without an id gets one from its
// index.
func lastIndexByID(all []a2a.Artifact) map[string]int {
	last := make(map[string]int, len(all))
	for i := range all {
		if _, taken := last[""]; taken && all[i].ID == "" {
			all[i].ID = "artifact-" + strconv.Itoa(i)
		}
		last[all[i].ID] = i
	}
	return last
}

// isPreviousPause reports whether a status repeats the status with which the previous turn
// paused. Agents send that status first when a task continues.
func (r *run) isPreviousPause(s *a2a.Status) bool {
	return r.turn.Task != nil && s.State.Interrupted() && sameStatus(&r.turn.Task.Status, s)
}

// sameStatus reports whether two statuses have the same state and the same message, by the
// id of the message. Without such an id, it compares their times; two statuses without a
// time are the same unless they are interrupted.
func sameStatus(a, b *a2a.Status) bool {
	switch {
	case a.State != b.State, (a.Message == nil) != (b.Message == nil):
		return false
	case a.Message != nil && a.Message.ID != "" && b.Message.ID != "":
		return a.Message.ID == b.Message.ID
	default:
		return a.Time.Equal(b.Time) && !a.Time.IsZero() || a.Time.IsZero() && b.Time.IsZero() && !a.State.Interrupted()
	}
}

func (r *run) addStatus(u *a2a.StatusUpdate) {
	r.recordUpdate()
	r.lastStatus = u.Status
	if u.Status.State != a2a.StateUnknown || r.state == a2a.StateUnknown {
		r.state = max(u.Status.State, a2a.StateSubmitted)
	}
	u.TaskID, u.ContextID = "", ""
	if m := removeIDs(u.Status.Message); m != nil {
		r.sentMessages[m.ID] = true
	}
	if u.Status.State > a2a.StateSubmitted {
		r.attachNote(u)
	}
	r.batch = append(r.batch, a2a.Event{Status: u})
}

// addArtifact adds an update of an artifact. It removes the artifact from knownArtifacts,
// because the whole artifact is not known after an update.
func (r *run) addArtifact(u *a2a.ArtifactUpdate) {
	if r.state <= a2a.StateSubmitted {
		r.state = a2a.StateWorking
	}
	r.recordUpdate()
	delete(r.knownArtifacts, u.Artifact.ID)
	r.hasArtifact = true
	if r.openArtifacts[u.Artifact.ID] = true; u.LastChunk {
		delete(r.openArtifacts, u.Artifact.ID)
	}
	u.TaskID, u.ContextID = "", ""
	r.addNote()
	r.batch = append(r.batch, a2a.Event{Artifact: u})
}

// addNote adds an event with the note of the task, if the stored note differs. The note is
// then stored before the output that follows.
func (r *run) addNote() {
	if r.ids.task == "" || r.ids.note() == r.storedNote {
		return
	}
	u := &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}}
	r.attachNote(u)
	r.batch = append(r.batch, a2a.Event{Status: u})
}

func (r *run) attachNote(u *a2a.StatusUpdate) {
	if r.ids.task == "" {
		return
	}
	if note := r.ids.note(); note != r.storedNote {
		u.Note, r.storedNote = note, note
	}
}

// recordUpdate counts a change of the task and records it as activity.
func (r *run) recordUpdate() {
	r.updates++
	r.watchdog.RecordActivity()
}

// flush emits the batch.
func (r *run) flush() error {
	if len(r.batch) == 0 {
		return nil
	}
	err := r.emit(r.batch)
	clear(r.batch)
	r.batch = r.batch[:0]
	r.watchdog.Pause(r.state.Interrupted())
	return err
}
