// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

var errOtherTask = errors.New("event belongs to another task")

// errStatusHeld ends the reading of a stream whose last status is held. A poll then has to
// confirm the output.
var errStatusHeld = errors.New("the status is held until a poll")

// relay turns the events of the agent's task into events of the sidecar's task, in one
// turn.
type relay struct {
	turn         *backend.Turn
	emit         backend.Emit
	watchdog     *stream.Watchdog
	contextNames contextNames

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
	// state is the state of the agent's task, StateUnknown before its first status or
	// artifact. lastStatus is the last status that the relay has added.
	state      a2a.State
	lastStatus a2a.Status
	// resubscribed is true while the events come from a resumed subscription, which may miss
	// events and repeat others. onEvent is called for each event of the subscription.
	// heldStatus is a status that ends the turn. It is held until a poll, because the stream
	// may lack output of the task (see follow).
	resubscribed bool
	onEvent      func()
	heldStatus   *a2a.StatusUpdate
	// updates counts the updates of the task, without repeated ones.
	updates int
	output  output
	// newest is the newest message of the agent in a status of this turn, with the id newestID. Chunks with one id are
	// joined.
	newest   backend.Chunks
	newestID string
	// streamIncomplete is true once a stream ended before the end of the task. answering is
	// true while the events come from the response to the message.
	streamIncomplete, answering bool
	// knownArtifacts maps ids to the artifacts of the last Task object. An artifact update
	// deletes its entry, because the whole artifact is then not known.
	knownArtifacts map[string]*a2a.Artifact
	// batch has the events of one read.
	batch []a2a.Event
}

func newRelay(t *backend.Turn, emit backend.Emit, names contextNames) *relay {
	r := &relay{
		turn: t, emit: emit, contextNames: names, derivedContext: derivedID("context", t, t.ContextID),
		output: newOutput(), knownArtifacts: map[string]*a2a.Artifact{},
	}
	if t.Task != nil {
		r.initialIDs = parseNote(t.Task.Note)
		r.storedNote = t.Task.Note
		for i := range t.Task.Artifacts {
			r.knownArtifacts[t.Task.Artifacts[i].ID] = &t.Task.Artifacts[i]
		}
	}
	if r.initialIDs.context == "" {
		r.initialIDs.context = names.agentName(r.derivedContext)
	}
	return r
}

// stopped reports whether the task has ended or is paused, so that the turn has no further
// event.
func (r *relay) stopped() bool { return r.state.Terminal() || r.state.Interrupted() }

// handleEvent removes the agent's ids from an event and adds it to the batch. If a status
// that ends the turn has to wait until a poll has confirmed the output, handleEvent holds
// it and returns errStatusHeld.
func (r *relay) handleEvent(e *a2a.Event) error {
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
		e.Status.Status.Message = backend.MessageOfAgent(&e.Status.Status, r.turn.Message)
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
		r.output.hasMessage = true
		r.batch = append(r.batch, a2a.Event{Message: removeIDs(e.Message)})
	}
	return nil
}

// handleStatus adds a status to the batch. It holds a status that ends the turn if the
// output of the task is not confirmed.
func (r *relay) handleStatus(u *a2a.StatusUpdate) error {
	ended := u.Status.State.Terminal() || u.Status.State.Interrupted()
	switch {
	case r.resubscribed && r.isPreviousPause(&u.Status):
		return nil
	case r.resubscribed && ended, r.answering && r.ids.task != "" && r.isEmptyEnd(&u.Status):
		r.heldStatus = u
		return errStatusHeld
	}
	r.addStatus(u)
	return nil
}

// isEmptyEnd reports whether a status completes or pauses a task without output. In a response
// to the message, such a status is held until a poll: a server may store more than it returns.
// fasta2a stores artifacts, and messages in the history, that it does not publish.
func (r *relay) isEmptyEnd(s *a2a.Status) bool {
	return (s.State == a2a.StateCompleted || s.State.Interrupted()) && s.Message == nil && r.isSilent()
}

// isSilent reports whether the turn has emitted no output of the agent.
func (r *relay) isSilent() bool {
	return r.newest.IsEmpty() && !r.output.hasArtifact && !r.output.hasMessage
}

// handleTask adds the changes of a whole task. If a resumed subscription begins with a task
// that waits for its client, handleTask holds the status, because the subscription may
// continue with events that the task already contains: a2a-sdk 1.3 opens its queue before
// it reads the task.
func (r *relay) handleTask(t *a2a.Task) error {
	if err := r.checkIDs(t.ID, t.ContextID); err != nil {
		return err
	}
	t.Status.Message = backend.MessageOfAgent(&t.Status, r.turn.Message)
	r.reportTaskUsage(t)
	switch {
	case r.isPreviousPause(&t.Status):
		return r.addChanges(t)
	case r.answering && r.isEmptyEnd(&t.Status) && !r.hasChanges(t) && len(r.missingMessages(t)) == 0:
		r.heldStatus = &a2a.StatusUpdate{Status: t.Status, Metadata: t.Metadata}
		return errStatusHeld
	case !r.resubscribed || !t.Status.State.Interrupted():
		return r.addChanges(t)
	}
	r.heldStatus = &a2a.StatusUpdate{Status: t.Status, Metadata: t.Metadata}
	t.Status = a2a.Status{State: a2a.StateWorking}
	if err := r.addChanges(t); err != nil {
		return err
	}
	return errStatusHeld
}

// checkIDs stores the agent's ids of the task and of the context. It returns errOtherTask for
// an event of another task.
func (r *relay) checkIDs(taskID, contextID string) error {
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
		r.contextNames.remember(r.turn.Owner, r.derivedContext, contextID)
	}
	return nil
}

// removeIDs removes the agent's ids from a message.
func removeIDs(m *a2a.Message) *a2a.Message {
	if m != nil {
		m.TaskID = ""
		m.ContextID = ""
		m.ReferenceTasks = nil
	}
	return m
}

// recoverOutput compensates for the output that a response lacks. It does nothing unless the
// stream ended early, a status is held, or the turn has no output at all. It adds the agent's
// messages of this turn that are in the task, but were not in the response. If the stream ended
// early, it also fails a completed task that has lost output (checkKept). Such a loss is possible:
// a server may store less than it streams. LangGraph streams a message as an artifact, and stores
// only the message.
func (r *relay) recoverOutput(t *a2a.Task) error {
	if !r.streamIncomplete && r.heldStatus == nil && (!r.isEmptyEnd(&t.Status) || r.hasChanges(t)) {
		return nil
	}
	missing := r.missingMessages(t)
	for _, m := range missing {
		r.addStatus(&a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking, Message: m}})
	}
	if t.Status.State != a2a.StateCompleted || !r.streamIncomplete {
		return nil
	}
	return r.output.checkKept(t, len(missing) > 0)
}

// missingMessages returns the agent's messages of this turn that the turn has not emitted, from the
// history of the task. It returns messages without an id only if the turn has no output.
func (r *relay) missingMessages(t *a2a.Task) []*a2a.Message {
	empty := r.isSilent()
	said := t.Status.Message
	return slices.DeleteFunc(backend.Answers(t.History, r.turn.Message, r.turn.Task), func(m *a2a.Message) bool {
		return m.ID == "" && !empty || r.output.messages[m.ID] || said != nil && said.ID == m.ID
	})
}

// hasChanges reports whether a task has an artifact that was not emitted yet.
func (r *relay) hasChanges(t *a2a.Task) bool {
	for i := range t.Artifacts {
		if !r.isKnown(&t.Artifacts[i]) {
			return true
		}
	}
	return false
}

func (r *relay) isKnown(a *a2a.Artifact) bool {
	known := r.knownArtifacts[a.ID]
	return known != nil && reflect.DeepEqual(known, a)
}

// addChanges adds the artifacts and the status of a whole task that were not emitted yet.
func (r *relay) addChanges(t *a2a.Task) error {
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
		if last[a.ID] != i || r.isKnown(a) {
			continue
		}
		r.recordUpdate()
		r.addNote()
		r.output.hasArtifact = true
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
func (r *relay) isPreviousPause(s *a2a.Status) bool {
	return r.turn.Task != nil && s.State.Interrupted() && sameStatus(&r.turn.Task.Status, s)
}

// sameStatus reports whether two statuses have the same state and the same message. It
// compares messages by their ids. Without two ids, it compares the times of the statuses
// instead. Two statuses without a time are then the same, unless they are interrupted. The message
// of a may be one that addStatus has added, so b may lack it.
func sameStatus(a, b *a2a.Status) bool {
	switch {
	case a.State != b.State, a.Message == nil && b.Message != nil:
		return false
	case a.Message != nil && b.Message != nil && a.Message.ID != "" && b.Message.ID != "":
		return a.Message.ID == b.Message.ID
	case !a.Time.IsZero():
		return a.Time.Truncate(time.Millisecond).Equal(b.Time.Truncate(time.Millisecond)) // the sidecar stores milliseconds
	default:
		return b.Time.IsZero() && !a.State.Interrupted()
	}
}

func (r *relay) addStatus(u *a2a.StatusUpdate) {
	r.recordUpdate()
	r.lastStatus = u.Status
	if u.Status.State != a2a.StateUnknown || r.state == a2a.StateUnknown {
		r.state = max(u.Status.State, a2a.StateSubmitted)
	}
	u.TaskID = ""
	u.ContextID = ""
	if m := removeIDs(u.Status.Message); m != nil {
		r.output.messages[m.ID] = true
		r.noteNewest(m)
	} else if r.stopped() && !r.output.hasArtifact {
		u.Status.Message = r.newest.Message()
	}
	if u.Status.State > a2a.StateSubmitted {
		r.attachNote(u)
	}
	r.batch = append(r.batch, a2a.Event{Status: u})
}

// noteNewest records a message of the agent in a status. A status that ends or pauses the task
// without output gets the newest one, because many clients show only the message of this status.
func (r *relay) noteNewest(m *a2a.Message) {
	if len(m.Parts) == 0 {
		return // it has only metadata
	}
	if m.ID == "" || m.ID != r.newestID {
		r.newest = backend.Chunks{}
		r.newestID = m.ID
	}
	r.newest.Add(m)
}

// addArtifact adds an update of an artifact. It removes the artifact from knownArtifacts,
// because the whole artifact is not known after an update.
func (r *relay) addArtifact(u *a2a.ArtifactUpdate) {
	if r.state <= a2a.StateSubmitted {
		r.state = a2a.StateWorking
	}
	r.recordUpdate()
	delete(r.knownArtifacts, u.Artifact.ID)
	r.output.hasArtifact = true
	r.output.openArtifacts[u.Artifact.ID] = true
	if u.LastChunk {
		delete(r.output.openArtifacts, u.Artifact.ID)
	}
	u.TaskID = ""
	u.ContextID = ""
	r.addNote()
	r.batch = append(r.batch, a2a.Event{Artifact: u})
}

// addNote adds an event with the note of the task, if the note differs from the stored one.
// The engine then stores the note before the output that follows.
func (r *relay) addNote() {
	if r.ids.task == "" || r.ids.note() == r.storedNote {
		return
	}
	u := &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}}
	r.attachNote(u)
	r.batch = append(r.batch, a2a.Event{Status: u})
}

func (r *relay) attachNote(u *a2a.StatusUpdate) {
	if r.ids.task == "" {
		return
	}
	if note := r.ids.note(); note != r.storedNote {
		u.Note = note
		r.storedNote = note
	}
}

// recordUpdate counts a change of the task and records it as activity.
func (r *relay) recordUpdate() {
	r.updates++
	r.watchdog.RecordActivity()
}

// flush emits the batch.
func (r *relay) flush() error {
	err := r.emit.Flush(&r.batch)
	r.watchdog.Pause(r.state.Interrupted())
	return err
}

// reportUsage reports the usage in the metadata of a status or of a message.
func (r *relay) reportUsage(metadata a2a.Object) {
	if usage, ok := backend.UsageIn(metadata); ok && r.turn.ReportUsage != nil {
		r.turn.ReportUsage(usage)
	}
}

// reportTaskUsage reports the usage in the metadata of a whole task, unless it equals the
// usage of the former turn. A2A servers merge the metadata of statuses into the task, so
// the task has the former usage until the agent reports another one.
func (r *relay) reportTaskUsage(t *a2a.Task) {
	if r.turn.Task != nil {
		usage, ok := backend.UsageIn(t.Metadata)
		if former, known := backend.UsageIn(r.turn.Task.Metadata); ok && known && usage == former {
			return
		}
	}
	r.reportUsage(t.Metadata)
}
