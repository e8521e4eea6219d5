// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// plan is what a campaign does. The same seed makes the same plan; how it meets
// the clocks of several processes is another matter.
type plan struct {
	Seed  uint64 `json:"seed"`
	Tasks int    `json:"tasks"`
	// Chunks is how many a task says, about.
	Chunks int `json:"chunks"`
	// Abreast is how many tasks run at once.
	Abreast int `json:"abreast"`
	// Mishaps is the part of streams whose reader breaks them, or rests.
	Mishaps float64 `json:"mishaps"`
	// SidecarKills and AgentKills are spread over the tasks.
	SidecarKills int `json:"sidecarKills"`
	AgentKills   int `json:"agentKills"`
	// Limit is when no more tasks are begun.
	Limit time.Duration `json:"limit"`
}

var (
	full = plan{
		Seed: 1, Tasks: 10_000, Chunks: 118, Abreast: 24, Mishaps: 0.15, SidecarKills: 100, AgentKills: 50, Limit: 15 * time.Minute,
	}
	short = plan{
		Seed: 1, Tasks: 200, Chunks: 60, Abreast: 16, Mishaps: 0.25, SidecarKills: 4, AgentKills: 3, Limit: 40 * time.Second,
	}
)

// taskTimeout is when a task is given up, as one that is wedged.
const taskTimeout = 90 * time.Second

// refused is a task with what is wrong with it.
type refused struct {
	Task       *history.Task       `json:"task"`
	Faults     *history.Faults     `json:"faults"`
	Violations []history.Violation `json:"violations"`
}

// campaign is a run of a plan against a fleet.
type campaign struct {
	*plan
	*fleet
	counts   *counts
	progress io.Writer
	// more are faults beside those of the plan, by the task before which they
	// happen.
	more map[int][]func(context.Context) error

	mu      sync.Mutex
	refused []refused
	// ended are the tasks that must be there at the end of the run.
	ended []kept
}

// kept is a task as it was when it ended.
type kept struct {
	id    string
	event history.Event
	// at is when it was asked for.
	at time.Duration
}

// campaigned is the scenario.
func campaigned(ctx context.Context, s *settings, r *report) error {
	p := full
	if s.short {
		p = short
	}
	p.Seed = s.seed
	if s.limit > 0 {
		p.Limit = s.limit
	}
	f, stop, err := s.fleet(ctx, shape{grace: 10 * time.Second})
	if err != nil {
		return err
	}
	defer stop()
	c := &campaign{plan: &p, fleet: f, counts: newCounts(), progress: s.progress}
	err = c.run(ctx)
	r.Tally, r.Refused = c.counts.now(), c.refused
	return err
}

func (c *campaign) run(ctx context.Context) error {
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go c.tell(watch)
	faults := c.schedule()
	group, failed := errgroup.WithContext(ctx)
	numbers := make(chan int)
	for range c.Abreast {
		group.Go(func() error {
			for n := range numbers {
				c.task(failed, n)
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(numbers)
		end := time.Now().Add(c.Limit)
		for n := range c.Tasks {
			select {
			case numbers <- n:
			case <-failed.Done():
				return failed.Err()
			}
			if time.Now().After(end) {
				return nil
			}
			for _, fault := range append(faults[n], c.more[n]...) {
				if err := fault(failed); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return c.sweep(ctx)
}

// schedule spreads the kills over the tasks.
func (c *campaign) schedule() map[int][]func(context.Context) error {
	r := rand.New(rand.NewPCG(c.Seed, 0))
	all := map[int][]func(context.Context) error{}
	place := func(i, of int) int { return min(c.Tasks-1, c.Tasks*i/of+r.IntN(max(c.Tasks/of, 1))) }
	for i := range c.SidecarKills {
		s, after := c.sidecars[r.IntN(len(c.sidecars))], time.Duration(r.IntN(50))*time.Millisecond
		n := place(i, c.SidecarKills)
		all[n] = append(all[n], func(ctx context.Context) error {
			c.counts.add(&c.counts.SidecarKills)
			return c.kill(ctx, s, kills, after)
		})
	}
	for i := range c.AgentKills {
		after := time.Duration(r.IntN(50)) * time.Millisecond
		n := place(i, c.AgentKills)
		all[n] = append(all[n], func(ctx context.Context) error {
			c.counts.add(&c.counts.AgentKills)
			return c.kill(ctx, c.agent, agents, after)
		})
	}
	return all
}

// task runs one task to its end, and judges it.
func (c *campaign) task(ctx context.Context, n int) {
	r := rand.New(rand.NewPCG(c.Seed, uint64(n)+1))
	begin := c.now()
	defer func() { c.counts.took(c.now() - begin) }()
	ctx, cancel := context.WithTimeout(ctx, taskTimeout)
	defer cancel()
	turns, driver := 1+max(0, r.IntN(6)-3), client.Dialects[r.IntN(len(client.Dialects))]
	if driver.NamesTasks && c.broken().Forgets {
		// When the task is forgotten, its second message makes another one of the
		// same name.
		turns = 1
	}
	t := newSubject(script.Script{
		Token: fmt.Sprintf("s%d-%d", c.Seed, n), Turns: turns,
		Chunks: (c.Chunks/2 + r.IntN(c.Chunks)) / turns, Size: 20 + r.IntN(100),
		Every: time.Duration(1+r.IntN(3)) * time.Millisecond, Holds: r.IntN(2) == 0,
	})
	defer t.close()
	reader := func(name string) *reader {
		return &reader{
			fleet: c.fleet, subject: t, name: name, counts: c.counts,
			dialect: client.Dialects[r.IntN(len(client.Dialects))], rng: rand.New(rand.NewPCG(r.Uint64(), 0)),
		}
	}
	var watching sync.WaitGroup
	for i := range r.IntN(3) {
		w := reader(fmt.Sprint("watcher ", i+1))
		watching.Go(func() {
			w.watch(ctx, c.Mishaps)
			if ctx.Err() != nil {
				t.gaveUp(w.name)
			}
		})
	}
	d := reader("driver")
	d.dialect = driver
	d.drive(ctx, c.Mishaps)
	if ctx.Err() != nil {
		t.gaveUp(d.name)
	}
	t.tell() // a task that nobody ever heard of has no watchers
	watching.Wait()
	if ctx.Err() == nil && d.id() != "" {
		c.afterwards(ctx, reader("reader"))
	}
	c.judge(&t.history)
}

// afterwards reads a task that is over, and its whole log.
func (c *campaign) afterwards(ctx context.Context, r *reader) {
	for ctx.Err() == nil {
		begin := r.now()
		e, err := r.dialect.Get(ctx, r.any(r.rng), r.id())
		if err == nil {
			r.history.Read = &e
			if e.State == "failed" {
				r.history.Word, _ = client.Auditor.Word(ctx, r.any(r.rng), r.id()) // it only helps
			}
			c.keep(kept{r.id(), e, begin})
			break
		}
		leg := history.Leg{Client: r.name, Dialect: r.dialect.Name, Opening: history.Subscribed, Begin: begin, End: r.now(), Broken: ctx.Err() != nil}
		leg.Outcome, leg.Reason = client.OutcomeOf(err)
		r.add(leg)
		if leg.Outcome == history.NotFound || leg.Outcome == history.Refused {
			return
		}
		r.rest(ctx)
	}
	r.name, r.dialect = history.Audit, client.Auditor
	for ctx.Err() == nil {
		leg := r.read(ctx, &client.Ask{TaskID: r.id(), After: new(uint64)}, nil, func(*history.Event) bool { return false })
		if leg.Outcome != history.Cut && leg.Outcome != history.Unavailable {
			return
		}
		r.rest(ctx)
	}
}

func (c *campaign) keep(k kept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = append(c.ended, k)
}

// judge checks what was seen of a task.
func (c *campaign) judge(t *history.Task) {
	faults := c.broken()
	c.counts.task(t)
	wrong := history.Check(t, faults)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(wrong) > 0 {
		c.refused = append(c.refused, refused{t, faults, wrong})
		_, _ = fmt.Fprintf(c.progress, "task %s: %v\n", t.ID, wrong)
	}
}

// sweep reads all tasks once more, long after their ends: what has ended stays,
// but for what a sidecar forgot when it died.
func (c *campaign) sweep(ctx context.Context) error {
	faults := c.broken()
	group, failed := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, k := range c.ended {
		if faults.Forgets && len(faults.Kills) > 0 && k.at < faults.Kills[len(faults.Kills)-1].End {
			continue
		}
		group.Go(func() error {
			e, err := client.Auditor.Get(failed, c.sidecars[i%len(c.sidecars)].address, k.id)
			c.mu.Lock()
			defer c.mu.Unlock()
			var wrong string
			switch {
			case failed.Err() != nil:
				return failed.Err()
			case err != nil:
				wrong = err.Error()
			case e.State != k.event.State || e.Text != k.event.Text:
				wrong = fmt.Sprintf("it was %s with %d bytes, and is %s with %d", k.event.State, len(k.event.Text), e.State, len(e.Text))
			default:
				c.counts.add(&c.counts.Kept)
				return nil
			}
			v := history.Violation{Rule: history.Lost, Text: "at the end of the run: " + wrong}
			c.refused = append(c.refused, refused{&history.Task{ID: k.id}, faults, []history.Violation{v}})
			_, _ = fmt.Fprintf(c.progress, "task %s: %v\n", k.id, v)
			return nil
		})
	}
	return group.Wait()
}

// tell says how far it is.
func (c *campaign) tell(ctx context.Context) {
	for {
		select {
		case <-time.After(10 * time.Second):
		case <-ctx.Done():
			return
		}
		n := c.counts.now()
		_, _ = fmt.Fprintf(c.progress, "%6s  %s\n", c.now().Round(time.Second), line(&n))
	}
}

// line is a tally in one line.
func line(t *tally) string {
	var ends []string
	for _, end := range []string{"completed", "failed", "forgotten"} {
		ends = append(ends, fmt.Sprintf("%d %s", t.Ends[end], end))
	}
	return fmt.Sprintf("%d tasks (%s), %d events, %d seen, %d disconnects, %d and %d kills",
		t.Tasks, strings.Join(ends, ", "), t.Events, t.Seen, t.disconnects(), t.SidecarKills, t.AgentKills)
}
