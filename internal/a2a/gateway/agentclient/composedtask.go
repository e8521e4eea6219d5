// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentclient

import (
	"cmp"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

const (
	// maxComposed is the maximum size of the task that is composed of the events of a call, in
	// bytes.
	maxComposed = 4 << 20
	// chargeStep is the unit in which the memory of this task is charged, in bytes.
	chargeStep = 64 << 10
)

// composedTask composes a task from the events of a call. The composed task is the result of the
// call if the final task cannot be read from the agent.
type composedTask struct {
	// charge raises the charged memory to a total of bytes. It returns false if there is not
	// enough memory.
	charge func(bytes int64) bool

	task      a2a.Task
	artifacts []*composedArtifact
	byID      map[string]*composedArtifact
	// size is an estimate of the bytes of task and artifacts. charged is the number of bytes
	// that charge has reserved.
	size, charged int
	// truncated is true once there was no room for an event. From then on, the content of
	// events is dropped, until a snapshot of the task replaces the whole content.
	truncated bool
}

// composedArtifact is an artifact. If its last part is plain text, this part is in text and not
// in Parts. size is the size of all parts, in bytes.
type composedArtifact struct {
	a2a.Artifact
	text []byte
	size int
}

// apply adds an event to the task.
func (c *composedTask) apply(e *a2a.Event) {
	switch {
	case e.Task != nil:
		c.replace(e.Task)
	case e.Status != nil:
		c.identify(e.Status.TaskID, e.Status.ContextID)
		c.size -= c.task.Status.Message.Size()
		c.task.Status = e.Status.Status
		if !c.grow(c.task.Status.Message.Size()) {
			c.task.Status.Message = nil
		}
	case e.Artifact != nil:
		c.identify(e.Artifact.TaskID, e.Artifact.ContextID)
		c.extend(e.Artifact)
	}
}

func (c *composedTask) identify(task, context string) {
	c.task.ID = cmp.Or(c.task.ID, task)
	c.task.ContextID = cmp.Or(context, c.task.ContextID)
}

// replace discards the content of all earlier events, and copies a snapshot of the task.
func (c *composedTask) replace(t *a2a.Task) {
	c.task = a2a.Task{ID: t.ID, ContextID: t.ContextID, Status: t.Status}
	c.artifacts = nil
	c.byID = nil
	c.size = 0
	c.truncated = false
	if !c.grow(t.Status.Message.Size()) {
		c.task.Status.Message = nil
	}
	for i := range t.Artifacts {
		c.extend(&a2a.ArtifactUpdate{Artifact: t.Artifacts[i]})
	}
}

func (c *composedTask) extend(u *a2a.ArtifactUpdate) {
	head := u.Artifact
	head.Parts = nil
	a := c.byID[head.ID]
	if a == nil {
		if !c.grow(head.Size()) {
			return
		}
		a = &composedArtifact{Artifact: head}
		c.artifacts = append(c.artifacts, a)
		if c.byID == nil {
			c.byID = map[string]*composedArtifact{}
		}
		c.byID[head.ID] = a
	}
	if !u.Append {
		c.size -= a.size
		*a = composedArtifact{Artifact: head}
	}
	for _, p := range u.Artifact.Parts {
		bytes := p.Size()
		if isPlain(&p) {
			bytes = len(p.Text)
		}
		if !c.grow(bytes) {
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
func (a *composedArtifact) add(p a2a.Part) {
	if isPlain(&p) {
		a.text = append(a.text, p.Text...)
		return
	}
	if len(a.text) > 0 {
		a.Parts = append(a.Parts, a2a.TextPart(string(a.text)))
		a.text = nil
	}
	a.Parts = append(a.Parts, p)
}

// parts returns the parts, including the plain text at the end.
func (a *composedArtifact) parts() []a2a.Part {
	if len(a.text) == 0 {
		return a.Parts
	}
	return append(slices.Clip(a.Parts), a2a.TextPart(string(a.text)))
}

// grow adds bytes to the size if there is room for them. Otherwise it sets truncated and
// returns false.
func (c *composedTask) grow(bytes int) bool {
	if c.truncated || c.size+bytes > maxComposed {
		c.truncated = c.truncated || bytes > 0
		return bytes == 0
	}
	if c.size+bytes > c.charged {
		charged := (c.size + bytes + chargeStep) / chargeStep * chargeStep
		if !c.charge(int64(charged)) {
			c.truncated = true
			return false
		}
		c.charged = charged
	}
	c.size += bytes
	return true
}

// result returns the composed task, or nil if no event contained the id of a task.
func (c *composedTask) result() *a2a.Task {
	if c.task.ID == "" {
		return nil
	}
	t := c.task
	for _, a := range c.artifacts {
		whole := a.Artifact
		whole.Parts = a.parts()
		t.Artifacts = append(t.Artifacts, whole)
	}
	return &t
}
