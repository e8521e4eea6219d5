// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Fold is a task that grows event by event. The cost of Apply depends on the size of the
// event and not of the task. A Task that the Fold has returned never changes: the Fold
// shares slices with it, but only appends to them, behind the length that the Task has.
//
// A Fold is not safe for concurrent use.
type Fold struct {
	task      a2a.Task
	artifacts []artifact
	// index maps the ids of artifacts to their positions, if there are more than
	// indexThreshold. last is the position of the last updated artifact, to which
	// most updates go.
	index map[string]int
	last  int
	size  int
	// metadata are the objects that are not merged into task.Metadata yet.
	metadata unmerged
}

// indexThreshold is the number of artifacts above which a map is faster than a linear
// search.
const indexThreshold = 8

// NewFold returns the fold of a task without events.
func NewFold(id string, o Origin) *Fold {
	return &Fold{task: a2a.Task{ID: id, ContextID: o.ContextID, Dialect: o.Dialect}}
}

// Resume returns the fold whose task equals t. It does not change t.
func Resume(t *a2a.Task) *Fold {
	f := &Fold{task: *t}
	f.task.Artifacts = nil
	f.task.History = slices.Clip(t.History)
	for i := range t.Artifacts {
		a := &f.artifacts[f.add(t.Artifacts[i].ID)]
		a.head = t.Artifacts[i]
		a.size = t.Artifacts[i].Size()
		a.head.Parts = slices.Clip(a.head.Parts)
		f.size += a.size
	}
	for _, m := range t.History {
		f.size += m.Size()
	}
	f.size += t.Status.Message.Size() + len(t.Metadata) + len(t.Note)
	return f
}

// State returns the state of the task.
func (f *Fold) State() a2a.State { return f.task.Status.State }

// ContextID returns the context of the task.
func (f *Fold) ContextID() string { return f.task.ContextID }

// Place returns the place of the task in a list.
func (f *Fold) Place() Place { return PlaceOf(&f.task) }

// Matches reports whether the task matches a query.
func (f *Fold) Matches(q *Query) bool {
	return q.Matches(f.task.ContextID, f.task.Status.State, f.task.Status.Time)
}

// StatusMessage returns the message of the status.
func (f *Fold) StatusMessage() *a2a.Message { return f.task.Status.Message }

// AssignIndexes sets ArtifactUpdate.Index and Append to the values that Apply will set, so that a
// store can encode events before their append succeeds.
func (f *Fold) AssignIndexes(events []a2a.Event) {
	added := map[string]int{}
	for i := range events {
		u := events[i].Artifact
		if u == nil {
			continue
		}
		u.Index = f.find(u.Artifact.ID)
		if u.Index >= 0 {
			continue
		}
		at, known := added[u.Artifact.ID]
		if !known {
			at = len(added)
			added[u.Artifact.ID] = at
			u.Append = false
		}
		u.Index = len(f.artifacts) + at
	}
}

// Size returns an estimate of the bytes of the task.
func (f *Fold) Size() int { return f.size }

// Apply adds an event. It sets the index of an artifact update, and clears Append in the first
// update of an artifact, because some clients drop an update that appends to an unknown artifact.
// The event must not change afterwards.
func (f *Fold) Apply(e *a2a.Event) {
	switch {
	case e.Artifact != nil:
		f.applyArtifact(e.Artifact)
	case e.Status != nil:
		f.applyStatus(e.Status)
	case e.Message != nil:
		// The message of the status, such as the agent's question, moves into the history before
		// e.Message, which answers it.
		if said := f.task.Status.Message; said != nil {
			f.task.History = append(f.task.History, said)
			f.task.Status.Message = nil
		}
		f.task.History = append(f.task.History, e.Message)
		f.size += e.Message.Size()
	}
}

// Replay is Apply for an event of a log that other goroutines read at the same time.
// It does not change the event.
func (f *Fold) Replay(e *a2a.Event) {
	if e.Artifact != nil {
		u := *e.Artifact
		e = &a2a.Event{Artifact: &u}
	}
	f.Apply(e)
}

// Task returns the current task.
func (f *Fold) Task() *a2a.Task {
	f.size += f.metadata.merge(&f.task.Metadata)
	t := f.task
	t.History = slices.Clip(t.History)
	if len(f.artifacts) > 0 {
		t.Artifacts = make([]a2a.Artifact, len(f.artifacts))
		for i := range f.artifacts {
			a := &f.artifacts[i]
			grown := a.metadata.merge(&a.head.Metadata)
			a.size += grown
			f.size += grown
			t.Artifacts[i] = a.snapshot()
		}
	}
	return &t
}

// applyStatus replaces the status, and merges its metadata and note into the task. It moves
// the message of the former status into the history, unless the new status has the same
// message.
func (f *Fold) applyStatus(u *a2a.StatusUpdate) {
	said := f.task.Status.Message
	if said != nil && said != u.Status.Message {
		f.task.History = append(f.task.History, said)
	}
	if said != u.Status.Message {
		f.size += u.Status.Message.Size()
	}
	f.task.Status = u.Status
	if len(u.Metadata) > 0 {
		f.size += f.metadata.add(&f.task.Metadata, u.Metadata)
	}
	if u.Note != "" {
		f.size += len(u.Note) - len(f.task.Note)
		f.task.Note = u.Note
	}
}

func (f *Fold) applyArtifact(u *a2a.ArtifactUpdate) {
	at := f.find(u.Artifact.ID)
	if at < 0 {
		at = f.add(u.Artifact.ID)
		u.Append = false
	}
	f.last = at
	u.Index = at
	a := &f.artifacts[at]
	f.size -= a.size
	if u.Append {
		a.extend(u)
	} else {
		a.replace(u)
	}
	f.size += a.size
}

func (f *Fold) find(id string) int {
	switch {
	case f.last < len(f.artifacts) && f.artifacts[f.last].head.ID == id:
		return f.last
	case f.index != nil:
		if at, ok := f.index[id]; ok {
			return at
		}
		return -1
	default:
		return slices.IndexFunc(f.artifacts, func(a artifact) bool { return a.head.ID == id })
	}
}

func (f *Fold) add(id string) int {
	at := len(f.artifacts)
	f.artifacts = append(f.artifacts, artifact{head: a2a.Artifact{ID: id}})
	switch {
	case f.index != nil:
		f.index[id] = at
	case len(f.artifacts) > indexThreshold:
		f.index = make(map[string]int, 2*len(f.artifacts))
		for i := range f.artifacts {
			f.index[f.artifacts[i].head.ID] = i
		}
	}
	return at
}
