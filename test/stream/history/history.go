// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history judges what clients saw of a task's streams. It is pure: it
// knows no client, no server and no clock, only what was written down, so that
// a history can be judged again anywhere.
package history

import "time"

// Task is all that clients saw of one task.
type Task struct {
	// ID is the one that the server gave, or the client for 0.1.
	ID string `json:"id"`
	// Want are the chunks that the agent says, and Turns the turns among which
	// they are divided evenly.
	Want  []string `json:"want,omitempty"`
	Turns int      `json:"turns"`
	// Legs are the streams that were read, in no order.
	Legs []Leg `json:"legs"`
	// Read is the task as it was read after its end; nil when it could not be.
	Read *Event `json:"read,omitempty"`
	// Word is what is said of a task that failed.
	Word string `json:"word,omitempty"`
	// GaveUp are the clients whose patience ended before the task did.
	GaveUp []string `json:"gaveUp,omitempty"`
	// Others are further tasks that came of the same message.
	Others []Other `json:"others,omitempty"`
}

// Other is a task that came of a message that had made one already.
type Other struct {
	ID string `json:"id"`
	// First and Then are when each of both was told of.
	First time.Duration `json:"first"`
	Then  time.Duration `json:"then"`
}

// Opening is how a stream was asked for.
type Opening string

// The openings.
const (
	// Sent is the stream of a message.
	Sent Opening = "sent"
	// Subscribed is that of a task, from where it stands.
	Subscribed Opening = "subscribed"
	// Resumed is that of a task, from behind an event on.
	Resumed Opening = "resumed"
)

// Leg is one stream, as its reader saw it.
type Leg struct {
	// Client names the reader, who reads one stream after the other, and Dialect
	// what it speaks.
	Client  string  `json:"client,omitempty"`
	Dialect string  `json:"dialect,omitempty"`
	Opening Opening `json:"opening"`
	// After is the number behind which the stream was resumed.
	After uint64 `json:"after,omitempty"`
	// Begin and End are times since the beginning of the run.
	Begin   time.Duration `json:"begin"`
	End     time.Duration `json:"end"`
	Events  []Event       `json:"events"`
	Outcome Outcome       `json:"outcome"`
	// Reason tells more of a refusal.
	Reason string `json:"reason,omitempty"`
	// Broken is true when the reader broke the connection itself.
	Broken bool `json:"broken,omitempty"`
}

// Outcome is how a stream ended.
type Outcome string

// The outcomes.
const (
	// Ended is the end that the server gave it.
	Ended Outcome = "ended"
	// Cut is a connection that broke, whoever broke it.
	Cut Outcome = "cut"
	// NotFound is the answer that there is no such task.
	NotFound Outcome = "not found"
	// Unavailable asks the client to come again.
	Unavailable Outcome = "unavailable"
	// Over is the answer that the task has ended.
	Over Outcome = "over"
	// Refused is any other error.
	Refused Outcome = "refused"
)

// Kind is what an event is.
type Kind string

// The kinds.
const (
	// Snapshot is where the task stands: State, and Text of all it has said.
	Snapshot Kind = "snapshot"
	// Status is a change of State.
	Status Kind = "status"
	// Standing is a status that stands for a snapshot, in 0.1. It says nothing
	// of what the task has said.
	Standing Kind = "standing"
	// Chunk is more Text: one chunk, or where a stream of 0.1 begins all that
	// there are.
	Chunk Kind = "chunk"
)

// Event is what a stream holds.
type Event struct {
	// Seq is the event's number, 0 where the dialect has none.
	Seq   uint64 `json:"seq,omitempty"`
	Kind  Kind   `json:"kind"`
	State string `json:"state,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Terminal reports whether an event ends its task.
func (e *Event) Terminal() bool {
	switch e.State {
	case "completed", "failed", "canceled", "rejected":
		return e.Kind != Chunk
	}
	return false
}

// waiting reports whether an event is a question to the client.
func (e *Event) waiting() bool { return e.Kind != Chunk && e.State == inputRequired }

const inputRequired = "input-required"

// Window is a time in which something was broken on purpose.
type Window struct {
	Begin time.Duration `json:"begin"`
	End   time.Duration `json:"end"`
}

// Faults are all such times.
type Faults struct {
	// Kills are those of sidecars, from the signal to the moment when the next
	// one listens. Drains are sidecars that were asked to end, Agents those of
	// the agent, and Outages those of a store that others share.
	Kills   []Window `json:"kills"`
	Drains  []Window `json:"drains"`
	Agents  []Window `json:"agents"`
	Outages []Window `json:"outages"`
	// Forgets is true when what a sidecar knew dies with it.
	Forgets bool `json:"forgets,omitempty"`
}

// within reports whether a window overlaps with a time.
func within(windows []Window, begin, end time.Duration) bool {
	for _, w := range windows {
		if w.Begin <= end && begin <= w.End {
			return true
		}
	}
	return false
}
