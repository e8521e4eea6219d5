// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package a2a is the domain of the Agent2Agent protocol, independent of any
// protocol version: tasks, messages, events, requests and errors.
//
// Its types are used along the whole request path, which runs
//
//	auth -> binding -> codec -> engine -> backend -> engine -> codec -> binding
//
// through the packages below this one. None of them imports Kubernetes, the sidecar
// configuration or a custom resource; .golangci.yml has the import rules. The engine and
// the stores depend on no version of the wire format. Only the codecs, the dialects of the
// bindings, the card, push and the upstream backend depend on versions.
//
//	auth         authenticates callers
//	authz        authorizes callers
//	requestcheck checks each request against the authorization rules and the card
//	version      reads the protocol version of a request
//	binding      one transport each: decodes requests, calls the handler, encodes answers
//	codec        translates bytes into domain values and back, with a table for each version
//	engine       runs turns and owns tasks; independent of transports
//	store        stores the event logs
//	backend      runs turns in the agent's container
//	push         posts the events of tasks to webhooks
//	egress       checks the addresses that clients name before they are called
//	card         models and renders the Agent Card; pure, shared with the operator
//	gateway      forwards calls of the agent to the registry and to other agents
//	sessionapi   stores the sessions of the agent's container
//	translator   serves remote agents through the gateway
//	directory    serves the registry as an A2A agent
//	serverconn   wraps the connections of the HTTP server
//	http1        is the HTTP/1.1 client for the agent's container and for webhooks
//	limit        enforces the limits of callers
//	tokenbudget  limits the tokens of language models by the hour
//	tracing      makes the spans of the request path
package a2a

import "time"

// State is the state of a task (A2A 1.0 section 4.1.3).
type State uint8

// The states. StateUnknown stands for a status that names no state ("unknown" in 0.3,
// TASK_STATE_UNSPECIFIED in 1.0). No stored task has it, so clients never receive it.
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

// Terminal reports whether the state is final: no event follows it, except for a message
// that restarts the task (SendRequest.Restart, 0.1).
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

// PlainText reports whether the part has text and nothing else.
func (p *Part) PlainText() bool {
	return p.Content == ContentText && p.Filename == "" && p.MediaType == "" && len(p.Metadata) == 0
}

// WithHistory returns the task with at most the newest *n messages of its history; nil
// means all messages. It does not change t.
func (t *Task) WithHistory(n *int) *Task {
	if n == nil || len(t.History) <= *n {
		return t
	}
	trimmed := *t
	trimmed.History = nil
	if *n > 0 {
		trimmed.History = t.History[len(t.History)-*n:]
	}
	return &trimmed
}

// Object is the encoding of a JSON object that the server forwards unread, such as
// metadata. A decoder has validated it: UTF-8, no duplicate keys, bounded depth, no
// insignificant whitespace. Nil means absent.
type Object []byte

// Value is the encoding of any JSON value, validated like Object.
type Value []byte

// Dialect is an encoding of events. A Record caches the bytes of its event in each dialect.
type Dialect uint8

// The dialects.
const (
	// DialectV03 is the JSON with kind discriminators of 0.2 and 0.3.
	DialectV03 Dialect = iota
	// DialectV10 is the ProtoJSON of 1.0.
	DialectV10
	// DialectV01 is the JSON of 0.1, whose parts have the member type instead of kind.
	DialectV01
	// DialectV03Proto is the ProtoJSON of the package a2a.v1 (0.2.2 to 0.3).
	DialectV03Proto
	// DialectKindREST is the JSON of DialectV03 over REST. Each frame of a stream contains
	// its event twice (package kindrest).
	DialectKindREST
	// DialectV03GRPC and DialectV10GRPC are the messages of a2a.v1 and lf.a2a.v1.
	DialectV03GRPC
	DialectV10GRPC
	// DialectUnion is DialectV03 with the additional members that clients of 0.1 read.
	DialectUnion
	dialects
)
