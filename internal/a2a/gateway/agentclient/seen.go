// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentclient

import (
	"cmp"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

const (
	// maxSeen is the maximum size of the task that is composed of the events of a call, in
	// bytes.
	maxSeen = 4 << 20
	// seenStep is the unit in which the memory of this task is charged, in bytes.
	seenStep = 64 << 10
)

// seen composes a task from the events of a call. The composed task is the result of the
// call if the final task cannot be read from the agent.
type seen struct {
	// charge raises the charged memory to a total of bytes. It returns false if there is not
	// enough memory.
	charge func(bytes int64) bool

	task      a2a.Task
	artifacts []*seenArtifact
	// size is an estimate of the bytes of task and artifacts. charged is the number of bytes
	// that charge has reserved.
	size, charged int
	// truncated is true once there was no room for an event. From then on, the content of
	// events is dropped, until a snapshot of the task replaces the whole content.
	truncated bool
}

// seenArtifact is an artifact. If its last part is plain text, this part is in text and not
// in Parts. size is the size of all parts, in bytes.
type seenArtifact struct {
	a2a.Artifact
	text []byte
	size int
}

// apply adds an event to the task.
func (s *seen) apply(e *a2a.Event) {
	switch {
	case e.Task != nil:
		s.replace(e.Task)
	case e.Status != nil:
		s.identify(e.Status.TaskID, e.Status.ContextID)
		s.size -= s.task.Status.Message.Size()
		s.task.Status = e.Status.Status
		if !s.grow(s.task.Status.Message.Size()) {
			s.task.Status.Message = nil
		}
	case e.Artifact != nil:
		s.identify(e.Artifact.TaskID, e.Artifact.ContextID)
		s.extend(e.Artifact)
	}
}

func (s *seen) identify(task, context string) {
	s.task.ID, s.task.ContextID = cmp.Or(s.task.ID, task), cmp.Or(context, s.task.ContextID)
}

// replace discards the content of all earlier events, and copies a snapshot of the task.
func (s *seen) replace(t *a2a.Task) {
	s.task = a2a.Task{ID: t.ID, ContextID: t.ContextID, Status: t.Status}
	s.artifacts, s.size, s.truncated = nil, 0, false
	if !s.grow(t.Status.Message.Size()) {
		s.task.Status.Message = nil
	}
	for i := range t.Artifacts {
		s.extend(&a2a.ArtifactUpdate{Artifact: t.Artifacts[i]})
	}
}

func (s *seen) extend(u *a2a.ArtifactUpdate) {
	head := u.Artifact
	head.Parts = nil
	i := slices.IndexFunc(s.artifacts, func(a *seenArtifact) bool { return a.ID == head.ID })
	if i < 0 {
		if !s.grow(head.Size()) {
			return
		}
		s.artifacts = append(s.artifacts, &seenArtifact{Artifact: head})
		i = len(s.artifacts) - 1
	}
	a := s.artifacts[i]
	if !u.Append {
		s.size -= a.size
		*a = seenArtifact{Artifact: head}
	}
	for _, p := range u.Artifact.Parts {
		bytes := p.Size()
		if isPlain(&p) {
			bytes = len(p.Text)
		}
		if !s.grow(bytes) {
			return
		}
		a.size += bytes
		a.add(p)
	}
}

// isPlain reports whether a part is text and nothing else.
func isPlain(p *a2a.Part) bool {
	return p.Content == a2a.ContentText && p.Filename == "" && len(p.Metadata) == 0 && (p.MediaType == "" || p.MediaType == "text/plain")
}

// add adds a part. Consecutive parts of plain text become one part, because agents send a
// text in pieces.
func (a *seenArtifact) add(p a2a.Part) {
	if isPlain(&p) {
		a.text = append(a.text, p.Text...)
		return
	}
	a.Parts = append(a.parts(), p)
	a.text = nil
}

// parts returns the parts, including the plain text at the end.
func (a *seenArtifact) parts() []a2a.Part {
	if len(a.text) == 0 {
		return a.Parts
	}
	return append(slices.Clip(a.Parts), a2a.TextPart(string(a.text)))
}

// grow adds bytes to the size if there is room for them. Otherwise it sets truncated and
// returns false.
func (s *seen) grow(bytes int) bool {
	if s.truncated || s.size+bytes > maxSeen {
		s.truncated = s.truncated || bytes > 0
		return bytes == 0
	}
	if s.size+bytes > s.charged {
		charged := (s.size + bytes + seenStep) / seenStep * seenStep
		if !s.charge(int64(charged)) {
			s.truncated = true
			return false
		}
		s.charged = charged
	}
	s.size += bytes
	return true
}

// result returns the composed task, or nil if no event contained the id of a task.
func (s *seen) result() *a2a.Task {
	if s.task.ID == "" {
		return nil
	}
	t := s.task
	for _, a := range s.artifacts {
		whole := a.Artifact
		whole.Parts = a.parts()
		t.Artifacts = append(t.Artifacts, whole)
	}
	return &t
}
