// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Causes with which the context of a run is canceled.
var (
	errDrained = errors.New("server is shutting down")
	errOver    = errors.New("task has ended")
)

// Outcomes of beginning a turn that no client sees.
var (
	// errFollowed: the same message began a turn before, which the new turn follows.
	errFollowed = errors.New("message began a turn before")
	// errNotPaused: the task that a reply was meant for is not paused any more.
	errNotPaused = errors.New("task is not paused")
)

func errUnavailable() error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "Server is shutting down"}
}

// errStoreDown refuses a request during an outage of the store.
func errStoreDown() error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The task store is not available"}
}

// errNotNow refuses a message for a task whose owner replica is about to change.
func errNotNow() error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The task moves to another replica"}
}

func errTooManyMails() error {
	return &a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "Too many messages wait for another replica"}
}

// errTerminal refuses a message to a task that has ended: as invalid parameters if the
// client chose the task id (0.1), otherwise as an unsupported operation.
func errTerminal(tn *turn) error {
	id := tn.taskID
	if tn.request.ClientTaskID {
		return &a2a.Error{Reason: a2a.ReasonInvalidParams, Message: "Task is in a terminal state", TaskID: id}
	}
	return &a2a.Error{
		Reason:  a2a.ReasonUnsupportedOperation,
		Message: "Task is in a terminal state and takes no more messages",
		TaskID:  id,
	}
}

func errNotCancelable(id string) *a2a.Error {
	return &a2a.Error{Reason: a2a.ReasonTaskNotCancelable, Message: "Task cannot be canceled", TaskID: id}
}

func errTooManyWaiting(id string) *a2a.Error {
	return &a2a.Error{
		Reason:  a2a.ReasonResourceExhausted,
		Message: "Too many messages wait for this task",
		TaskID:  id,
	}
}
