// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

// Event is one entry of a task's log, or the answer to a message that made no
// task. Exactly one of its members is set.
type Event struct {
	// Task is a snapshot. It opens streams and is never in a log.
	Task *Task
	// Message is a direct answer when it comes from a turn without a task, and
	// a message of the client when it stands in a log.
	Message *Message
	// Status is a new status of the task.
	Status *StatusUpdate
	// Artifact is a new or longer artifact.
	Artifact *ArtifactUpdate
}

// StatusUpdate changes a task's status.
type StatusUpdate struct {
	TaskID    string
	ContextID string
	Status    Status
	// Paused is true when the state is an interruption and the agent's run goes
	// on waiting for the answer. Versions up to 0.3 then say final:false.
	Paused   bool
	Metadata Object
	// Note is what the backend wants to find in Task.Note when the task goes on;
	// "" leaves that as it is.
	Note string
}

// ArtifactUpdate adds or extends an artifact.
type ArtifactUpdate struct {
	TaskID    string
	ContextID string
	Artifact  Artifact
	// Index is the artifact's place among those of the task, from 0, in the order
	// of their first updates. The log fills it in.
	Index int
	// Append adds the parts to those of the artifact with the same id;
	// otherwise the artifact is replaced.
	Append bool
	// JoinText makes plain text of this update continue the text that the
	// artifact ends with, instead of standing in a part of its own. It concerns
	// the task only; on the wire the update looks like any other.
	JoinText  bool
	LastChunk bool
	Metadata  Object
}
