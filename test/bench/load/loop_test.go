// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestClosedLoopCountsUnits(t *testing.T) {
	var asked atomic.Int64
	units, err := Closed(t.Context(), Connections, 50*time.Millisecond, func(context.Context) (int, error) {
		asked.Add(1)
		time.Sleep(time.Millisecond)
		return 3, nil
	})
	if n := asked.Load(); err != nil || int64(units) != 3*n || n < Connections {
		t.Errorf("Closed() = %d, %v after %d operations of 3", units, err, n)
	}
	failed := errors.New("no")
	if _, err := Closed(t.Context(), Connections, time.Minute, func(context.Context) (int, error) { return 0, failed }); !errors.Is(err, failed) {
		t.Errorf("Closed() error = %v, want the error of the operation", err)
	}
}

func TestClosedLoopCountsUnfinishedOperations(t *testing.T) {
	units, err := Closed(t.Context(), Connections, time.Millisecond, func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 2, ctx.Err()
	})
	if err != nil || units != 2*Connections {
		t.Errorf("Closed() = %d, %v, want the units of all connections", units, err)
	}
}

func TestOpenLoopMeasuresDelaysFromTheScheduledTimes(t *testing.T) {
	const pause = 200 * time.Millisecond
	begin := time.Now()
	took, err := Steady(t.Context(), 400*time.Millisecond, 100, func(context.Context) (int, error) {
		time.Sleep(pause - time.Since(begin))
		return 1, nil
	})
	if err != nil || len(took) != 40 {
		t.Fatalf("Steady() = %d answers, %v, want 40", len(took), err)
	}
	if p := Percentile(took, 75); p < 90_000 {
		t.Errorf("p75 is %.0f us: half of the ticks are in the pause of the server, evenly distributed", p)
	}
}
