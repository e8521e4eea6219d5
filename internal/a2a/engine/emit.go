// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// emit processes events of the agent: it appends them to the log, or holds a message whose
// place depends on what follows. It returns backend.ErrTurnEnded if the agent should stop.
func (t *task) emit(ctx context.Context, r *run, events []a2a.Event) error {
	t.lock(ctx)
	defer t.unlock()
	if r.ignored {
		t.engine.options.Observer.Dropped(len(events))
		return backend.ErrTurnEnded
	}
	if len(events) == 0 {
		return nil
	}
	if !r.responded {
		r.responded = true
		t.engine.options.Observer.FirstEvent(ctx, t.engine.options.Now().Sub(r.started))
	}
	t.replaceRun(r)
	events = t.hold(ctx, r, events)
	if len(events) == 0 {
		return nil
	}
	if err := t.appendEmitted(ctx, r, events); err != nil {
		return err
	}
	switch {
	case t.state().Terminal():
		r.ignored = true
		t.ended(r, errOver)
		return backend.ErrTurnEnded
	case t.state().Interrupted() && t.engine.draining.Load():
		r.ignored = true // a server that shuts down does not wait for its clients
		return backend.ErrTurnEnded
	case t.state().Interrupted():
		t.continuePaused(ctx)
	}
	return nil
}

// replaceRun makes r the run of the task if r delivers an input, and cancels the run that
// waited: the agent answers the input in the call r.
func (t *task) replaceRun(r *run) {
	if !r.input {
		return
	}
	if old := t.run; old != nil {
		old.cancel(backend.ErrSuperseded)
	}
	t.run = r
	t.delivered(onReplace)
	r.input = false
}

// delivered ends the delivery of a message to the run that waited.
func (t *task) delivered(on phaseEvent) {
	t.input = nil
	if t.phase == phaseResuming {
		t.move(on)
		t.settle()
	}
}

// hold removes from events the messages without a status whose place depends on what follows, and
// returns the events to append. It holds the newest message (run.held) until
//
//   - another event follows: the message becomes the message of a status,
//   - another message with its id follows: each of them is a chunk of one artifact,
//   - the response of the agent ends: the message is the answer, without a task if there is none,
//   - Options.DecideAfter has passed: as with another event.
//
// If there is a task, hold holds only messages with an id, because others have no chunks, and none
// while the task is interrupted, because another run may replace r.
func (t *task) hold(ctx context.Context, r *run, events []a2a.Event) []a2a.Event {
	if r.held == nil && !hasMessage(events) {
		return events
	}
	out := make([]a2a.Event, 0, len(events)+1)
	for i := range events {
		m := events[i].Message
		if m == nil {
			out = append(r.place(out), events[i])
			continue
		}
		if r.isChunk(m) {
			out = r.addChunk(out, m)
			continue
		}
		out = r.place(out)
		r.held = m
	}
	switch {
	case r.held == nil:
	case t.log == nil && len(out) == 0: // the timer of decideSilentTurn runs
	case r.held.ID == "", stateAfter(t.state(), out).Interrupted():
		out = r.place(out)
	default:
		m := r.held
		time.AfterFunc(t.engine.options.DecideAfter, func() { t.heldLongEnough(ctx, r, m) })
	}
	return out
}

func hasMessage(events []a2a.Event) bool {
	for i := range events {
		if events[i].Message != nil {
			return true
		}
	}
	return false
}

// stateAfter returns the state to which events lead from a state.
func stateAfter(state a2a.State, events []a2a.Event) a2a.State {
	for i := range events {
		state, _ = transition(state, &events[i])
	}
	return state
}

// isChunk reports whether a message without a status continues an earlier one.
func (r *run) isChunk(m *a2a.Message) bool {
	former := r.former()
	return m.ID != "" && (r.chunked[m.ID] != "" || former != nil && former.ID == m.ID)
}

// former returns the newest message without a status, which m may continue.
func (r *run) former() *a2a.Message {
	if r.held != nil {
		return r.held
	}
	return r.lastMessage
}

// addChunk appends a chunk of a message to events, as an update of an artifact: the artifact of the
// turn or, if the agent has written to it already, one with the id of the message. The first update
// also has the parts of the former message with this id.
func (r *run) addChunk(events []a2a.Event, m *a2a.Message) []a2a.Event {
	chunk := func(artifact string, m *a2a.Message, follows bool) a2a.Event {
		return a2a.Event{Artifact: &a2a.ArtifactUpdate{
			Artifact: a2a.Artifact{ID: artifact, Parts: m.Parts, Metadata: m.Metadata, Extensions: m.Extensions},
			Append:   follows, JoinText: true,
		}}
	}
	if artifact := r.chunked[m.ID]; artifact != "" {
		return append(r.place(events), chunk(artifact, m, true))
	}
	if r.chunked == nil {
		r.chunked = map[string]string{}
	}
	artifact := r.artifactID()
	if r.wroteArtifact || len(r.chunked) > 0 {
		artifact = m.ID
	}
	r.chunked[m.ID] = artifact
	events = append(events, chunk(artifact, r.former(), false), chunk(artifact, m, true))
	r.held = nil
	r.lastMessage = nil
	return events
}

// place appends the held message to events, if there is one.
func (r *run) place(events []a2a.Event) []a2a.Event {
	if r.held == nil {
		return events
	}
	events = append(events, a2a.Event{Message: r.held})
	r.held = nil
	return events
}

// heldLongEnough releases m if it is still held.
func (t *task) heldLongEnough(ctx context.Context, r *run, m *a2a.Message) {
	t.lock(ctx)
	defer t.unlock()
	if r.held == m && !r.ignored {
		t.releaseHeld(ctx, r)
	}
}

// releaseHeld appends the held message of a run, if there is one, as the message of a status. It
// creates the task if it does not exist. If that fails, the turn fails.
func (t *task) releaseHeld(ctx context.Context, r *run) {
	if r.held == nil {
		return
	}
	events := r.place(nil)
	if err := t.appendEmitted(ctx, r, events); err != nil {
		r.turn.refuse(err)
		r.cancel(err)
	}
}

// appendEmitted appends events of the agent to the log, which it creates if there is
// none.
func (t *task) appendEmitted(ctx context.Context, r *run, events []a2a.Event) error {
	created := t.log != nil
	state := t.state()
	batch := t.batch[:0]
	if !created {
		state = a2a.StateSubmitted
		batch = t.firstEvents(r.turn)
	}
	batch = t.normalize(r, state, batch, events)
	if endsTask(batch) {
		t.engine.freeTurn(r)
	}
	if created {
		return t.append(ctx, batch)
	}
	return t.createWith(ctx, r.turn, batch)
}

// endsTask reports whether the last of some events ends the task.
func endsTask(events []a2a.Event) bool {
	n := len(events)
	return n > 0 && events[n-1].Status != nil && events[n-1].Status.Status.State.Terminal()
}

// answerWithoutTask ends a turn with a message of the agent instead of a task.
func (t *task) answerWithoutTask(ctx context.Context, r *run, m *a2a.Message) {
	t.fill(m)
	m.TaskID = ""
	r.ignored = true
	t.engine.freeTurn(r)
	t.remember(ctx, m)
	r.turn.decideWithAnswer(m)
	t.engine.recent.addBytes(r.turn, m.Size())
}

func (r *run) artifactID() string {
	if r.artifact == "" {
		r.artifact = backend.ArtifactID(r.turn.number)
	}
	return r.artifact
}

// normalize converts the events of an agent into events for the log of a task in the
// given state. It appends them to out and returns the result. It sets missing ids and times,
// omits events that transition does not allow, and drops the events after the first terminal
// state.
func (t *task) normalize(r *run, state a2a.State, out, events []a2a.Event) []a2a.Event {
	s := normalizer{task: t, run: r, state: state, out: out}
	for i := range events {
		if s.state.Terminal() {
			t.engine.options.Observer.Dropped(len(events) - i)
			break
		}
		s.event(&events[i])
	}
	return s.out
}

type normalizer struct {
	task  *task
	run   *run
	state a2a.State
	out   []a2a.Event
}

func (s *normalizer) event(e *a2a.Event) {
	switch {
	case e.Artifact != nil:
		s.artifact(e.Artifact)
	case e.Status != nil:
		s.agentStatus(e.Status)
	case e.Message != nil:
		if sent := s.run.turn.message; sent != nil && e.Message.ID == sent.ID {
			e.Message.ID = "" // an echo of the client's message is an answer, and gets an id of its own
		}
		s.run.lastMessage = e.Message
		s.status(&a2a.StatusUpdate{Status: a2a.Status{Message: e.Message}})
	case e.Task != nil:
		s.snapshot(e.Task)
	}
}

// snapshot converts a task that an agent sent as a whole into events with its
// artifacts, status and metadata. It ignores the ids of that task, and also the history, unless
// the turn has no other output: the newest message of the agent in the history is then the
// answer.
func (s *normalizer) snapshot(t *a2a.Task) {
	for i := range t.Artifacts {
		s.artifact(&a2a.ArtifactUpdate{Artifact: t.Artifacts[i], LastChunk: true})
	}
	if !s.run.hasArtifact && s.run.lastMessage == nil {
		turn := s.run.turn
		if answers := backend.Answers(t.History, turn.message, turn.taskBefore); len(answers) > 0 {
			s.run.lastMessage = answers[len(answers)-1]
		}
	}
	s.agentStatus(&a2a.StatusUpdate{Status: t.Status, Metadata: t.Metadata})
}

// agentStatus adds a status that the agent has sent. If the status ends or pauses the task
// and has no text or other part, it gets the newest message that the agent sent without a status.
func (s *normalizer) agentStatus(u *a2a.StatusUpdate) {
	u.Status.Message = backend.MessageOfAgent(&u.Status, s.run.turn.message)
	switch {
	case u.Status.Message != nil && len(u.Status.Message.Parts) > 0:
		s.run.lastMessage = nil
	case u.Status.State.Terminal(), u.Status.State.Interrupted():
		if s.run.lastMessage != nil {
			repeated := *s.run.lastMessage // readers may be encoding the one that was sent
			u.Status.Message = &repeated
		}
	}
	s.status(u)
}

func (s *normalizer) status(u *a2a.StatusUpdate) {
	e := a2a.Event{Status: u}
	to, ok := transition(s.state, &e)
	if !ok {
		return
	}
	u.Metadata = withoutReserved(u.Metadata)
	if u.Status.State <= a2a.StateSubmitted && to == s.state && u.Status.Message == nil && len(u.Metadata) == 0 && u.Note == "" {
		return // the status changes nothing
	}
	u.Status.State = to
	u.Paused = u.Paused && to.Interrupted()
	u.TaskID = s.task.key.TaskID
	u.ContextID = s.task.contextID
	if u.Status.Time.IsZero() {
		u.Status.Time = s.task.engine.now()
	} else {
		u.Status.Time = toWirePrecision(u.Status.Time)
	}
	if u.Status.Message != nil {
		s.task.fill(u.Status.Message)
	}
	s.state = to
	s.out = append(s.out, e)
}

// withoutReserved returns the metadata of an agent without the list of accepted messages,
// which only the engine knows.
func withoutReserved(metadata a2a.Object) a2a.Object {
	if !bytes.Contains(metadata, []byte(unprocessedMessages)) && !bytes.Contains(metadata, []byte(`\u`)) {
		return metadata
	}
	return metadata.Without(unprocessedMessages)
}

// artifact adds an artifact update. If the task is submitted, it adds the status working
// before the update, because agents may send an artifact without a status.
func (s *normalizer) artifact(u *a2a.ArtifactUpdate) {
	if s.state == a2a.StateSubmitted {
		s.out = append(s.out, s.task.statusEvent(a2a.StateWorking, nil))
		s.state = a2a.StateWorking
	}
	u.TaskID = s.task.key.TaskID
	u.ContextID = s.task.contextID
	if u.Artifact.ID == "" {
		u.Artifact.ID = s.run.artifactID()
	}
	s.run.hasArtifact = true
	if u.Artifact.ID == s.run.artifactID() {
		s.run.wroteArtifact = true
	}
	if rerun := s.run.turn.rerun; rerun != nil && rerun.stale[u.Artifact.ID] {
		// The first update of an artifact in a re-run replaces the content that the
		// interrupted attempt wrote.
		u.Append = false
		delete(rerun.stale, u.Artifact.ID)
	}
	s.out = append(s.out, a2a.Event{Artifact: u})
}

// transition is the state machine of a task. It returns the state to which an event
// leads, and false for an event that is not allowed in the state from.
//
// An agent may skip states and alternate between working and waiting. No event is allowed
// after a terminal state. A status without a state moves a submitted task to working and
// leaves any other state as it is. A status with the state submitted leaves the state of
// an existing task as it is.
func transition(from a2a.State, e *a2a.Event) (to a2a.State, ok bool) {
	switch {
	case from.Terminal(), e.Task != nil:
		return from, false
	case e.Message != nil:
		return from, true
	case e.Artifact != nil:
		return from, from != a2a.StateUnknown
	case e.Status == nil:
		return from, false
	}
	to = e.Status.Status.State
	switch {
	case to == a2a.StateUnknown && from == a2a.StateUnknown:
		return from, false
	case to == a2a.StateUnknown && from == a2a.StateSubmitted:
		return a2a.StateWorking, true
	case to == a2a.StateUnknown, to == a2a.StateSubmitted && from != a2a.StateUnknown:
		return from, true
	default:
		return to, true
	}
}
