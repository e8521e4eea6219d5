// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// clockTolerance is the difference of clocks up to which sidecars and API servers accept tokens.
const clockTolerance = time.Minute

// clockSuspicion is the difference of clocks from which doctor warns. It is well above the error of the measurement: a
// Date header has a precision of a second, and a slow connection adds to the error.
const clockSuspicion = 20 * time.Second

// serverClock records the time of the API server. It is safe for concurrent use.
type serverClock struct {
	mu sync.Mutex
	// server is the server's time in the fastest response, local the time of this machine at the same moment, and fastest
	// the duration of the request.
	server, local time.Time
	fastest       time.Duration
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (c *serverClock) transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		begin := time.Now()
		resp, err := next.RoundTrip(r)
		if err == nil {
			c.record(resp, begin, time.Since(begin))
		}
		return resp, err
	})
}

// record records the Date of a response if no earlier response was faster. Date has a precision of a second, so record
// adds half a second.
func (c *serverClock) record(resp *http.Response, begin time.Time, took time.Duration) {
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server.IsZero() || took < c.fastest {
		c.server = date.Add(time.Second / 2)
		c.local = begin.Add(took / 2)
		c.fastest = took
	}
}

// times returns the time of this machine and the time of the server at the same moment, zero if it is unknown.
func (c *serverClock) times() (local, server time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server.IsZero() {
		return time.Now(), time.Time{}
	}
	return c.local, c.server
}

// checkClock compares the clock of the user's machine with that of the API server.
func checkClock(s *SharedFacts) []Finding {
	if s.ServerTime.IsZero() {
		return nil
	}
	return clockFindings(s.ServerTime.Sub(s.Now), "the clock of this machine and that of the API server", Finding{
		Check: "clock of this machine",
		Cause: "Programs on this machine use tokens after they have expired, and do not trust certificates that are just issued.",
		Cure:  "Synchronize the clock of this machine by NTP.", Command: "timedatectl status",
	})
}

// clockOfNode compares the clock of the agent's node with the clock of the API server, which sets the times in tokens.
func clockOfNode(shared *SharedFacts, calls *CallFacts) []Finding {
	if calls.SidecarTime.IsZero() || shared.ServerTime.IsZero() {
		return nil
	}
	return clockFindings(calls.SidecarSkew-shared.ServerTime.Sub(shared.Now), "the clock of the agent's node and that of the API server", Finding{
		Check: "clock of the node",
		Cause: fmt.Sprintf("A sidecar rejects tokens that are not valid yet or have expired, by its own clock. It accepts a difference of %s.", clockTolerance),
		Cure:  "Synchronize the clocks of the nodes by NTP.", Command: "kubectl get nodes -o wide",
	})
}

// clockFindings adds the level and the observation to a finding about the difference of two clocks. It returns none for a
// difference below clockSuspicion.
func clockFindings(difference time.Duration, clocks string, f Finding) []Finding {
	if difference.Abs() < clockSuspicion {
		return nil
	}
	f.Level = LevelWarning
	if difference.Abs() > clockTolerance {
		f.Level = LevelProblem
	}
	f.Seen = []string{fmt.Sprintf("%s differ by %s", clocks, difference.Abs().Round(time.Second))}
	return []Finding{f}
}
