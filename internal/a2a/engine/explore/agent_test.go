// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// observations records the runs and the messages of the agents of both replicas.
type observations struct {
	mu sync.Mutex
	// running counts the runs of each turn that have not ended.
	running map[string]map[int]int
	// received contains the messages that runs received. begun counts the stored first
	// attempts of each message.
	received map[string]bool
	begun    map[string]int
	// accepted contains the task of each message for which a client got a task at once.
	accepted map[string]string
	// attached contains the push configurations that were attached. expected contains the ones
	// whose clients got a task. The keys are pushKey.
	attached, expected map[string]bool
	// phases contains the phase of each task at each replica.
	phases   [2]map[store.Key]string
	problems []string
}

func newObservations() *observations {
	return &observations{
		running: map[string]map[int]int{}, received: map[string]bool{}, begun: map[string]int{}, accepted: map[string]string{},
		attached: map[string]bool{}, expected: map[string]bool{},
		phases: [2]map[store.Key]string{{}, {}},
	}
}

func (o *observations) problemf(format string, args ...any) {
	o.problems = append(o.problems, fmt.Sprintf(format, args...))
}

// accept records that a client got a task as the answer to a message.
func (o *observations) accept(id, task string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.accepted[id] = task
}

// pushKey identifies the push configuration of a message in a task.
func pushKey(task, message string) string { return task + "/" + message }

// attachPush records that the push configuration of a message was attached to a task.
func (o *observations) attachPush(task, message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.attached[pushKey(task, message)] = true
}

// expectPush records that a client got a task as the answer to a message with a push
// configuration.
func (o *observations) expectPush(task, message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expected[pushKey(task, message)] = true
}

// crash forgets the runs of a replica after the end of its process.
func (o *observations) crash(replica int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, runs := range o.running {
		delete(runs, replica)
	}
}

// agent asks for input in the first turn of a task and completes the task in later ones.
type agent struct {
	replica  int
	observed *observations
}

func (a agent) Run(ctx context.Context, turn *backend.Turn, emit backend.Emit) error {
	name := fmt.Sprint(turn.TaskID, "/", turn.Number)
	o := a.observed
	o.mu.Lock()
	if o.running[name] == nil {
		o.running[name] = map[int]int{}
	}
	o.running[name][a.replica]++
	runs := 0
	for _, n := range o.running[name] {
		runs += n
	}
	if runs > 1 {
		o.problemf("turn %d of message %s runs %d times at once", turn.Number, turn.Message.ID, runs)
	}
	o.received[turn.Message.ID] = true
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.running[name][a.replica] > 0 {
			o.running[name][a.replica]--
		}
	}()
	attempt := a2a.TextPart(fmt.Sprintf("turn %d, attempt %d", turn.Number, turn.Attempt))
	text := a2a.Event{Artifact: &a2a.ArtifactUpdate{Artifact: a2a.Artifact{Parts: []a2a.Part{attempt}}, Append: true}}
	if err := emit([]a2a.Event{text}); err != nil {
		return err
	}
	if turn.Attempt == 1 {
		o.mu.Lock()
		o.begun[turn.Message.ID]++
		o.mu.Unlock()
	}
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	state := a2a.StateCompleted
	if turn.Number == 1 {
		state = a2a.StateInputRequired
	}
	return emit([]a2a.Event{{Status: &a2a.StatusUpdate{Status: a2a.Status{State: state}}}})
}
