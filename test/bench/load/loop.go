// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load generates load for benchmarks, in closed and in open loops, and measures contenders in turn.
package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// Connections is the number of connections of a closed loop, enough to measure CPU time.
	Connections = 8
	// graceTime is the time after the end of a window after which the operations of the loop are canceled.
	graceTime = 2 * time.Second
	// pending bounds the requests of an open loop that wait for their response.
	pending = 1000
)

// Operation is one request of a client. It returns the number of units that it received, even if it returns an error.
type Operation func(ctx context.Context) (units int, err error)

// Closed runs a closed loop: each connection repeats an operation as soon as the last one has ended. It returns
// the units of all connections.
func Closed(ctx context.Context, connections int, window time.Duration, op Operation) (int, error) {
	limited, cancel := context.WithTimeout(ctx, window+graceTime)
	defer cancel()
	var units atomic.Int64
	end := time.Now().Add(window)
	var group errgroup.Group
	for range connections {
		group.Go(func() error {
			for time.Now().Before(end) {
				n, err := op(limited)
				units.Add(int64(n))
				if limited.Err() != nil {
					return ctx.Err() // the window has ended, which is no failure
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return int(units.Load()), err
}

// Steady runs an open loop: it starts an operation at each tick, whether or not the earlier operations have ended. It
// returns the duration of each operation, from its tick to its end, so that a late start counts, too.
func Steady(ctx context.Context, window time.Duration, perSecond float64, op Operation) ([]time.Duration, error) {
	limited, cancel := context.WithTimeout(ctx, window+graceTime)
	defer cancel()
	var mu sync.Mutex
	var took []time.Duration
	begin := time.Now()
	group, failing := errgroup.WithContext(limited)
	group.SetLimit(pending)
	count := int(window.Seconds() * perSecond)
	for i := range count {
		due := begin.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))
		SleepUntil(due)
		group.Go(func() error {
			if _, err := op(failing); err != nil {
				return err
			}
			d := time.Since(due)
			mu.Lock()
			took = append(took, d)
			mu.Unlock()
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("keep up with %.0f requests a second: %w", perSecond, err)
	}
	return took, nil
}
