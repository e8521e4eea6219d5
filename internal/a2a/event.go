// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

// Event is one entry of a task's log, or the agent's answer to a message without a
// task. Exactly one of its fields is set.
type Event struct {
	// Task is a snapshot. It is the first event of a stream and never in a log.
	Task *Task
	// Message is a message of the client if the event is in a log, and otherwise the
	// agent's answer without a task.
	Message *Message
	// Status is a new status of the task.
	Status *StatusUpdate
	// Artifact is a new artifact, or more content of one.
	Artifact *ArtifactUpdate
}

// StatusUpdate changes a task's status.
type StatusUpdate struct {
	TaskID    string
	ContextID string
	Status    Status
	// Paused is true if the task is interrupted and the run of the agent stays
	// connected until the client answers. Versions up to 0.3 encode it as final:false.
	Paused   bool
	Metadata Object
	// Note replaces Task.Note; "" keeps it.
	Note string
}

// ArtifactUpdate adds or extends an artifact.
type ArtifactUpdate struct {
	TaskID    string
	ContextID string
	Artifact  Artifact
	// Index is the position of the artifact among the artifacts of the task, from 0, in
	// the order of their first updates. The log sets it.
	Index int
	// Append adds the parts to the artifact with the same id; otherwise the update
	// replaces the artifact.
	Append bool
	// JoinText appends plain text of this update to the last text part of the artifact
	// instead of adding a part. It affects the task only, not the update on the wire.
	JoinText  bool
	LastChunk bool
	Metadata  Object
}
