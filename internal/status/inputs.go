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
	// Problems are the user errors in the spec, and failures that keep it from being
	// applied.
	Problems []usererror.Problem
	// Remarks give conditions that are True another reason and message.
	Remarks []usererror.Problem
	// Card is the card to publish, and nil if there is none.
	Card *Card
	// CardKept is true if Card is the kept card, and everything else is of the
	// current spec.
	CardKept bool
	// Applied is true if every object is in sync with the spec.
	Applied bool
	// DeploymentChanged is true if this reconcile wrote the Deployment, so that
	// Observed does not show it yet.
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

// Result is a status, and when to reconcile again if no event comes before.
type Result struct {
	Status a2av1alpha1.AgentStatus
	// RecheckAfter is zero if only an event can change the status.
	RecheckAfter time.Duration
}
