// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// leaseTime is the time after which the lease of a sidecar that is gone has ended. Until then, the other sidecars may refuse requests for its
// tasks.
const leaseTime = 10 * time.Second

// own returns the faults of one sidecar.
func own(windows []Window, server string) (found []Window) {
	for _, w := range windows {
		if w.of(server) {
			found = append(found, w)
		}
	}
	return found
}

// lengthened adds the lease to windows.
func lengthened(windows []Window) []Window {
	longer := slices.Clone(windows)
	for i := range longer {
		longer[i].End = min(longer[i].End, math.MaxInt64-leaseTime) + leaseTime
	}
	return longer
}

// hits returns the kills and drains that may have hit the sidecar which held the task, with the lease: the sidecars that got its messages hold it
// and, after a fault of one of them, any other may hold it.
func (c *check) hits() (hits []Window) {
	holds := map[string]bool{"": true}
	for i := range c.Streams {
		if l := &c.Streams[i]; l.Opening == Sent {
			holds[l.Server] = true
		}
	}
	all := slices.Concat(c.faults.Kills, c.faults.Drains)
	slices.SortFunc(all, func(a, b Window) int { return cmp.Compare(a.Begin, b.Begin) })
	for _, w := range all {
		if w.overlaps(c.begun(), c.last()) && (len(hits) > 0 || holds[w.Server]) {
			hits = append(hits, w)
		}
	}
	return lengthened(hits)
}

// The beginnings of the failures of a task, by their cause.
var (
	agentFailures = []string{"The agent's answer broke off", "The connection to the agent broke", "The agent could not be reached"}
	ownerFailures = []string{"The replica that ran the agent is gone", "The agent was shut down before it finished"}
	storeFailures = []string{"The task could not be stored", "The message was refused"}
)

// causes returns the faults that may have caused the failure of the task.
func (c *check) causes() []Window {
	is := func(beginning string) bool { return strings.HasPrefix(c.StatusMessage, beginning) }
	switch {
	case c.StatusMessage == "": // it could not be read
		return slices.Concat(c.faults.Agents, c.hits(), c.faults.Outages)
	case slices.ContainsFunc(agentFailures, is):
		return c.faults.Agents
	case slices.ContainsFunc(ownerFailures, is):
		return slices.Concat(c.hits(), c.faults.Outages)
	case slices.ContainsFunc(storeFailures, is):
		return c.faults.Outages
	}
	return nil
}
