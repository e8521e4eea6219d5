// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

// Referrals returns the entries of all peers. For a search, an entry has the URL of the peer's
// search route; for a manifest, it has the base URL of the peer's API.
func (f *Federation) Referrals(forSearch bool) []ard.Entry {
	var entries []ard.Entry
	for _, p := range f.current.Load().peers {
		url := p.URL + "/"
		if forSearch {
			url += "search"
		}
		entries = append(entries, ard.RegistryEntry(p.Publisher, "Registry "+p.Name, url))
	}
	return entries
}

// Reachability of a peer, according to the last search that changed its state.
const (
	reachable   = "Reachable"
	unreachable = "Unreachable"
	unknown     = "Unknown"
)

// State is the state of a peer as this replica of the registry observed it.
type State struct {
	Name      string `json:"name"`
	URL       string `json:"url"`
	Publisher string `json:"publisher"`
	Mode      Mode   `json:"mode"`
	// State is Reachable or Unreachable, by the last search, or Unknown before one.
	State string `json:"state"`
	// CircuitOpen is true while the circuit breaker stops searches of the peer.
	CircuitOpen bool   `json:"circuitOpen"`
	LastSuccess string `json:"lastSuccess,omitempty"`
	// Error is the message of the last failure, "" after a success.
	Error string `json:"error,omitempty"`
}

// States returns the states of all peers in the order of the file.
func (f *Federation) States() []State {
	states := []State{}
	for _, p := range f.current.Load().peers {
		s := State{Name: p.Name, URL: p.URL, Publisher: p.Publisher, Mode: p.Mode, State: unknown, CircuitOpen: p.breaker.State() == gobreaker.StateOpen}
		p.mu.Lock()
		if !p.lastSuccess.IsZero() {
			s.State, s.LastSuccess = reachable, p.lastSuccess.UTC().Format(time.RFC3339)
		}
		if p.last != nil {
			s.State, s.Error = unreachable, p.last.message
		}
		p.mu.Unlock()
		states = append(states, s)
	}
	return states
}
