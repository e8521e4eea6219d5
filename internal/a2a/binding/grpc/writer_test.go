// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
)

// slowClient is the response to a slow client, which needs the time each to read one piece.
type slowClient struct {
	*httptest.ResponseRecorder
	now   time.Time
	each  time.Duration
	reset bool
}

func (c *slowClient) SetWriteDeadline(t time.Time) error {
	c.reset = !t.IsZero() && t.Before(c.now)
	return nil
}

func (c *slowClient) Write(p []byte) (int, error) {
	c.now = c.now.Add(c.each)
	return c.ResponseRecorder.Write(p)
}

// TestSlowClientsAreDisconnectedAtTheAnswerTimeout checks that a client has a limited time to
// read a message, although it reads each piece in time.
func TestSlowClientsAreDisconnectedAtTheAnswerTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		answer, each, want time.Duration
		reset              bool
	}{
		"slow, without a bound":               {0, 9 * time.Second, 90 * time.Second, false},
		"slow, with a bound":                  {30 * time.Second, 9 * time.Second, 36 * time.Second, true},
		"that needs the whole answer timeout": {30 * time.Second, 3 * time.Second, 30 * time.Second, false},
	} {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		c := &slowClient{ResponseRecorder: httptest.NewRecorder(), now: start, each: test.each}
		w := newWriter(c, &httpcall.Limits{WriteTimeout: time.Minute, AnswerTimeout: test.answer, Now: func() time.Time { return c.now }})
		message := make([]byte, 10*64<<10)
		n, err := w.Write(message)
		if took := c.now.Sub(start); took != test.want || c.reset != test.reset || w.stalled.Load() != test.reset || (err != nil) != test.reset || n != c.Body.Len() {
			t.Errorf("a client %s has %d bytes after %s, %v; reset: %t, want %s and %t", name, c.Body.Len(), took, err, c.reset, test.want, test.reset)
		}
	}
}
