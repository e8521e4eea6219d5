// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

const (
	// earlyPeriod is how long after its start a sidecar tries again to open refused connections. The proxy of a
	// service mesh that starts beside the containers refuses all connections of the pod until it is ready.
	earlyPeriod = 30 * time.Second
	// earlyTries and earlyPause bound the time of one connection to 5 s, as trust.Dial does.
	earlyTries = 20
	earlyPause = 250 * time.Millisecond
)

// dialFunc opens a connection.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// retryEarly returns a function that opens connections with dial. Until a time, it tries again if a connection is
// refused, before a byte of a request was sent.
func retryEarly(dial dialFunc, until time.Time, now func() time.Time, pause time.Duration) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		for try := 1; ; try++ {
			conn, err := dial(ctx, network, address)
			if err == nil || !errors.Is(err, syscall.ECONNREFUSED) || try == earlyTries || !now().Before(until) {
				return conn, err
			}
			select {
			case <-ctx.Done():
				return nil, err
			case <-time.After(pause):
			}
		}
	}
}
