// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress prints what is being done and how long it took, one line a step, and a sign of life for slow steps.
package progress

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// heartbeat is how often a step that goes on says so.
const heartbeat = 15 * time.Second

// Reporter writes progress lines; steps may run at the same time.
type Reporter struct {
	mu  sync.Mutex
	out io.Writer
}

// NewReporter returns a reporter that writes to out.
func NewReporter(out io.Writer) *Reporter {
	return &Reporter{out: out}
}

// Sayf prints a line.
func (r *Reporter) Sayf(format string, arguments ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.out, format+"\n", arguments...)
}

// Step runs work and prints its name and duration.
func (r *Reporter) Step(ctx context.Context, name string, work func(context.Context) error) error {
	start := time.Now()
	done := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() { r.beat(name, start, done) })
	err := work(ctx)
	close(done)
	beats.Wait()
	if err != nil {
		return err
	}
	r.Sayf("  %-44s %s", name, elapsed(start))
	return nil
}

func (r *Reporter) beat(name string, start time.Time, done <-chan struct{}) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			r.Sayf("  %-44s still at it after %s", name, time.Since(start).Round(time.Second))
		}
	}
}

func elapsed(start time.Time) string {
	return fmt.Sprintf("%.1fs", time.Since(start).Seconds())
}
