// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// few connections are enough where CPU time counts.
	few = 8
	// patience is how long operations may take that have begun in time; they
	// are cut off then.
	patience = 2 * time.Second
	// pending bounds the requests of an open loop that have no answer yet.
	pending = 1000
)

// operation is one of a client. It returns what it has got, in the unit that
// is measured, also with an error.
type operation func(ctx context.Context) (units int, err error)

// closed repeats an operation on so many connections, on each as soon as its
// last one is answered, and returns what they have got in all.
func closed(ctx context.Context, connections int, window time.Duration, op operation) (int, error) {
	limited, cancel := context.WithTimeout(ctx, window+patience)
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
					return ctx.Err() // too slow is no failure
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

// steady starts an operation at each tick, whether or not the former ones
// are answered, and returns how long each took from its tick on.
func steady(ctx context.Context, window time.Duration, perSecond float64, op operation) ([]time.Duration, error) {
	limited, cancel := context.WithTimeout(ctx, window+patience)
	defer cancel()
	var mu sync.Mutex
	var took []time.Duration
	begin := time.Now()
	group, failing := errgroup.WithContext(limited)
	group.SetLimit(pending)
	count := int(window.Seconds() * perSecond)
	for i := range count {
		due := begin.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))
		sleepUntil(due)
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
