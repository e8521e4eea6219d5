// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress prints steps and their durations, one line each, and a heartbeat for slow steps.
package progress

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// heartbeat is the interval of the lines of a slow step.
const heartbeat = 15 * time.Second

// Reporter writes progress lines. It is safe for concurrent use.
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

// Step runs work. If work succeeds, Step prints the name and the duration of the step. Otherwise it returns the error
// of work.
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
			r.Sayf("  %-44s still running after %s", name, time.Since(start).Round(time.Second))
		}
	}
}

func elapsed(start time.Time) string {
	return fmt.Sprintf("%.1fs", time.Since(start).Seconds())
}
