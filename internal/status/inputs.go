// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// Inputs are the inputs of the status of an Agent.
type Inputs struct {
	// Observed is the state that the reconcile read.
	Observed clusterstate.Agent
	// Problems are the user errors in the spec, and the failures that prevent the
	// application of the spec.
	Problems []usererror.Problem
	// Remarks replace the reason and the message of conditions that are True.
	Remarks []usererror.Problem
	// Card is the card to publish, or nil if there is none.
	Card *Card
	// CardKept is true if Card is the kept card. Everything else comes from the current
	// spec.
	CardKept bool
	// Applied is true if every object is in sync with the spec.
	Applied bool
	// DeploymentChanged is true if this reconcile wrote the Deployment. Observed then
	// contains the Deployment from before the write.
	DeploymentChanged bool
	// Now is the time.
	Now time.Time
}

// Card describes the card to publish.
type Card struct {
	URL string
	// ExternalURL is "" if no Gateway routes to the agent.
	ExternalURL  string
	CardDigest   string
	ConfigDigest string
	Skills       int32
}

// Result is a status, and the delay after which to reconcile again if no event starts a
// reconcile earlier.
type Result struct {
	Status a2av1alpha1.AgentStatus
	// RecheckAfter is 0 if only an event can change the status.
	RecheckAfter time.Duration
}
