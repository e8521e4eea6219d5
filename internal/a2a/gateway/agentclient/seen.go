// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentclient

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

const (
	// maxSeen bounds the task that the events of a call are folded into, in bytes.
	maxSeen = 4 << 20
	// seenStep is the step in which its memory is charged, in bytes.
	seenStep = 64 << 10
)

// seen is the fold of the events of a call: the result if the task cannot be read at its end.
type seen struct {
	// charge raises the charge to a number of bytes, and returns false if there is no memory.
	charge func(bytes int64) bool

	task      a2a.Task
	artifacts []*seenArtifact
	// size is an estimate of the bytes of task and artifacts, and charged what was charged.
	size, charged int
	// truncated is true once there was no room for an event. Further content is dropped.
	truncated bool
}

// seenArtifact is an artifact whose last part, if it is plain text, is in text. size is that of
// its parts, in bytes.
type seenArtifact struct {
	a2a.Artifact
	text []byte
	size int
}

// apply adds an event.
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
	if s.task.ID == "" {
		s.task.ID = task
	}
	if context != "" {
		s.task.ContextID = context
	}
}

// replace takes a snapshot in place of all events before.
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

// add adds a part. The pieces in which agents send a text become one part.
func (a *seenArtifact) add(p a2a.Part) {
	if isPlain(&p) {
		a.text = append(a.text, p.Text...)
		return
	}
	a.Parts = append(a.parts(), p)
	a.text = nil
}

// parts returns the parts with the text.
func (a *seenArtifact) parts() []a2a.Part {
	if len(a.text) == 0 {
		return a.Parts
	}
	return append(slices.Clip(a.Parts), a2a.TextPart(string(a.text)))
}

// grow adds bytes to the size if there is room for them.
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

// result returns the task; nil if no event named it.
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
