// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// The causes of a canceled context of a run (context.Cause).
var (
	errDrained = errors.New("server is shutting down")
	errOver    = errors.New("task has ended")
	// errLost means that another replica runs the task, or may run it soon: this replica is
	// fenced.
	errLost = errors.New("another replica runs the task")
	// errStore means that the store does not answer. It is also the error of a run whose
	// input could not be read from the store (prepare), and of a failed read of a
	// subscription.
	errStore = errors.New("store is not available")
)

// errNotBegun means that this replica cannot begin the turn of an accepted message of an
// orphaned task now: the limits of turns or of the messages that wait are reached, the engine drains, the lease may have
// ended, or another replica was first.
var errNotBegun = errors.New("turn of a waiting message cannot begin")

// errNoRerun means that a turn cannot be re-run. rebuildTurn lists the reasons.
var errNoRerun = errors.New("turn cannot be run again")

// Internal outcomes of the beginning of a turn. No client receives them.
var (
	// errFollowed means that an earlier copy of the message began a turn, which the new turn
	// follows.
	errFollowed = errors.New("message began a turn before")
	// errNotPaused means that the task to which a message replies is no longer paused.
	errNotPaused = errors.New("task is not paused")
)

// Status messages of tasks that fail although the agent did not report a failure.
const (
	reasonFull        = "The task is larger than the task store allows"
	reasonStore       = "The task could not be stored"
	reasonInternal    = "The agent could not be run"
	reasonInput       = "No input arrived within "
	reasonPush        = "The push notification configuration was refused"
	reasonShutdown    = "The agent was shut down before it finished"
	reasonInterrupted = "The replica that ran the agent is gone"
	reasonExhausted   = "The agent was interrupted too often"
	reasonNoRerun     = "The agent was interrupted, and the turn could not be run again"
	reasonRefused     = "The message was refused"
	reasonRolledBack  = "The task store lost events of the task"
)

// errShuttingDown is the answer to a message while the engine drains. An outage of the store is
// store.ErrUnavailable instead.
func errShuttingDown() error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "Server is shutting down; try again"}
}

// errStoreDown refuses a request during an outage of the store.
func errStoreDown() error { return store.Unavailable() }

// errRolledBack is the error of streams and requests for a task after the store has lost
// events of the task. The client should read the task again.
func errRolledBack() error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: reasonRolledBack + "; read the task again"}
}

// errMoving refuses a message for a task whose owner replica is about to change.
func errMoving() error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The task moves to another replica; try again"}
}

// errTerminal refuses a message to a task that has ended: as invalid parameters if the
// client chose the task id (0.1), otherwise as an unsupported operation.
func errTerminal(tn *turn) error {
	id := tn.taskID
	if tn.request.ClientTaskID {
		return &a2a.Error{Reason: a2a.ReasonInvalidParams, Message: "Task is in a terminal state; send the message with another task id", TaskID: id}
	}
	return &a2a.Error{
		Reason:  a2a.ReasonUnsupportedOperation,
		Message: "Task is in a terminal state and takes no more messages; send the message without a task id",
		TaskID:  id,
	}
}

func errNotCancelable(id string) *a2a.Error {
	return &a2a.Error{Reason: a2a.ReasonTaskNotCancelable, Message: "Task cannot be canceled", TaskID: id}
}

func errTooManyWaiting(id string) *a2a.Error {
	return &a2a.Error{
		Reason:  a2a.ReasonResourceExhausted,
		Message: "Too many messages wait for this task; try again later",
		TaskID:  id,
	}
}

// wrapUnlessClientError adds the failed operation to an error. If err contains an *a2a.Error,
// wrapUnlessClientError returns err unchanged, because the client receives the *a2a.Error. It
// returns nil for nil.
func wrapUnlessClientError(doing string, err error) error {
	if _, ok := errors.AsType[*a2a.Error](err); err == nil || ok {
		return err
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// unlessMissing returns nil if err means that a task does not exist, and err otherwise.
func unlessMissing(err error) error {
	if problem, ok := errors.AsType[*a2a.Error](err); ok && problem.Reason == a2a.ReasonTaskNotFound || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// storeError translates an error of the store into an error that contains the *a2a.Error
// for the client.
func storeError(doing, id string, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return a2a.TaskNotFound(id)
	case errors.Is(err, store.ErrFull):
		return fmt.Errorf("%s: %w: %w", doing, err, &a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "The task store has no room for another task; try again when tasks have ended"})
	case errors.Is(err, store.ErrHeld):
		return errMoving()
	case errors.Is(err, store.ErrRolledBack):
		return fmt.Errorf("%s: %w: %w", doing, errRolledBack(), err)
	}
	return store.ClientError(doing, err)
}

func storeErrorOrNil(doing, id string, err error) error {
	if err == nil {
		return nil
	}
	return storeError(doing, id, err)
}
