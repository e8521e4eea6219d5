// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// runDrain sends SIGTERM to a sidecar with many open streams. A turn that ends within the grace period must end in its
// stream. All other streams must end such that the reader can resume them.
func runDrain(ctx context.Context, s *settings, r *report) error {
	const grace = 12 * time.Second
	tasks, readers := 100, 10
	if s.short {
		tasks, readers = 20, 5
	}
	f, stop, err := s.fleet(ctx, fleetOptions{grace: grace})
	if err != nil {
		return err
	}
	defer stop()
	n := newCounts()
	// All readers use the sidecar that drains.
	others := f.sidecars[1:]
	f.sidecars = f.sidecars[:1]
	defer func() { f.sidecars = append(f.sidecars, others...) }()
	all, wait := f.startWatchedTasks(ctx, n, s.seed, tasks, readers, func(i int) script.Script {
		// Half of the tasks run for some seconds, and half wait for an answer.
		return script.Script{
			Token: fmt.Sprintf("d%d-%d", s.seed, i), Turn: 1, Turns: 1 + i%2, Chunks: 30, Size: 40,
			Every: time.Duration(1-i%2) * 100 * time.Millisecond, Holds: i%4 == 1,
		}
	})
	sidecar := f.sidecars[0]
	var took time.Duration
	err = f.recordFault(func(of *history.Faults) *[]history.Window { return &of.Drains }, sidecar.address, func() error {
		begin := time.Now()
		if err := sidecar.process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		wait()
		select {
		case <-sidecar.process.Done():
		case <-time.After(2 * grace):
			return errors.New("the sidecar has not ended after twice its grace period")
		}
		took = time.Since(begin)
		return nil
	})
	if err != nil {
		return err
	}
	r.checkDrain(all, n, took, grace)
	if s.store == memory {
		return nil
	}
	if sidecar.process, err = sidecar.restart(ctx); err != nil {
		return err
	}
	return f.resumeReaders(ctx, r, all)
}

// resumeReaders lets the readers resume their streams at the restarted sidecar, which reads the tasks from the store.
func (f *fleet) resumeReaders(ctx context.Context, r *report, all []*watchedTask) error {
	ctx, cancel := context.WithTimeout(ctx, taskTimeout)
	defer cancel()
	c := &campaign{fleet: f, counts: all[0].readers[0].counts}
	var reading sync.WaitGroup
	for _, a := range all {
		for j, each := range a.readers {
			if !each.ended {
				reading.Go(func() { a.resume(ctx, each, j == 0) })
			}
		}
	}
	reading.Wait()
	whole, streams := 0, 0
	for _, a := range all {
		for _, each := range a.readers {
			streams++
			if each.ended {
				whole++
			}
		}
		c.readAfterEnd(ctx, a.readers[0])
		if wrong := history.Check(&a.history, f.currentFaults()); len(wrong) > 0 {
			r.Failed = append(r.Failed, failedTask{Task: &a.history, Violations: wrong})
		}
	}
	r.Tally = c.counts.snapshot()
	r.addFinding("readers that saw the end of their task after the restart", whole == streams, fmt.Sprint(streams), fmt.Sprint(whole))
	return nil
}

// checkDrain checks what the readers received.
func (r *report) checkDrain(all []*watchedTask, n *counts, took, grace time.Duration) {
	streams, whole, resumable, broken := 0, 0, 0, 0
	working, finished := 0, 0
	for _, a := range all {
		ended := false
		for j := range a.last {
			l, reader := &a.last[j], a.readers[j]
			streams++
			switch {
			case reader.ended:
				whole, ended = whole+1, true
			case l.Outcome == history.AlreadyEnded: // the reader came after the end, which another reader saw, or the check below fails
				whole++
			case l.Outcome == history.Cut, l.Outcome == history.Refused, len(l.Events) == 0,
				l.Outcome == history.Unavailable && reader.last == 0: // the reader received no event from which it could resume
				broken++
				r.Failed = append(r.Failed, failedTask{Task: &history.Task{ID: a.id(), Streams: []history.Stream{*l}}, Violations: []history.Violation{
					{Rule: history.Unexplained, Text: fmt.Sprintf("%v: %s %s after %d events", l, l.Outcome, l.Reason, len(l.Events))},
				}})
			default:
				resumable++
			}
		}
		if a.script.Turns == 1 {
			working++
			if ended {
				finished++
			}
		}
		// The history of a task that has not ended is incomplete, which is no violation here.
		for _, v := range history.Check(&a.history, a.readers[0].currentFaults()) {
			if v.Rule != history.Wedged && v.Text != "the task was not read after its end" && v.Text != "the log was not read after the end" {
				r.Failed = append(r.Failed, failedTask{Task: &a.history, Violations: []history.Violation{v}})
			}
		}
	}
	r.Tally = n.snapshot()
	r.addFinding("streams open at SIGTERM", true, "any number", fmt.Sprint(streams))
	r.addFinding("of these, ended with the end of their task", true, "any number", fmt.Sprint(whole))
	r.addFinding("of these, ended in a resumable way", true, "any number", fmt.Sprint(resumable))
	r.addFinding("of these, reset or cut", broken == 0, "0", fmt.Sprint(broken))
	r.addFinding("running turns that ended during the drain", finished == working, fmt.Sprint(working), fmt.Sprint(finished))
	r.addFinding("time until the sidecar ended", took < grace, "less than "+grace.String(), took.Round(10*time.Millisecond).String())
}
