// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import "time"

// State is where a task stands (A2A 1.0 section 4.1.3).
type State uint8

// The states. The zero value is unknown to every version of the protocol and
// never leaves the engine.
const (
	StateUnknown State = iota
	StateSubmitted
	StateWorking
	StateInputRequired
	StateAuthRequired
	StateCompleted
	StateFailed
	StateCanceled
	StateRejected
)

// Terminal reports whether a task in this state accepts no further event.
func (s State) Terminal() bool { return s >= StateCompleted }

// Interrupted reports whether the task waits for its client.
func (s State) Interrupted() bool { return s == StateInputRequired || s == StateAuthRequired }

// String returns the name of 0.3, which is also what logs and metrics use.
func (s State) String() string {
	names := [...]string{
		"unknown", "submitted", "working", "input-required", "auth-required",
		"completed", "failed", "canceled", "rejected",
	}
	if int(s) < len(names) {
		return names[s]
	}
	return names[StateUnknown]
}

// Task is the fold of a task's event log. A Task that was handed out is never
// changed: the engine makes a new one, which may share the older one's slices.
type Task struct {
	ID        string
	ContextID string
	Status    Status
	Artifacts []Artifact
	// History holds the messages of both sides, the oldest first. The current
	// Status.Message is not in it.
	History  []*Message
	Metadata Object
	// Note is what the backend keeps with the task. No version of the protocol
	// has a place for it, and no client sees it.
	Note string
	// Dialect is the one in which the task was created.
	Dialect Dialect
}

// Status is the state of a task, since when, and why.
type Status struct {
	State State
	// Message is the agent's word on the state; nil when it said nothing.
	Message *Message
	Time    time.Time
}

// Artifact is an output of a task.
type Artifact struct {
	ID          string
	Name        string
	Description string
	Parts       []Part
	Metadata    Object
	Extensions  []string
}

// Role says who wrote a message.
type Role uint8

// The roles.
const (
	RoleUnspecified Role = iota
	RoleUser
	RoleAgent
)

// Message is one thing said by a client or an agent. It is not changed after
// it was handed to the engine.
type Message struct {
	ID         string
	ContextID  string
	TaskID     string
	Role       Role
	Parts      []Part
	Metadata   Object
	Extensions []string
	// ReferenceTasks are the ids of tasks that the message builds on.
	ReferenceTasks []string
}

// Content says which member of a Part is set.
type Content uint8

// The contents of a Part.
const (
	ContentText Content = iota + 1
	ContentRaw
	ContentURL
	ContentData
)

// Part is a piece of a message or of an artifact: exactly one of Text, Raw,
// URL and Data, as Content says.
type Part struct {
	Content Content
	Text    string
	Raw     []byte
	URL     string
	// Data is any JSON value, as text.
	Data      Value
	Filename  string
	MediaType string
	Metadata  Object
}

// TextPart returns a part that holds text.
func TextPart(text string) Part { return Part{Content: ContentText, Text: text} }
