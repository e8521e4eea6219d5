// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

const (
	// pauseTime is longer than the lease of a sidecar: others take over its tasks, and it must not write to them when it goes on.
	pauseTime = 14 * time.Second
	// slowTasks is the number of tasks before a pause that take longer than the pause. The sidecar that takes one over still runs it when
	// the paused one goes on.
	slowTasks = 8
	// endless is the distance between tasks whose agent says something and is then silent for silence. All of them are canceled.
	endless = 9
	// stopTime is the time within which an agent must have stopped to work for a canceled task, also if its sidecar is paused.
	stopTime = pauseTime + 15*time.Second
	silence  = stopTime + 15*time.Second
)

// lifecycle is a run of tasks that are canceled, listed and reported to a webhook while sidecars are killed and paused. Sidecars run an
// interrupted turn again.
type lifecycle struct {
	*fleet
	receiver *receiver
	// second gets the events of the tasks to which a client adds a push configuration, and third those of a configuration that is deleted soon.
	second, third *receiver
	seed          uint64

	mu    sync.Mutex
	tasks []*startedTask
	wrong map[string][]history.Violation
	// isSlow reports whether a task takes longer than a pause.
	isSlow func(n int) bool
	// interruptions counts the kills and pauses.
	interruptions int
	// listed is the number of tasks in the lists at the end.
	listed int
}

// startedTask is a task as its client knows it.
type startedTask struct {
	id, conversation string
	want             string
	canceled         bool
	// mayBeCanceled is true if the answer to a cancellation was lost.
	mayBeCanceled bool
	// copies are the calls that sent a copy of the message.
	copies []sentCopy
	// added is true if the task has a second push configuration, and mayHaveMore if it may have a third one, whose addition was not answered once.
	// watched is true if the second one was added before the end of the task.
	added, mayHaveMore, watched bool
	end                         taskState
}

// sentCopy is a call that sent a message.
type sentCopy struct {
	// server is the address of the sidecar.
	server     string
	begin, end time.Duration
	isAnswered bool
}

// lifecycleConversations is the number of conversations. Each has its own list.
const lifecycleConversations = 5

// runLifecycle is the scenario "lifecycle".
func runLifecycle(ctx context.Context, s *settings, r *report) error {
	tasks, kills, pauses := 1000, 12, 4
	if s.short {
		tasks, kills, pauses = 60, 2, 1
	}
	if s.tasks > 0 {
		kills = max(1, kills*s.tasks/tasks)
		pauses = max(1, pauses*s.tasks/tasks)
		tasks = s.tasks
	}
	var receivers [3]*receiver
	for i := range receivers {
		r, err := newReceiver(ctx)
		if err != nil {
			return err
		}
		defer r.stop()
		receivers[i] = r
	}
	receiver := receivers[0]
	f, stop, err := s.fleet(ctx, fleetOptions{grace: 10 * time.Second, change: func(c *sidecarconfig.Config) {
		c.Backend.OnInterruption = sidecarconfig.InterruptionRetry
		c.PushNotifications = &sidecarconfig.PushNotifications{AllowedTargets: []sidecarconfig.PushTarget{{CIDR: receiver.cidr}}}
	}})
	if err != nil {
		return err
	}
	defer stop()
	interrupts := interruptions{tasks: tasks, kills: kills, pauses: pauses}
	l := &lifecycle{fleet: f, receiver: receiver, second: receivers[1], third: receivers[2], seed: s.seed, wrong: map[string][]history.Violation{}, isSlow: interrupts.isSlow}
	group, running := errgroup.WithContext(ctx)
	const concurrency = 24
	numbers := make(chan int)
	for range concurrency {
		group.Go(func() error {
			for n := range numbers {
				l.task(running, n)
			}
			return nil
		})
	}
	walking, stopWalking := context.WithCancel(running)
	var walks sync.WaitGroup
	walks.Go(func() { l.walk(walking) })
	group.Go(func() error {
		defer close(numbers)
		return l.start(running, numbers, interrupts)
	})
	err = group.Wait()
	stopWalking()
	walks.Wait()
	if err != nil {
		return err
	}
	delivered := l.finish(ctx)
	f.checkRunning(r)
	l.report(r, tasks, delivered)
	return nil
}

// interruptions distributes kills and pauses over tasks.
type interruptions struct{ tasks, kills, pauses int }

// at returns what comes after a task.
func (s interruptions) at(n int) (kill, pause bool) {
	all := s.kills + s.pauses
	every := max(s.tasks/(all+1), 1)
	number := (n + 1) / every
	if (n+1)%every != 0 || number > all {
		return false, false
	}
	pause = number%(all/s.pauses) == 0
	return !pause, pause
}

// isSlow reports whether a task takes longer than the pause that follows.
func (s interruptions) isSlow(n int) bool {
	for next := n; next < n+slowTasks; next++ {
		if _, pause := s.at(next); pause {
			return true
		}
	}
	return false
}

// start sends the numbers of the tasks, and kills and pauses sidecars between them.
func (l *lifecycle) start(ctx context.Context, numbers chan<- int, s interruptions) error {
	rng := rand.New(rand.NewPCG(l.seed, 0))
	for n := range s.tasks {
		select {
		case numbers <- n:
		case <-ctx.Done():
			return ctx.Err()
		}
		kill, pause := s.at(n)
		if !kill && !pause {
			continue
		}
		sidecar := l.sidecars[rng.IntN(len(l.sidecars))]
		l.interruptions++
		if kill {
			if err := l.kill(ctx, sidecar, killWindows, time.Duration(rng.IntN(50))*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		if err := l.pause(sidecar, pauseTime); err != nil {
			return err
		}
	}
	return nil
}

func (l *lifecycle) violationf(id string, rule history.Rule, format string, arguments ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong[id] = append(l.wrong[id], history.Violation{Rule: rule, Text: fmt.Sprintf(format, arguments...)})
}

// task runs a task to its end. A third of them are canceled.
func (l *lifecycle) task(ctx context.Context, n int) {
	rng := rand.New(rand.NewPCG(l.seed, uint64(n)+1))
	ctx, cancel := context.WithTimeout(ctx, taskTimeout)
	defer cancel()
	says := script.Script{Token: fmt.Sprintf("l%d-%d", l.seed, n), Turn: 1, Turns: 1, Chunks: 5 + rng.IntN(40), Size: 30, Every: time.Duration(1+rng.IntN(20)) * time.Millisecond}
	isEndless := n%endless == endless/2
	switch {
	case isEndless:
		says.Chunks = 1
		says.Every = silence
	case l.isSlow(n):
		says.Chunks = 40
		says.Every = 350 * time.Millisecond
	}
	t := &startedTask{conversation: fmt.Sprintf("l%d-%d", l.seed, n%lifecycleConversations)}
	for i := range says.Total() {
		t.want += says.Chunk(i)
	}
	var found taskState
	err := l.persist(ctx, rng, func(c caller, address string) (err error) {
		sent := sentCopy{server: address, begin: l.now()}
		found, err = c.send(ctx, address, says.String(), says.Token, t.conversation, l.receiver.url)
		sent.end = l.now()
		sent.isAnswered = !errors.Is(err, errAway)
		t.copies = append(t.copies, sent)
		return err
	})
	if err != nil {
		l.violationf(says.Token, history.Wedged, "the message was not accepted: %v", err)
		return
	}
	t.id = found.ID
	l.mu.Lock()
	l.tasks = append(l.tasks, t)
	l.mu.Unlock()
	if n%webhookDistance == 0 {
		l.changeWebhooks(ctx, rng, t)
	}
	if rng.IntN(3) == 0 && !l.isSlow(n) || isEndless {
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		err := l.persist(ctx, rng, func(c caller, address string) error {
			err := c.cancel(ctx, address, t.id)
			t.mayBeCanceled = t.mayBeCanceled || errors.Is(err, errAway)
			return err
		})
		t.canceled = err == nil
		if err != nil && !errors.Is(err, errNotCancelable) {
			l.violationf(t.id, history.Wedged, "the task was not canceled: %v", err)
		}
	}
	if isEndless && t.canceled {
		l.awaitStop(ctx, t, says.Token)
	}
	for !t.end.hasEnded() {
		err := l.persist(ctx, rng, func(c caller, address string) (err error) {
			t.end, err = c.get(ctx, address, t.id)
			return err
		})
		if err != nil {
			l.violationf(t.id, history.Wedged, "the task did not end: %v", err)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	l.checkEnd(t)
}

// awaitStop waits until the agent has stopped to work for a canceled task.
func (l *lifecycle) awaitStop(ctx context.Context, t *startedTask, token string) {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	for ctx.Err() == nil {
		if n, err := l.running(ctx, token); err == nil && n == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	l.violationf(t.id, history.Terminals, "the agent works for the canceled task after %s", stopTime)
}

// running returns the number of turns that the agent runs for a task.
func (l *lifecycle) running(ctx context.Context, token string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.agent.address+script.RunningPath+token, nil)
	if err != nil {
		return 0, err
	}
	response, err := oneConnectionEach.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

// persist sends a request over any binding to any sidecar until one answers.
func (l *lifecycle) persist(ctx context.Context, rng *rand.Rand, request func(c caller, address string) error) error {
	for {
		err := request(anyCaller(rng), l.anyAddress(rng))
		if !errors.Is(err, errAway) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(time.Duration(5+rng.IntN(50)) * time.Millisecond)
	}
}

// servers returns the sidecars that got a copy of the message.
func (t *startedTask) servers() (all []string) {
	for _, c := range t.copies {
		all = append(all, c.server)
	}
	return all
}

// mayBeRefused reports whether a copy of the message got no answer from a sidecar that was paused meanwhile: a sidecar that was paused while the
// store created the task takes the message for refused, and ends the task.
func (t *startedTask) mayBeRefused(faults *history.Faults) bool {
	return slices.ContainsFunc(t.copies, func(c sentCopy) bool { return !c.isAnswered && faults.PausedDuring(c.server, c.begin, c.end) })
}

// checkEnd checks how a task has ended.
func (l *lifecycle) checkEnd(t *startedTask) {
	const attempts = 3 // at a turn
	faults := l.currentFaults()
	interruptions := faults.Interruptions(t.servers(), t.copies[0].begin, l.now())
	state := t.end.Status.State
	switch {
	case t.canceled && state != "TASK_STATE_CANCELED":
		l.violationf(t.id, history.Failed, "the task was canceled, and is %s", state)
	case t.canceled, t.mayBeCanceled && state == "TASK_STATE_CANCELED":
		if !strings.HasPrefix(t.want, t.end.text()) {
			l.violationf(t.id, history.Foreign, "the canceled task has the text %.200q", t.end.text())
		}
	case state == "TASK_STATE_FAILED" && interruptions >= attempts && t.end.Status.text() == "The agent was interrupted too often":
	case state == "TASK_STATE_FAILED" && t.mayBeRefused(faults) && t.end.Status.text() == "The message was refused":
	case state != "TASK_STATE_COMPLETED":
		l.violationf(t.id, history.Failed, "the task is %s after %d interruptions: %s", state, interruptions, t.end.Status.text())
	case t.end.text() != t.want:
		l.violationf(t.id, history.Lost, "the text has %d bytes of %d: %.200q", len(t.end.text()), len(t.want), t.end.text())
	}
}

// walk reads the lists of all conversations again and again. No task may be on two pages of one list.
func (l *lifecycle) walk(ctx context.Context) {
	rng := rand.New(rand.NewPCG(l.seed, 1))
	for ctx.Err() == nil {
		_ = l.list(ctx, rng, fmt.Sprintf("l%d-%d", l.seed, rng.IntN(lifecycleConversations)))
	}
}

// list returns the tasks of a conversation, nil if a sidecar did not answer.
func (l *lifecycle) list(ctx context.Context, rng *rand.Rand, conversation string) map[string]taskState {
	found := map[string]taskState{}
	page := ""
	for {
		tasks, next, err := anyCaller(rng).list(ctx, l.anyAddress(rng), conversation, page)
		if errors.Is(err, errAway) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			l.violationf(conversation, history.Unexplained, "the list was refused: %v", err)
			return nil
		}
		for _, t := range tasks {
			if _, isKnown := found[t.ID]; isKnown {
				l.violationf(t.ID, history.Repeated, "the task is on two pages of a list")
			}
			found[t.ID] = t
		}
		page = next
		if page == "" {
			return found
		}
	}
}

// finish checks what must hold after all tasks have ended: their state, their logs, the lists and what the webhook got. It returns the number of
// tasks whose end the webhook has got.
func (l *lifecycle) finish(ctx context.Context) (delivered int) {
	rng := rand.New(rand.NewPCG(l.seed, 2))
	listed := map[string]taskState{}
	for n := range lifecycleConversations {
		var found map[string]taskState
		for found == nil && ctx.Err() == nil {
			found = l.list(ctx, rng, fmt.Sprintf("l%d-%d", l.seed, n))
		}
		maps.Copy(listed, found)
	}
	l.listed = len(listed)
	for _, t := range l.tasks {
		if !t.end.hasEnded() {
			continue
		}
		if state := listed[t.id].Status.State; state != t.end.Status.State {
			l.violationf(t.id, history.Diverged, "the task ended as %s, and the list has %q", t.end.Status.State, state)
		}
		var now taskState
		err := l.persist(ctx, rng, func(c caller, address string) (err error) {
			now, err = c.get(ctx, address, t.id)
			return err
		})
		if err != nil || now.Status.State != t.end.Status.State || now.text() != t.end.text() {
			l.violationf(t.id, history.Terminals, "the task went on after its end: %s with %d bytes, then %s with %d (%v)",
				t.end.Status.State, len(t.end.text()), now.Status.State, len(now.text()), err)
		}
		l.auditLog(ctx, rng, t)
		l.checkWebhooks(ctx, rng, t)
	}
	delivered = l.receiver.await(ctx, l.tasks)
	for _, t := range l.tasks {
		for _, problem := range l.receiver.problems(t) {
			l.violationf(t.id, history.Lost, "%s", problem)
		}
	}
	l.checkSecond(ctx)
	return delivered
}

// auditLog reads the whole log of a task. It has one end, which is its last event.
func (l *lifecycle) auditLog(ctx context.Context, rng *rand.Rand, t *startedTask) {
	stream, err := client.Auditor.Open(ctx, l.anyAddress(rng), &client.Request{TaskID: t.id, After: new(uint64)})
	if err != nil {
		l.violationf(t.id, history.Lost, "the log was not read: %v", err)
		return
	}
	defer stream.Close()
	var events []history.Event
	for {
		item, err := stream.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			l.violationf(t.id, history.Lost, "the log was not read: %v", err)
			return
		}
		events = append(events, item.Event)
	}
	first := slices.IndexFunc(events, func(e history.Event) bool { return e.Terminal() })
	if first != len(events)-1 || first < 0 {
		l.violationf(t.id, history.Terminals, "the end is the event %d of %d", first+1, len(events))
	}
}

func (l *lifecycle) report(r *report, tasks, delivered int) {
	ends := map[string]int{}
	for _, t := range l.tasks {
		ends[strings.ToLower(strings.TrimPrefix(t.end.Status.State, "TASK_STATE_"))]++
	}
	r.Tally = tally{Tasks: len(l.tasks), Ends: ends}
	r.addFinding("messages that a sidecar accepted", len(l.tasks) == tasks, fmt.Sprint(tasks), fmt.Sprint(len(l.tasks)))
	// A client that gets no answer sends its message again, and a sidecar that goes on after a pause may have it, too: one of them creates the task.
	r.addFinding("further tasks of the same messages", l.listed == len(l.tasks), "0", fmt.Sprint(l.listed-len(l.tasks)))
	r.addFinding("kills and pauses of sidecars", true, "any number", fmt.Sprint(l.interruptions))
	r.addFinding("tasks whose end the webhook got", delivered == len(l.tasks), fmt.Sprint(len(l.tasks)), fmt.Sprint(delivered))
	r.addFinding("notifications that the webhook refused for now", true, "any number", fmt.Sprint(l.receiver.refusals()))
	for id, violations := range l.wrong {
		r.Failed = append(r.Failed, failedTask{Task: &history.Task{ID: id}, Violations: violations})
	}
}
