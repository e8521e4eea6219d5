// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// taskTimeout is the time after which a task counts as stuck.
const taskTimeout = 90 * time.Second

// failedTask is a task whose history violates a rule.
type failedTask struct {
	Task       *history.Task       `json:"task"`
	Faults     *history.Faults     `json:"faults"`
	Violations []history.Violation `json:"violations"`
}

// campaign runs a plan against a fleet.
type campaign struct {
	*plan
	*fleet
	counts   *counts
	progress io.Writer
	// extraFaults are faults in addition to the plan, by the number of the task before which they happen.
	extraFaults map[int][]func(context.Context) error

	mu     sync.Mutex
	failed []failedTask
	// ended are the tasks that must still exist at the end of the run.
	ended []endedTask
}

// endedTask is a task as it was read after its end.
type endedTask struct {
	id    string
	event history.Event
	// sent and received are the times of the request and its response.
	sent, received time.Duration
}

// runCampaign is the scenario "campaign".
func runCampaign(ctx context.Context, s *settings, r *report) error {
	p := full
	if s.short {
		p = short
	}
	p.Seed = s.seed
	if s.tasks > 0 {
		// The kills keep their distance in tasks.
		p.SidecarKills = max(1, p.SidecarKills*s.tasks/p.Tasks)
		p.AgentKills = max(1, p.AgentKills*s.tasks/p.Tasks)
		p.Tasks = s.tasks
	}
	if s.limit > 0 {
		p.Limit = s.limit
	}
	f, stop, err := s.fleet(ctx, fleetOptions{grace: 10 * time.Second})
	if err != nil {
		return err
	}
	defer stop()
	c := &campaign{plan: &p, fleet: f, counts: newCounts(), progress: s.progress}
	err = c.run(ctx)
	f.checkRunning(r)
	r.Tally, r.Failed = c.counts.snapshot(), c.failed
	return err
}

func (c *campaign) run(ctx context.Context) error {
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go c.reportProgress(watch)
	faults := c.schedule()
	group, failed := errgroup.WithContext(ctx)
	numbers := make(chan int)
	for range c.Concurrency {
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
			for _, fault := range append(faults[n], c.extraFaults[n]...) {
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
	return c.recheckEnded(ctx)
}

// task runs one task to its end and checks its history.
func (c *campaign) task(ctx context.Context, n int) {
	r := rand.New(rand.NewPCG(c.Seed, uint64(n)+1))
	begin := c.now()
	defer func() { c.counts.addDuration(c.now() - begin) }()
	ctx, cancel := context.WithTimeout(ctx, taskTimeout)
	defer cancel()
	turns, driver := 1+max(0, r.IntN(6)-3), c.dialects[r.IntN(len(c.dialects))]
	if driver.NamesTasks && c.currentFaults().Forgets || c.OneTurn {
		// If the sidecar forgets the task between two turns, the message of the second turn creates another task with the id
		// that the client of 0.1 chose.
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
			dialect: c.dialects[r.IntN(len(c.dialects))], rng: rand.New(rand.NewPCG(r.Uint64(), 0)),
		}
	}
	var watching sync.WaitGroup
	for i := range r.IntN(3) {
		w := reader(fmt.Sprint("watcher ", i+1))
		watching.Go(func() {
			w.watch(ctx, c.FaultRate)
			if ctx.Err() != nil {
				t.gaveUp(w.name)
			}
		})
	}
	d := reader("driver")
	d.dialect = driver
	d.drive(ctx, c.FaultRate)
	if ctx.Err() != nil {
		t.gaveUp(d.name)
	}
	t.announce() // end the wait of the watchers, even if the task was never created
	watching.Wait()
	if ctx.Err() == nil && d.id() != "" {
		c.readAfterEnd(ctx, reader("reader"))
	}
	c.check(&t.history)
}

// readAfterEnd reads a task that has ended, and then its whole log.
func (c *campaign) readAfterEnd(ctx context.Context, r *reader) {
	for ctx.Err() == nil {
		begin := r.now()
		address := r.anyAddress(r.rng)
		e, err := r.dialect.Get(ctx, address, r.id())
		if err == nil {
			r.history.Read, r.history.ReadAt = &e, begin
			if e.State == "failed" {
				r.history.StatusMessage, _ = client.Auditor.StatusMessage(ctx, r.anyAddress(r.rng), r.id()) // only the report needs it
			}
			c.addEnded(endedTask{r.id(), e, begin, r.now()})
			break
		}
		record := history.Stream{Client: r.name, Dialect: r.dialect.Name, Server: address, Opening: history.Subscribed, Begin: begin, End: r.now(), Broken: ctx.Err() != nil}
		record.Outcome, record.Reason = client.OutcomeOf(err)
		r.add(record)
		if record.Outcome == history.NotFound || record.Outcome == history.Refused {
			return
		}
		r.backoff(ctx)
	}
	r.name, r.dialect = history.Audit, client.Auditor
	for ctx.Err() == nil {
		record := r.read(ctx, &client.Request{TaskID: r.id(), After: new(uint64)}, nil, func(*history.Event) bool { return false })
		if record.Outcome != history.Cut && record.Outcome != history.Unavailable {
			return
		}
		r.backoff(ctx)
	}
}

func (c *campaign) addEnded(k endedTask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = append(c.ended, k)
}

// check checks the history of a task.
func (c *campaign) check(t *history.Task) {
	faults := c.currentFaults()
	c.counts.addTask(t)
	wrong := history.Check(t, faults)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(wrong) > 0 {
		c.failed = append(c.failed, failedTask{t, faults, wrong})
		_, _ = fmt.Fprintf(c.progress, "task %s: %v\n", t.ID, wrong)
	}
}

// recheckEnded reads the ended tasks again at the end of the run, and checks that they are unchanged. If the sidecars
// store tasks in memory, recheckEnded skips the tasks that were last read before the end of the last kill. If a restore
// of the store may have undone what the client read, the task may also be missing or failed.
func (c *campaign) recheckEnded(ctx context.Context) error {
	faults := c.currentFaults()
	group, failed := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, k := range c.ended {
		if faults.Forgets && len(faults.Kills) > 0 && k.sent < faults.Kills[len(faults.Kills)-1].End {
			continue
		}
		lost := slices.ContainsFunc(faults.Restores, func(r history.Restore) bool { return r.MayReplace(k.sent, k.received) })
		group.Go(func() error {
			e, err := client.Auditor.Get(failed, c.sidecars[i%len(c.sidecars)].address, k.id)
			c.mu.Lock()
			defer c.mu.Unlock()
			var wrong string
			switch {
			case failed.Err() != nil:
				return failed.Err()
			case lost && (err != nil && isNotFound(err) || err == nil && e.State == "failed"):
				c.counts.increment(&c.counts.LostWithStore)
				return nil
			case err != nil:
				wrong = err.Error()
			case e.State != k.event.State || e.Text != k.event.Text:
				wrong = fmt.Sprintf("it was %s with %d bytes, and is now %s with %d bytes", k.event.State, len(k.event.Text), e.State, len(e.Text))
			default:
				c.counts.increment(&c.counts.Rechecked)
				return nil
			}
			v := history.Violation{Rule: history.Lost, Text: "at the end of the run: " + wrong}
			c.failed = append(c.failed, failedTask{&history.Task{ID: k.id}, faults, []history.Violation{v}})
			_, _ = fmt.Fprintf(c.progress, "task %s: %v\n", k.id, v)
			return nil
		})
	}
	return group.Wait()
}

func isNotFound(err error) bool {
	outcome, _ := client.OutcomeOf(err)
	return outcome == history.NotFound
}

// reportProgress prints the counts every 10 s.
func (c *campaign) reportProgress(ctx context.Context) {
	for {
		select {
		case <-time.After(10 * time.Second):
		case <-ctx.Done():
			return
		}
		n := c.counts.snapshot()
		_, _ = fmt.Fprintf(c.progress, "%6s  %s\n", c.now().Round(time.Second), line(&n))
	}
}

// line returns the counts in one line.
func line(t *tally) string {
	var ends []string
	for _, end := range []string{"completed", "failed", "forgotten"} {
		ends = append(ends, fmt.Sprintf("%d %s", t.Ends[end], end))
	}
	return fmt.Sprintf("%d tasks (%s), %d events, %d seen, %d disconnects, %d and %d kills",
		t.Tasks, strings.Join(ends, ", "), t.Events, t.Seen, t.disconnects(), t.SidecarKills, t.AgentKills)
}
