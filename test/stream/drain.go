// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// audience is a task with many readers.
type audience struct {
	*subject
	readers []*reader
	// legs are what the readers saw last, as they stand in readers.
	legs []history.Leg
}

// audiences begins tasks, each with a driver and watchers who have all seen
// where it stands. A task says its chunks, and then asks and waits if it has
// more turns.
func (f *fleet) audiences(ctx context.Context, n *counts, seed uint64, tasks, readers int, says func(i int) script.Script) (all []*audience, wait func()) {
	var reading, begun sync.WaitGroup
	for i := range tasks {
		a := &audience{subject: newSubject(says(i)), legs: make([]history.Leg, readers)}
		for j := range readers {
			dialect := client.Dialects[(i+j)%len(client.Dialects)]
			a.readers = append(a.readers, &reader{
				fleet: f, subject: a.subject, name: fmt.Sprint("reader ", j), dialect: dialect,
				rng: rand.New(rand.NewPCG(seed, uint64(i*readers+j))), counts: n,
			})
		}
		begun.Add(readers)
		for j, r := range a.readers {
			began := sync.OnceFunc(begun.Done)
			reading.Go(func() {
				defer began()
				a.legs[j] = r.attend(ctx, j == 0, began)
			})
		}
		all = append(all, a)
	}
	begun.Wait()
	return all, reading.Wait
}

// attend reads one stream of a task to its end: that of its message, or one
// beside it.
func (r *reader) attend(ctx context.Context, drives bool, began func()) history.Leg {
	never := func(*history.Event) bool { began(); return false }
	if drives {
		defer r.tell() // nobody waits for a task that did not begin
		return r.read(ctx, r.message(1), nil, never)
	}
	select {
	case <-r.known:
	case <-ctx.Done():
	}
	if r.id() == "" {
		return history.Leg{}
	}
	// Whoever resumes from the first event on stays when the task waits, in all
	// dialects.
	if r.rng.IntN(2) == 0 {
		return r.read(ctx, &client.Ask{TaskID: r.id(), After: new(uint64)}, nil, never)
	}
	return r.read(ctx, &client.Ask{TaskID: r.id()}, nil, never)
}

// drained asks a sidecar to end while many read: those whose turns end in time
// see the end, and all others an end that can be resumed.
func drained(ctx context.Context, s *settings, r *report) error {
	const grace = 12 * time.Second
	tasks, readers := 100, 10
	if s.short {
		tasks, readers = 20, 5
	}
	f, stop, err := s.fleet(ctx, shape{grace: grace})
	if err != nil {
		return err
	}
	defer stop()
	n := newCounts()
	// All readers are with the one that ends; another may be there.
	others := f.sidecars[1:]
	f.sidecars = f.sidecars[:1]
	defer func() { f.sidecars = append(f.sidecars, others...) }()
	all, wait := f.audiences(ctx, n, s.seed, tasks, readers, func(i int) script.Script {
		// Half of them work for some seconds more, and half wait for an answer.
		return script.Script{
			Token: fmt.Sprintf("d%d-%d", s.seed, i), Turn: 1, Turns: 1 + i%2, Chunks: 30, Size: 40,
			Every: time.Duration(1-i%2) * 100 * time.Millisecond, Holds: i%4 == 1,
		}
	})
	sidecar := f.sidecars[0]
	var took time.Duration
	err = f.during(func(of *history.Faults) *[]history.Window { return &of.Drains }, func() error {
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
	r.drain(all, n, took, grace)
	if s.store == memory {
		return nil
	}
	if sidecar.process, err = sidecar.again(ctx); err != nil {
		return err
	}
	return f.resumed(ctx, r, all)
}

// resumed lets the readers go on where their streams ended, with a sidecar that
// knows of them from the store alone.
func (f *fleet) resumed(ctx context.Context, r *report, all []*audience) error {
	ctx, cancel := context.WithTimeout(ctx, taskTimeout)
	defer cancel()
	c := &campaign{fleet: f, counts: all[0].readers[0].counts}
	var reading sync.WaitGroup
	for _, a := range all {
		for j, each := range a.readers {
			if !each.over {
				reading.Go(func() { a.resume(ctx, each, j == 0) })
			}
		}
	}
	reading.Wait()
	whole, streams := 0, 0
	for _, a := range all {
		for _, each := range a.readers {
			streams++
			if each.over {
				whole++
			}
		}
		c.afterwards(ctx, a.readers[0])
		if wrong := history.Check(&a.history, f.broken()); len(wrong) > 0 {
			r.Refused = append(r.Refused, refused{Task: &a.history, Violations: wrong})
		}
	}
	r.Tally = c.counts.now()
	r.find("readers that saw the end of their task after the restart", whole == streams, fmt.Sprint(streams), fmt.Sprint(whole))
	return nil
}

// resume lets one reader go on; the first of a task answers it, too.
func (a *audience) resume(ctx context.Context, r *reader, answers bool) {
	if answers && a.script.Turns > 1 {
		r.read(ctx, r.message(2), nil, func(*history.Event) bool { return false })
	}
	if after := r.after(); !r.over && after != nil {
		r.follow(ctx, after, 0)
	} else if !r.over {
		r.follow(ctx, new(uint64), 0)
	}
	if ctx.Err() != nil {
		a.gaveUp(r.name)
	}
}

// drain judges what the readers saw.
func (r *report) drain(all []*audience, n *counts, took, grace time.Duration) {
	streams, whole, resumable, broken := 0, 0, 0, 0
	working, finished := 0, 0
	for _, a := range all {
		ended := false
		for j := range a.legs {
			l, reader := &a.legs[j], a.readers[j]
			streams++
			switch {
			case reader.over:
				whole, ended = whole+1, true
			case l.Outcome == history.Cut, l.Outcome == history.Refused, len(l.Events) == 0,
				l.Outcome == history.Unavailable && reader.last == 0: // nobody told from where
				broken++
				r.Refused = append(r.Refused, refused{Task: &history.Task{ID: a.id(), Legs: []history.Leg{*l}}, Violations: []history.Violation{
					{Rule: history.Unexcused, Text: fmt.Sprintf("%v: %s %s after %d events", l, l.Outcome, l.Reason, len(l.Events))},
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
		// What was seen is judged as far as it went.
		for _, v := range history.Check(&a.history, a.readers[0].broken()) {
			if v.Rule != history.Wedged && v.Text != "the task was not read after its end" && v.Text != "the log was not read after the end" {
				r.Refused = append(r.Refused, refused{Task: &a.history, Violations: []history.Violation{v}})
			}
		}
	}
	r.Tally = n.now()
	r.find("streams when SIGTERM came", true, "any number", fmt.Sprint(streams))
	r.find("of these, with the end of their task", true, "any number", fmt.Sprint(whole))
	r.find("of these, with an end to resume from", true, "any number", fmt.Sprint(resumable))
	r.find("of these, reset or cut off", broken == 0, "0", fmt.Sprint(broken))
	r.find("turns that worked and ended by themselves", finished == working, fmt.Sprint(working), fmt.Sprint(finished))
	r.find("time until the sidecar had ended", took < grace, "less than "+grace.String(), took.Round(10*time.Millisecond).String())
}
