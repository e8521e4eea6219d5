// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history checks the events that clients received in the streams of a task. It is pure: its only input is the
// recorded history, so a history can be checked again at any time.
package history

import (
	"cmp"
	"slices"
	"time"
)

// Task is the history of one task: the events that all clients received.
type Task struct {
	// ID is the id of the task. The client chose it in 0.1, the server in all other versions.
	ID string `json:"id"`
	// Want contains the chunks that the agent writes. Turns is the number of turns. All turns have the same number of
	// chunks.
	Want  []string `json:"want,omitempty"`
	Turns int      `json:"turns"`
	// Streams holds the streams that were read, in no order.
	Streams []Stream `json:"streams"`
	// Read is the task as it was read after its end, nil if the read failed.
	Read *Event `json:"read,omitempty"`
	// ReadAt is the time at which the request for Read was sent.
	ReadAt time.Duration `json:"readAt,omitempty"`
	// StatusMessage is the text of the status of a task that failed.
	StatusMessage string `json:"statusMessage,omitempty"`
	// GaveUp holds the clients that timed out before the task ended.
	GaveUp []string `json:"gaveUp,omitempty"`
	// Others holds further tasks that the same message created.
	Others []Other `json:"others,omitempty"`
}

// Other is a second task that one message created.
type Other struct {
	ID string `json:"id"`
	// First is the time at which the message was first sent, Then the time at which a reader received the second task.
	First time.Duration `json:"first"`
	Then  time.Duration `json:"then"`
}

// Opening is the kind of the request for a stream.
type Opening string

const (
	// Sent is a stream that answers a message.
	Sent Opening = "sent"
	// Subscribed is a stream that begins with the current state of the task.
	Subscribed Opening = "subscribed"
	// Resumed is a stream that begins after a given event.
	Resumed Opening = "resumed"
)

// Stream is one stream as its reader received it.
type Stream struct {
	// Client is the name of the reader, which reads one stream after another. Dialect is the dialect of the stream.
	Client  string `json:"client,omitempty"`
	Dialect string `json:"dialect,omitempty"`
	// Server is the address of the sidecar.
	Server  string  `json:"server,omitempty"`
	Opening Opening `json:"opening"`
	// After is the number of the event after which the stream was resumed.
	After uint64 `json:"after,omitempty"`
	// Begin, First and End are times since the start of the run. Begin is when the request was sent, and First when the
	// reader received the first event; 0 for none.
	Begin   time.Duration `json:"begin"`
	First   time.Duration `json:"first,omitempty"`
	End     time.Duration `json:"end"`
	Events  []Event       `json:"events"`
	Outcome Outcome       `json:"outcome"`
	// Reason explains a refusal.
	Reason string `json:"reason,omitempty"`
	// Broken is true if the reader broke the connection itself.
	Broken bool `json:"broken,omitempty"`
}

// Outcome is the way in which a stream ended.
type Outcome string

const (
	// Ended is an orderly end.
	Ended Outcome = "ended"
	// Cut is a broken connection, by either side.
	Cut Outcome = "cut"
	// NotFound is the response that the task does not exist.
	NotFound Outcome = "not found"
	// Unavailable is a response that asks the client to retry.
	Unavailable Outcome = "unavailable"
	// AlreadyEnded is the response that the task has ended.
	AlreadyEnded Outcome = "already ended"
	// Refused is any other error response.
	Refused Outcome = "refused"
)

// Kind is the kind of an event.
type Kind string

const (
	// Snapshot contains the current State of the task and the whole Text.
	Snapshot Kind = "snapshot"
	// Status is a change of State.
	Status Kind = "status"
	// Standing is the status with which a stream of 0.1 begins in place of a snapshot. It has no text.
	Standing Kind = "standing"
	// Chunk contains additional Text: one chunk or, at the beginning of a stream of 0.1, all chunks of a turn.
	Chunk Kind = "chunk"
)

// Event is an element of a stream.
type Event struct {
	// Seq is the number of the event, 0 in dialects without numbers.
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

// waiting reports whether an event asks the client for input.
func (e *Event) waiting() bool { return e.Kind != Chunk && e.State == inputRequired }

const inputRequired = "input-required"

// Window is the duration of a fault.
type Window struct {
	// Server is the address of the sidecar with the fault, "" for a fault of something that all sidecars use.
	Server string        `json:"server,omitempty"`
	Begin  time.Duration `json:"begin"`
	End    time.Duration `json:"end"`
}

// Restore replaces the data of the shared store by a backup.
type Restore struct {
	// Backup is the time at which the backup began, Kill the time at which the store ended, and End the time from which its
	// sidecars serve again.
	Backup time.Duration `json:"backup"`
	Kill   time.Duration `json:"kill"`
	End    time.Duration `json:"end"`
}

// Faults are the faults of a run.
type Faults struct {
	// Kills are kills of sidecars, from the signal to the moment when the next process listens. Drains are graceful
	// shutdowns of sidecars, Agents are kills of the agent, and Outages are outages of the shared store. Pauses are pauses of sidecars,
	// from SIGSTOP to SIGCONT.
	Kills   []Window `json:"kills"`
	Drains  []Window `json:"drains"`
	Agents  []Window `json:"agents"`
	Outages []Window `json:"outages"`
	Pauses  []Window `json:"pauses,omitempty"`
	// Restores are the restores of the shared store.
	Restores []Restore `json:"restores,omitempty"`
	// Forgets is true if sidecars store tasks in memory, so that a kill loses them.
	Forgets bool `json:"forgets,omitempty"`
}

// within reports whether a window overlaps with a time span.
func within(windows []Window, begin, end time.Duration) bool {
	return slices.ContainsFunc(windows, func(w Window) bool { return w.overlaps(begin, end) })
}

func (w *Window) overlaps(begin, end time.Duration) bool { return w.Begin <= end && begin <= w.End }

// PausedDuring reports whether a sidecar was paused at some time of a call to it.
func (f *Faults) PausedDuring(server string, begin, end time.Duration) bool {
	return slices.ContainsFunc(f.Pauses, func(w Window) bool { return w.Server == server && w.overlaps(begin, end) })
}

// Interruptions returns the number of kills and pauses that may have interrupted a turn in a time: from the first one of a sidecar that got
// a copy of its message on, because any other sidecar may have run it then.
func (f *Faults) Interruptions(servers []string, begin, end time.Duration) (n int) {
	all := slices.Concat(f.Kills, f.Pauses)
	slices.SortFunc(all, func(a, b Window) int { return cmp.Compare(a.Begin, b.Begin) })
	for _, w := range all {
		if w.overlaps(begin, end) && (n > 0 || slices.Contains(servers, w.Server)) {
			n++
		}
	}
	return n
}

// of reports whether a window is a fault of a sidecar.
func (w *Window) of(server string) bool { return w.Server == "" || server == "" || w.Server == server }
