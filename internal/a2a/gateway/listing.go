// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import "time"

const (
	// listedAge is how long a listing of an agent is used before the registry is asked
	// again, and missingAge how long that of a missing agent.
	listedAge  = 15 * time.Second
	missingAge = 2 * time.Second
	// listedAgeLost is how long a listing is used while the registry does not answer. A
	// token for an agent of the cluster is not valid for longer.
	listedAgeLost = 10 * time.Minute
)

// listing is the entry of an agent. It does not change, except for tried.
type listing struct {
	// found is true if the registry lists the agent, and address if the agent has a URL:
	// before that, a Service of its name may belong to something else.
	found, address bool
	// secure is true if the URL of an agent of the cluster is one of https.
	secure bool
	// agent is nil for an agent of the cluster.
	agent *Remote
	asked time.Time
	// tried is the time of the last failed request for the entry. listings.mu guards it.
	tried time.Time
}

func (l *listing) size() int {
	if l.agent == nil {
		return 0
	}
	return len(l.agent.Card)
}

// fresh reports whether the listing is used without a request to the registry.
func (l *listing) fresh(now time.Time) bool {
	age := listedAge
	if !l.found || !l.address {
		age = missingAge
	}
	return now.Sub(l.asked) < age
}

// holds reports whether the listing is used while the registry does not answer.
func (l *listing) holds(now time.Time) bool {
	return l.found && l.address && now.Sub(l.asked) < listedAgeLost
}

// err returns why the agent cannot be called; nil if it can.
func (l *listing) err() error {
	switch {
	case !l.found:
		return errNotListed
	case !l.address:
		return errNoAddress
	default:
		return nil
	}
}
