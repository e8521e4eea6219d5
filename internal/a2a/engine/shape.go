// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// shape turns what an agent says in a state into events that may be appended,
// and adds them to out: complete, allowed by transition, up to the first terminal
// state.
func (t *task) shape(r *run, state a2a.State, out, events []a2a.Event) []a2a.Event {
	s := shaper{task: t, run: r, state: state, out: out}
	for i := range events {
		if s.state.Terminal() {
			t.engine.options.Observer.Dropped(len(events) - i)
			break
		}
		s.event(&events[i])
	}
	return s.out
}

type shaper struct {
	task  *task
	run   *run
	state a2a.State
	out   []a2a.Event
}

func (s *shaper) event(e *a2a.Event) {
	switch {
	case e.Artifact != nil:
		s.artifact(e.Artifact)
	case e.Status != nil:
		s.run.word = nil
		s.status(e.Status)
	case e.Message != nil:
		s.run.word = e.Message
		s.status(&a2a.StatusUpdate{Status: a2a.Status{Message: e.Message}})
	case e.Task != nil:
		s.whole(e.Task)
	}
}

// whole takes what counts of an agent's idea of its task.
func (s *shaper) whole(t *a2a.Task) {
	for i := range t.Artifacts {
		s.artifact(&a2a.ArtifactUpdate{Artifact: t.Artifacts[i], LastChunk: true})
	}
	s.run.word = nil
	s.status(&a2a.StatusUpdate{Status: t.Status, Metadata: t.Metadata})
}

func (s *shaper) status(u *a2a.StatusUpdate) {
	e := a2a.Event{Status: u}
	to, ok := transition(s.state, &e)
	if !ok {
		return
	}
	asked := u.Status.State
	if vague := asked <= a2a.StateSubmitted; vague && to == s.state && u.Status.Message == nil && len(u.Metadata) == 0 && u.Note == "" {
		return
	}
	u.Status.State = to
	u.Paused = u.Paused && to.Interrupted()
	u.TaskID, u.ContextID = s.task.key.TaskID, s.task.contextID
	if u.Status.Time.IsZero() {
		u.Status.Time = s.task.engine.now()
	} else {
		u.Status.Time = written(u.Status.Time)
	}
	if u.Status.Message != nil {
		s.task.fill(u.Status.Message)
	}
	s.state = to
	s.out = append(s.out, e)
}

// artifact is a sign of work, for agents that do not speak of it.
func (s *shaper) artifact(u *a2a.ArtifactUpdate) {
	if s.state == a2a.StateSubmitted {
		s.out = append(s.out, s.task.says(a2a.StateWorking, nil))
		s.state = a2a.StateWorking
	}
	u.TaskID, u.ContextID = s.task.key.TaskID, s.task.contextID
	if u.Artifact.ID == "" {
		u.Artifact.ID = s.run.artifactID()
	}
	if u.Artifact.ID == s.run.artifactID() {
		s.run.spoke = true
	}
	if again := s.run.turn.again; again != nil && again.stale[u.Artifact.ID] {
		// It begins anew what an interrupted attempt had begun.
		u.Append = false
		delete(again.stale, u.Artifact.ID)
	}
	s.out = append(s.out, a2a.Event{Artifact: u})
}

// fill completes a message of the agent.
func (t *task) fill(m *a2a.Message) {
	if m.ID == "" {
		m.ID = newID()
	}
	m.TaskID, m.ContextID, m.Role = t.key.TaskID, t.contextID, a2a.RoleAgent
}

func (e *Engine) now() time.Time { return written(e.options.Now()) }

// written is a time as every version writes it. Tasks are listed by it, in an
// order that clients can check.
func written(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
