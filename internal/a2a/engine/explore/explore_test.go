// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

const (
	lease = 10 * time.Second
	owner = a2a.Owner("owner")
	// attempts bounds how often a client sends a message.
	attempts = 8
)

// scenario is three requests to two replicas: the first creates a task, whose agent asks for
// input, and the others arrive at the same time. If immediately is true, they arrive while
// the first turn runs. If push is true, the first message has a push configuration.
type scenario struct {
	immediately, push bool
	then              [2]func(task string) sending
}

var scenarios = map[string]scenario{
	"the same answer at both replicas": {then: [2]func(task string) sending{
		func(task string) sending { return sending{replica: 0, id: "m2", task: task} },
		func(task string) sending { return sending{replica: 1, id: "m2", task: task} },
	}},
	"two answers at two replicas": {then: [2]func(task string) sending{
		func(task string) sending { return sending{replica: 1, id: "m2", task: task} },
		func(task string) sending { return sending{replica: 0, id: "m3", task: task} },
	}},
	"an answer and a cancel": {then: [2]func(task string) sending{
		func(task string) sending { return sending{replica: 1, id: "m2", task: task} },
		func(task string) sending { return sending{replica: 0, task: task, cancel: true} },
	}},
	"the same answer with a push configuration at both replicas": {push: true, then: [2]func(task string) sending{
		func(task string) sending { return sending{replica: 0, id: "m2", task: task, push: true} },
		func(task string) sending { return sending{replica: 1, id: "m2", task: task, push: true} },
	}},
	"the same waiting message at both replicas": {immediately: true, then: [2]func(task string) sending{
		func(task string) sending { return sending{replica: 0, id: "m2", task: task, immediately: true} },
		func(task string) sending { return sending{replica: 1, id: "m2", task: task, immediately: true} },
	}},
	"a waiting message and a cancel": {immediately: true, then: [2]func(task string) sending{
		func(task string) sending { return sending{replica: 1, id: "m2", task: task, immediately: true} },
		func(task string) sending { return sending{replica: 0, task: task, cancel: true} },
	}},
}

// sending is a request of a client. After UNAVAILABLE, the client sends the same request to
// the other replica, and makes up to attempts requests in total.
type sending struct {
	replica     int
	id, task    string
	immediately bool
	push        bool
	cancel      bool

	err    error
	result *a2a.Task
}

// TestReplicas visits every execution with up to two deviations from the default schedule
// (one under the race detector or in short mode); with A2A_EXPLORE=n, up to n deviations. At
// most one of the deviations is a crash, one is a lost answer, and one is an outage that
// outlasts the lease. The others are reorderings.
func TestReplicas(t *testing.T) {
	limit := defaultLimit
	if testing.Short() {
		limit = 1
	}
	if n, err := strconv.Atoi(os.Getenv("A2A_EXPLORE")); err == nil {
		limit = n
	}
	table := newTransitions()
	for name, scenario := range scenarios {
		for _, retry := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", retry ", retry), func(t *testing.T) {
				executions, found := 0, 0
				frontier := [][]deviation{nil}
				for len(frontier) > 0 && found < 3 {
					deviations := frontier[len(frontier)-1]
					frontier = frontier[:len(frontier)-1]
					executions++
					options, problems := execute(t, table, scenario, retry, deviations)
					if problems {
						found++
					}
					for _, d := range options {
						if len(deviations) < limit && allowed(deviations, d) {
							frontier = append(frontier, append(slices.Clone(deviations), d))
						}
					}
				}
				t.Logf("%d executions", executions)
			})
		}
	}
	if limit >= 2 {
		table.checkTaken(t)
	}
}

// allowed reports whether a deviation may follow others: it must be at a later call, and
// of another kind unless it is a reordering.
func allowed(before []deviation, d deviation) bool {
	return !slices.ContainsFunc(before, func(b deviation) bool {
		return b.at >= d.at || b.kind == d.kind && d.kind != reorder
	})
}

// execute runs one execution, checks the guarantees, and returns the deviations that were
// possible.
func execute(t *testing.T, table *transitions, requests scenario, retry bool, deviations []deviation) (options []deviation, problems bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(deviations)
		observed := newObservations()
		first, disconnectFirst := context.WithCancel(t.Context())
		second, disconnectSecond := context.WithCancel(t.Context())
		defer disconnectFirst()
		defer disconnectSecond()
		s.onCrash = func(replica int) {
			observed.crash(replica)
			[...]func(){disconnectFirst, disconnectSecond}[replica]()
		}
		shared := storetest.NewMemory(memory.Options{})
		var engines [2]*engine.Engine
		for i := range engines {
			member := &controlled{Member: shared.Join(fmt.Sprint("replica", i)), replica: i, scheduler: s}
			e, err := engine.New(engine.Options{
				Member: member, Pushes: pushes{member, observed},
				Backend: agent{i, observed}, Lease: lease, Retry: func() bool { return retry },
				Moved: func(k store.Key, m engine.Transition) { observed.moved(table, i, k, m) },
			})
			if err != nil {
				t.Fatal(err)
			}
			engines[i] = e
		}
		c := &clients{engines: engines, connections: [...]context.Context{first, second}, observed: observed}
		done := make(chan struct{})
		go func() {
			defer close(done)
			var starting sync.WaitGroup
			for _, e := range engines {
				starting.Go(e.Start)
			}
			starting.Wait()
			c.play(requests)
		}()
		s.run(time.Now().Add(10*time.Minute), done)
		select {
		case <-done:
		default:
			observed.problemf("a client has no answer after 10 minutes")
		}
		s.mu.Lock()
		s.record = false
		s.mu.Unlock()
		s.run(time.Now().Add(5*lease), nil) // the remaining tasks are taken over
		check(t, shared, observed, retry)
		if problems = len(observed.problems) > 0; problems {
			t.Errorf("retry %v, deviations %v:\n%s\n%s", retry, deviations, strings.Join(observed.problems, "\n"), strings.Join(s.trace, "\n"))
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			var group sync.WaitGroup
			for _, e := range engines {
				group.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					_ = e.Drain(ctx)
				})
			}
			group.Wait()
			<-done
		}()
		s.release(ended)
		options = s.options
	})
	return options, problems
}

// clients are the clients that send the messages of a scenario.
type clients struct {
	engines [2]*engine.Engine
	// connections end with the processes of the replicas.
	connections [2]context.Context
	observed    *observations
}

func (c *clients) play(requests scenario) {
	if requests.immediately {
		time.Sleep(time.Second) // both replicas have leases when they look for the task owner
	}
	first := c.send(sending{replica: 0, id: "m1", immediately: requests.immediately, push: requests.push})
	if first.result == nil {
		return
	}
	var group sync.WaitGroup
	for _, next := range requests.then {
		group.Go(func() { c.send(next(first.result.ID)) })
	}
	group.Wait()
}

func (c *clients) send(s sending) sending {
	for range attempts {
		if s.result, s.err = c.attempt(&s); !unavailable(s.err) {
			break
		}
		s.replica = 1 - s.replica
		time.Sleep(time.Second)
	}
	return s
}

func (c *clients) attempt(s *sending) (*a2a.Task, error) {
	ctx := c.connections[s.replica]
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s.cancel {
		return c.engines[s.replica].Cancel(ctx, &a2a.CancelRequest{Owner: owner, TaskID: s.task})
	}
	r := &a2a.SendRequest{
		Owner: owner, ReturnImmediately: s.immediately,
		Message: &a2a.Message{ID: s.id, TaskID: s.task, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(s.id)}},
	}
	if s.push {
		r.Push = &a2a.PushConfig{URL: s.id}
	}
	event, err := c.engines[s.replica].Send(ctx, r)
	if err == nil && s.push {
		c.observed.expectPush(event.Task.ID, s.id)
	}
	if err == nil && s.immediately {
		c.observed.accept(s.id, event.Task.ID)
	}
	return event.Task, err
}

func unavailable(err error) bool {
	problem, ok := errors.AsType[*a2a.Error](err)
	return err != nil && (!ok || problem.Reason == a2a.ReasonUnavailable)
}

// check compares the contents of the store and the observations of the agents and clients
// with the guarantees of docs/explanation/replicas.md.
func check(t *testing.T, shared *storetest.Memory, o *observations, retry bool) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !retry {
		// Guarantee 7 applies only with Options.Retry.
		o.problems = slices.DeleteFunc(o.problems, func(p string) bool { return strings.Contains(p, "at once") })
	}
	page, err := shared.List(t.Context(), &store.Query{Owner: owner, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range page.Tasks {
		state := task.Status.State
		if !state.Terminal() && !state.Interrupted() {
			o.problemf("guarantee 8: task %s is left %s", task.ID, state)
		}
		log, err := shared.Open(t.Context(), store.Key{Owner: owner, TaskID: task.ID})
		if err != nil {
			t.Fatal(err)
		}
		records, err := log.Read(t.Context(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ended := false
		messages, attempt := map[string]int{}, ""
		for _, r := range records {
			if ended {
				o.problemf("guarantee 2: event %d follows a terminal status", r.Seq)
			}
			ended = ended || r.Status != nil && r.Status.Status.State.Terminal()
			if r.Artifact != nil {
				now := r.Artifact.Artifact.Parts[0].Text
				if now < attempt {
					o.problemf("guarantee 4: event %d of %s follows one of %s", r.Seq, now, attempt)
				}
				attempt = now
			}
			if r.Message != nil {
				if messages[r.Message.ID]++; messages[r.Message.ID] > 1 {
					o.problemf("guarantee 3: message %s is in the log twice", r.Message.ID)
				}
				if state == a2a.StateCompleted && !o.received[r.Message.ID] {
					o.problemf("guarantee 5: the task is completed, and no run received %s", r.Message.ID)
				}
			}
		}
	}
	for id, task := range o.accepted {
		if !keptPromise(t, shared, task, id) {
			o.problemf("guarantee 9: message %s was accepted, and task %s does not show what became of it", id, task)
		}
	}
	for expected := range o.expected {
		if !o.attached[expected] {
			o.problemf("guarantee 10: the push configuration is missing in task/message %s", expected)
		}
	}
	for id, n := range o.begun {
		if n > 1 {
			o.problemf("guarantee 6: message %s began %d turns", id, n)
		}
	}
}

// keptPromise reports whether the log of a task has an accepted message, or the task has
// ended and lists the message as unprocessed.
func keptPromise(t *testing.T, shared *storetest.Memory, task, id string) bool {
	t.Helper()
	log, err := shared.Open(t.Context(), store.Key{Owner: owner, TaskID: task})
	if err != nil {
		t.Fatal(err)
	}
	now, err := log.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(now.Task.History, func(m *a2a.Message) bool { return m.ID == id }) ||
		now.Task.Status.State.Terminal() && strings.Contains(string(now.Task.Metadata), `"a2a.unprocessedMessages":["`+id+`"]`)
}
