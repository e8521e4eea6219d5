// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

// clientFault is a fault that a reader causes in the middle of a stream.
type clientFault struct {
	// after is the number of events before the fault.
	after int
	// breakage is the way to break the connection; "" for a pause.
	breakage client.Breakage
	pause    time.Duration
}

// planFault returns a random fault, or nil.
func (r *reader) planFault(chance float64) *clientFault {
	if r.rng.Float64() >= chance {
		return nil
	}
	m := &clientFault{after: 1 + r.rng.IntN(max(r.script.Total()/2, 1))}
	if i := r.rng.IntN(len(client.Breakages) + 1); i < len(client.Breakages) {
		m.breakage = client.Breakages[i]
	} else {
		m.pause = time.Duration(50+r.rng.IntN(450)) * time.Millisecond
	}
	return m
}

func (m *clientFault) inject(ctx context.Context, s client.Stream, record *history.Stream) {
	if m.breakage != "" {
		record.Broken = true
		s.Break(m.breakage)
		return
	}
	select {
	case <-time.After(m.pause):
	case <-ctx.Done():
	}
}
