// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net/http"
	"sync"
	"time"
)

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
		begin := time.Now() //nolint:forbidigo // it compares the clock of this machine
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
		c.server, c.local, c.fastest = date.Add(time.Second/2), begin.Add(took/2), took
	}
}

// times returns the time of this machine and the time of the server at the same moment, zero if it is unknown.
func (c *serverClock) times() (local, server time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server.IsZero() {
		return time.Now(), time.Time{} //nolint:forbidigo // the ages of objects are for people
	}
	return c.local, c.server
}
