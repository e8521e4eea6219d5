// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestEarlyConnectionsAreTriedAgain has a proxy of a mesh that refuses connections until it is ready.
func TestEarlyConnectionsAreTriedAgain(t *testing.T) {
	start := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	refused := fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx      func() context.Context
		at       time.Time
		failure  error
		refusals int
		tries    int
		fails    bool
	}{
		"ready at once":          {t.Context, start, refused, 0, 1, false},
		"ready after a time":     {t.Context, start, refused, 3, 4, false},
		"never ready":            {t.Context, start, refused, 100, earlyTries, true},
		"later":                  {t.Context, start.Add(earlyPeriod), refused, 100, 1, true},
		"another failure":        {t.Context, start, errors.New("no route"), 100, 1, true},
		"a caller that gives up": {func() context.Context { return canceled }, start, refused, 100, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			dial := retryEarly(func(context.Context, string, string) (net.Conn, error) {
				tries++
				if tries <= test.refusals {
					return nil, test.failure
				}
				return nil, nil
			}, start.Add(earlyPeriod), func() time.Time { return test.at }, time.Millisecond)
			if _, err := dial(test.ctx(), "tcp", "peer:80"); (err != nil) != test.fails || tries != test.tries {
				t.Errorf("%d tries, %v; want %d", tries, err, test.tries)
			}
		})
	}
}
