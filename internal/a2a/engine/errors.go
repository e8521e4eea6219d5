// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Why a run's context ends. The log says it to clients before.
var (
	errDrained = errors.New("server is shutting down")
	errOver    = errors.New("task has ended")
)

var (
	// errFollowed is the error of a turn that does not begin, because the same
	// message began one before.
	errFollowed = errors.New("message was taken before")
	// errNotPaused is the error of a reply to a task that does not wait for its
	// client, or not any more.
	errNotPaused = errors.New("task is not paused")
)

func errUnavailable() error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "Server is shutting down"}
}

// errStoreDown is what a client reads of a store that does not answer.
func errStoreDown() error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The task store is not available"}
}

// errNotNow refuses what another replica is about to decide.
func errNotNow() error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The task moves to another replica"}
}

func errTooManyMails() error {
	return &a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "Too many messages wait for another replica"}
}

// errTerminal refuses a message to a task that has ended. A client that chose
// the id chose a wrong one; to all others the operation is not open.
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
