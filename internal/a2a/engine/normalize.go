// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

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
		u.Status.Message = cmp.Or(s.run.lastMessage, u.Status.Message)
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
	return store.WithoutMember(metadata, unprocessedMessages)
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
