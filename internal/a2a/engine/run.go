// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// run is one call of the backend.
type run struct {
	turn *turn
	// principal is the accounting principal that the turn queue charges for the run.
	principal a2a.AccountingPrincipal
	started   time.Time
	// cancelCall cancels the context of the call; nil until the call begins.
	cancelCall context.CancelCauseFunc
	// freed is true once the turn queue counts the turn as ended. Only the goroutine of
	// the run uses it.
	freed bool
	// done closes when the call has returned; nil until whenReturned needs it.
	done chan struct{}
	// ignored is true once the engine ignores the events of the agent. returned is true
	// once the call has returned.
	ignored, returned bool
	// responded is true once the agent has sent an event.
	responded bool
	// input is true while the run delivers a message to another run.
	input bool
	// lastMessage is the current status message if the agent sent it without a status. It
	// stays the status message when the task completes.
	lastMessage *a2a.Message
	// artifact is the id of the turn's artifact, "" until artifactID is called.
	// wroteArtifact is true if the agent wrote to it.
	artifact      string
	wroteArtifact bool
}

func (r *run) artifactID() string {
	if r.artifact == "" {
		r.artifact = backend.ArtifactID(r.turn.number)
	}
	return r.artifact
}

// cancel makes the engine ignore the run and cancels the context of its call, with a
// cause. The lock of the task is held.
func (r *run) cancel(why error) {
	r.ignored = true
	if r.cancelCall != nil {
		r.cancelCall(why)
	}
}

// whenReturned returns a channel that closes when the call has returned. The lock of the
// task is held.
func (r *run) whenReturned() <-chan struct{} {
	if r.done == nil {
		r.done = make(chan struct{})
		if r.returned {
			close(r.done)
		}
	}
	return r.done
}

// hasReturned records that the call has returned. The lock of the task is held.
func (r *run) hasReturned() {
	r.returned = true
	if r.done != nil {
		close(r.done)
	}
}
