// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import "time"

// State is the state of a task (A2A 1.0 section 4.1.3).
type State uint8

// The states. StateUnknown is in no version of the protocol and is never sent to
// clients.
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

// Terminal reports whether the state is final: no event follows it.
func (s State) Terminal() bool { return s >= StateCompleted }

// Interrupted reports whether a task in this state waits for its client.
func (s State) Interrupted() bool { return s == StateInputRequired || s == StateAuthRequired }

// String returns the name of the state in 0.3, which logs and metrics use as well.
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

// Task is the fold of a task's event log. It is immutable: a later Task is a new value,
// which may share slices with it.
type Task struct {
	ID        string
	ContextID string
	Status    Status
	Artifacts []Artifact
	// History has the messages of client and agent, the oldest first, without the
	// current Status.Message.
	History  []*Message
	Metadata Object
	// Note is state of the backend that is stored with the task and never sent to
	// clients.
	Note string
	// Dialect is the dialect of the request that created the task.
	Dialect Dialect
}

// Status is the state of a task with its time.
type Status struct {
	State State
	// Message is the agent's message about the state, nil for none.
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

// Role is the author of a message.
type Role uint8

// The roles.
const (
	RoleUnspecified Role = iota
	RoleUser
	RoleAgent
)

// Message is a message of a client or an agent. It is immutable once the engine has it.
type Message struct {
	ID         string
	ContextID  string
	TaskID     string
	Role       Role
	Parts      []Part
	Metadata   Object
	Extensions []string
	// ReferenceTasks are the ids of tasks to which the message refers.
	ReferenceTasks []string
}

// Content identifies the field of a Part that is set.
type Content uint8

// The contents of a Part.
const (
	ContentText Content = iota + 1
	ContentRaw
	ContentURL
	ContentData
)

// Part is one part of a message or an artifact. Content identifies which of Text, Raw,
// URL and Data is set.
type Part struct {
	Content Content
	Text    string
	Raw     []byte
	URL     string
	// Data is a JSON value.
	Data      Value
	Filename  string
	MediaType string
	Metadata  Object
}

// TextPart returns a part that holds text.
func TextPart(text string) Part { return Part{Content: ContentText, Text: text} }
