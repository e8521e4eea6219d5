// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import "time"

const (
	// listedAge is how long a listing of an agent is used until the registry is asked again.
	// missingAge is the same for an agent that the registry does not list, or lists without
	// a URL.
	listedAge  = 15 * time.Second
	missingAge = 2 * time.Second
	// listedAgeLost is how long a listing is used while the registry does not respond. It is
	// the lifetime of a token for an agent of the cluster (tokenexchange.Lifetime): without
	// the registry, the gateway cannot call such an agent for longer.
	listedAgeLost = 10 * time.Minute
)

// listing is the registry's entry of an agent. It is immutable, except for tried.
type listing struct {
	// found is true if the registry lists the agent. address is true if the listed agent has a
	// URL. The gateway does not call an agent without a URL, because another workload may own
	// the Service with the agent's name.
	found, address bool
	// secure is true for an agent of the cluster whose URL has the scheme https.
	secure bool
	// agent is the remote agent, or nil for an agent of the cluster.
	agent *Remote
	asked time.Time
	// tried is the time of the last failed attempt to read the entry again. listings.mu guards
	// it.
	tried time.Time
}

func (l *listing) size() int {
	if l.agent == nil {
		return 0
	}
	return len(l.agent.Card)
}

// fresh reports whether the listing is recent enough to be used without a request to the
// registry.
func (l *listing) fresh(now time.Time) bool {
	age := listedAge
	if !l.found || !l.address {
		age = missingAge
	}
	return now.Sub(l.asked) < age
}

// holds reports whether the listing may be used while the registry does not respond.
func (l *listing) holds(now time.Time) bool {
	return l.found && l.address && now.Sub(l.asked) < listedAgeLost
}

// err returns the reason why the agent cannot be called, or nil if it can be called.
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
