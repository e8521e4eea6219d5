// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// stallCase is one task with readers, some of which stop reading. The task has more text than the 4 MiB that the
// kernel buffers for a connection, and less than the 16 MiB of a log.
type stallCase struct {
	readers, stalled int
	chunks, size     int
	// every is the time between chunks. It limits the load of the readers, which run on the same machine.
	every time.Duration
	// maxGrowth is the number of bytes by which the memory of the sidecar may grow.
	maxGrowth int64
}

// runStalledReaders stops some readers in the middle of a stream. The others must receive everything. The
// sidecar must disconnect the stalled readers, which can then resume.
func runStalledReaders(ctx context.Context, s *settings, r *report) error {
	crowds := []stallCase{{2, 1, 200, 64 << 10, 10 * time.Millisecond, 160 << 20}, {1000, 100, 250, 20 << 10, 360 * time.Millisecond, 256 << 20}}
	if s.short {
		crowds = []stallCase{{20, 2, 300, 20 << 10, 10 * time.Millisecond, 128 << 20}}
	}
	n := newCounts()
	for _, c := range crowds {
		_, _ = fmt.Fprintf(s.progress, "%d of %d readers stall\n", c.stalled, c.readers)
		if err := c.run(ctx, s, n, r); err != nil {
			return err
		}
	}
	r.Tally = n.snapshot()
	return nil
}

const (
	// disconnectWithin is the longest time for which a stalled reader may stay connected.
	disconnectWithin = 30 * time.Second
	// stalledBuffer is the receive buffer of a stalled reader.
	stalledBuffer = 64 << 10
	// keepsUpBelow is a share of the CPU time of the machine, from 0 to 1. If the share in use is lower, the machine is fast
	// enough for the readers, and a late reader is a defect of the sidecar. On a machine without other load, the short form
	// uses less than this share, so that it finds such a defect.
	keepsUpBelow = 0.5
)

func (c *stallCase) run(ctx context.Context, s *settings, n *counts, r *report) error {
	f, stop, err := s.fleet(ctx, fleetOptions{grace: 5 * time.Second})
	if err != nil {
		return err
	}
	defer stop()
	a := newSubject(script.Script{
		Token: fmt.Sprintf("c%d-%d", s.seed, c.readers), Turn: 1, Turns: 1, Chunks: c.chunks, Size: c.size, Every: c.every,
	})
	reader := func(name string, i int) *reader {
		return &reader{
			fleet: f, subject: a, name: name, counts: n, dialect: f.dialects[i%len(f.dialects)],
			rng: rand.New(rand.NewPCG(s.seed, uint64(i))), timeout: 5 * time.Minute,
		}
	}
	p := f.sidecars[0].process
	before, err := p.RSS()
	if err != nil {
		return err
	}

	idle, err := process.MachineUsage()
	if err != nil {
		return err
	}
	begin := time.Now()
	var reading, stalling sync.WaitGroup
	healthy := make([]*timedReader, 0, c.readers)
	release := make(chan struct{})
	var slow []*timedReader
	for i := range c.readers {
		each := &timedReader{reader: reader(fmt.Sprint("reader ", i), i)}
		if i > 0 && i <= c.stalled {
			slow = append(slow, each)
			stalling.Go(func() { each.stall(ctx, release) })
			continue
		}
		healthy = append(healthy, each)
		reading.Go(func() { each.first = each.readOnce(ctx, i == 0, each.recordChunks) })
	}
	reading.Wait()
	ended := time.Now()
	used, err := process.MachineUsage()
	if err != nil {
		return err
	}
	share := float64(used.Machine-idle.Machine) / float64(ended.Sub(begin)) / float64(runtime.NumCPU())
	for ctx.Err() == nil && time.Since(ended) < disconnectWithin {
		open, err := f.sidecars[0].gauge(ctx, "a2a_open_streams")
		if err != nil {
			return err
		}
		if open == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	cut := time.Since(ended)
	after, err := p.RSS()
	if err != nil {
		return err
	}
	close(release) // the stalled readers continue, notice the disconnect and resume
	first := firstArrivals(healthy)
	for _, each := range healthy {
		if each.disconnectedAsSlow(first) {
			stalling.Go(func() { each.resume(ctx) })
		}
	}
	stalling.Wait()
	c.check(r, a, healthy, slow)
	c.checkLate(r, healthy, s.short, share)
	name := fmt.Sprintf("%d of %d stalled: ", c.stalled, c.readers)
	r.addFinding(name+"the last stalled reader was disconnected after the end of the others", cut < disconnectWithin, "within "+disconnectWithin.String(), cut.Round(100*time.Millisecond).String())
	r.addFinding(name+"growth of the sidecar's memory", after-before <= c.maxGrowth, fmt.Sprintf("at most %d MiB", c.maxGrowth>>20), fmt.Sprintf("%d MiB", (after-before)>>20))
	return nil
}

// check checks what all readers received.
func (c *stallCase) check(r *report, a *subject, healthy, slow []*timedReader) {
	whole, late, cut, resumed := 0, 0, 0, 0
	first := firstArrivals(healthy)
	for _, each := range healthy {
		switch {
		case each.first.Outcome == history.Ended && each.ended:
			whole++
			continue
		case each.disconnectedAsSlow(first):
			late++
			a.markBroken(each.name)
			continue
		}
		l := &each.first
		r.Failed = append(r.Failed, failedTask{
			Task: &history.Task{ID: a.id(), Streams: []history.Stream{*l}}, Violations: []history.Violation{{
				Rule: history.Unexplained,
				Text: fmt.Sprintf("%v: %s %s after %d events in %v, the last %v before", l, l.Outcome, l.Reason, len(l.Events), l.End-l.Begin, each.silence()),
			}},
		})
	}
	for _, each := range slow {
		if each.first.Outcome != history.Ended {
			cut++
		}
		if each.ended {
			resumed++
		}
	}
	for _, v := range history.Check(&a.history, &history.Faults{}) {
		if v.Text != "the task was not read after its end" && v.Text != "the log was not read after the end" {
			r.Failed = append(r.Failed, failedTask{Task: &history.Task{ID: a.id()}, Violations: []history.Violation{v}})
		}
	}
	name := fmt.Sprintf("%d of %d stalled: ", c.stalled, c.readers)
	r.addFinding(name+"healthy readers that received everything", whole+late == len(healthy), fmt.Sprint(len(healthy)-late), fmt.Sprint(whole))
	r.addFinding(name+"p99 delay of a chunk between healthy readers", true, "any time", delayP99(healthy, first).Round(100*time.Microsecond).String())
	r.addFinding(name+"stalled readers that were disconnected", cut == len(slow), fmt.Sprint(len(slow)), fmt.Sprint(cut))
	r.addFinding(name+"stalled readers that resumed to the end", resumed == len(slow), fmt.Sprint(len(slow)), fmt.Sprint(resumed))
}

// checkLate checks the healthy readers that the sidecar disconnected as slow consumers. share is the share of the CPU
// time of the machine that was in use while they read.
//
// At most a tenth of the readers may be late. The short form, which the ordinary tests run, allows any number on a
// machine that does not keep up: its result must not depend on the other programs of the machine. A machine that keeps
// up makes no reader late, so late readers are then a defect of the sidecar. In any case, a late reader must resume to
// the end.
func (c *stallCase) checkLate(r *report, healthy []*timedReader, short bool, share float64) {
	late, resumed := 0, 0
	first := firstArrivals(healthy)
	for _, each := range healthy {
		if each.disconnectedAsSlow(first) {
			late++
			if each.ended {
				resumed++
			}
		}
	}
	bound, want := len(healthy)/10, "at most a tenth"
	if short && share >= keepsUpBelow {
		bound, want = len(healthy), "any number, because the CPUs were busy"
	}
	name := fmt.Sprintf("%d of %d stalled: ", c.stalled, c.readers)
	r.addFinding(name+"CPU time of the machine in use", true, "any share", fmt.Sprintf("%.0f %%", 100*share))
	r.addFinding(name+"healthy readers disconnected because the machine is slow", late <= bound, want, fmt.Sprint(late))
	r.addFinding(name+"of these, resumed to the end", resumed == late, fmt.Sprint(late), fmt.Sprint(resumed))
}
