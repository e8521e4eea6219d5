// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// end is how a task ended for its client.
type end string

const (
	completed end = "completed"
	// exhausted: the sidecars that held the task were killed too often during one turn, or its model server.
	exhausted end = "failed"
	// forgotten: the sidecar lost its memory.
	forgotten end = "forgotten"
	violated  end = "violated"
)

// driver is the client of one task.
type driver struct {
	*world
	script *script
	// context is the conversation.
	context string
	task    string
	// last is the number of the last event.
	last uint64
	now  status
	// decisions are those by the ids of calls. accepted has those that a sidecar has accepted.
	decisions map[string]bool
	accepted  map[string]bool
	// told are the outcomes that the events named, by the digests of the arguments.
	told map[string]string
}

// textsCut are the beginnings of the failure of a task whose last attempt ended because its model server was killed: before an answer, and during
// one.
var textsCut = []string{"The connection to the agent broke", "The agent's answer broke off"}

// taskTimeout is the time after which a task hangs.
const taskTimeout = 2 * time.Minute

// drive runs the task to its end and checks it.
func (d *driver) drive(ctx context.Context) end {
	ctx, cancel := context.WithTimeout(ctx, taskTimeout)
	defer cancel()
	text, err := json.Marshal(d.script)
	d.must(err)
	name := fmt.Sprint(d.script.Token, "/", d.script.Task)
	message := map[string]any{
		"role": "ROLE_USER", "messageId": name, "contextId": d.context,
		"parts": []any{map[string]string{"text": "SCRIPT " + string(text) + " " + filler(d.script.Filler) + d.script.Token}},
	}
	d.begin(d.script.Token)
	defer d.finish(d.script.Token)
	if d.forgets {
		d.replicas[0].await()
	}
	for isSent := false; ; {
		if ctx.Err() != nil {
			d.verdict.violationf("the task %s (%s) hangs: %+v, seen in the model: %v", name, d.task, d.now, d.outcomesOf())
			return violated
		}
		err := d.exchange(ctx, message, &isSent)
		switch {
		case d.now.hasEnded():
			return d.check(ctx)
		case errors.Is(err, errNotFound) && d.forgets, d.forgets && err != nil && !isSent:
			// A message whose answer is lost may not be sent again: the next process does not know the former one.
			return d.forgot(err)
		case err != nil && !errors.Is(err, errAway) && !errors.Is(err, errEnded) && ctx.Err() == nil:
			d.verdict.violationf("the task %s (%s): %v", name, d.task, err)
			return violated
		case d.now.State == "TASK_STATE_INPUT_REQUIRED":
			message = d.decide()
			if message == nil {
				return violated
			}
			isSent = false
			d.reach(approvalOpen, d.script.Token)
			go func() {
				pauseBriefly()
				d.reach(deciding, d.script.Token)
			}()
		default:
			pause(ctx, 200*time.Millisecond)
		}
	}
}

// exchange sends the message, unless a sidecar has accepted it, and reads the events that follow until the task ends or waits.
func (d *driver) exchange(ctx context.Context, message map[string]any, isSent *bool) error {
	handle := func(e *event) bool {
		if !*isSent {
			*isSent = true
			for id := range d.decisions {
				d.accepted[id] = true
			}
			if len(d.decisions) > 0 {
				go d.reach(decided, d.script.Token)
			}
		}
		return d.handle(e)
	}
	if *isSent {
		err := call(ctx, d.anyAddress(), "SubscribeToTask", map[string]string{"id": d.task}, d.last, handle)
		if errors.Is(err, errRefused) {
			return errAway
		}
		return err
	}
	d.passOn(d.script.Token)
	err := call(ctx, d.anyAddress(), "SendStreamingMessage", map[string]any{"message": message}, 0, handle)
	if errors.Is(err, errRefused) {
		d.mu.Lock()
		d.refused[d.script.Token] = true
		d.mu.Unlock()
		return errAway
	}
	return err
}

// isRefused reports whether a sidecar has refused a message of a conversation for now. It refuses one that the store has not acknowledged in
// time, and the store may have it after all.
func (w *world) isRefused(token string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused[token]
}

// handle applies an event. It returns false if the task has ended or waits.
func (d *driver) handle(e *event) bool {
	isNew := e.Seq > d.last
	d.last = max(d.last, e.Seq)
	switch {
	case e.Task != nil:
		d.task = e.Task.ID
		d.now = e.Task.Status
	case !isNew:
		return true
	case e.StatusUpdate != nil:
		d.task = e.StatusUpdate.TaskID
		d.now = e.StatusUpdate.Status
		if step := e.StatusUpdate.Metadata.Step; step.Outcome != "" {
			if before := d.told[step.Digest]; before != "" && before != step.Outcome {
				d.verdict.violationf("the events of the task %s name the outcomes %s and %s of a call", d.task, before, step.Outcome)
			}
			d.told[step.Digest] = step.Outcome
		}
	}
	if d.now.State == "TASK_STATE_INPUT_REQUIRED" && e.Task != nil && d.isDecided() {
		return true // the snapshot is that of the task before the decision
	}
	return !d.now.hasEnded() && d.now.State != "TASK_STATE_INPUT_REQUIRED"
}

// isDecided reports whether all calls of the request were decided.
func (d *driver) isDecided() bool {
	return !slices.ContainsFunc(d.now.asks(), func(a asked) bool { return !d.accepted[a.ID] })
}

// decide returns the message with the decisions about the calls that wait.
func (d *driver) decide() map[string]any {
	calls := d.now.asks()
	if len(calls) == 0 {
		d.verdict.violationf("the task %s waits for nothing: %s", d.task, d.now.text())
		return nil
	}
	var approvals []any
	for _, each := range calls {
		if d.accepted[each.ID] {
			d.verdict.violationf("the task %s lost a decision: %s", d.task, each.Args.Key)
			return nil
		}
		step, _ := stepOf(each.Args.Key)
		d.decisions[each.ID] = !slices.Contains(d.script.Rejects, step)
		approvals = append(approvals, map[string]any{"id": each.ID, "approved": d.decisions[each.ID]})
	}
	d.now = status{}
	return map[string]any{
		"role": "ROLE_USER", "messageId": calls[0].ID, "taskId": d.task, "contextId": d.context, "extensions": []string{extension},
		"parts":    []any{map[string]string{"text": "decided"}},
		"metadata": map[string]any{extension: map[string]any{"type": "tool_approval_response", "approvals": approvals}},
	}
}

func stepOf(key string) (step, call int) {
	_, _ = fmt.Sscanf(key[strings.LastIndex(key, "/")+1:], "%d-%d", &step, &call)
	return step, call
}

// check checks a task that has ended.
func (d *driver) check(ctx context.Context) end {
	var found *task
	for found == nil {
		err := call(ctx, d.anyAddress(), "GetTask", map[string]string{"id": d.task}, 0, func(e *event) bool {
			found = e.Task
			return false
		})
		switch {
		case errors.Is(err, errNotFound) && d.forgets:
			return d.forgot(err)
		case err != nil && !errors.Is(err, errAway) && !errors.Is(err, errRefused) || ctx.Err() != nil:
			d.verdict.violationf("the task %s: %v", d.task, err)
			return violated
		case err != nil:
			pause(ctx, 100*time.Millisecond)
		}
	}
	d.checkCalls(found)
	if found.Status.State != "TASK_STATE_COMPLETED" {
		text := found.Status.text()
		f := d.faultsOf(d.script.Token)
		isExhausted := strings.HasPrefix(text, "The agent was interrupted too often") && f.interruptions >= attempts
		// A replica had refused the message, because the store did not acknowledge it in time, and the store has it after all.
		isRefused := text == "The message was refused" && (d.isRefused(d.script.Token) || f.interruptions > 0) && d.ranNothing()
		isCut := f.modelKills > 0 && slices.ContainsFunc(textsCut, func(cut string) bool { return strings.HasPrefix(text, cut) })
		if !isCut && (!isExhausted && !isRefused || d.forgets) || found.Status.State != "TASK_STATE_FAILED" {
			d.verdict.violationf("the task %s %s after %+v: %s", d.task, found.Status.State, f, text)
		}
		return exhausted
	}
	var got, want []string
	for _, each := range found.Artifacts {
		text := ""
		for _, part := range each.Parts {
			text += part.Text
		}
		if text != "" {
			got = append(got, text)
		}
	}
	for step := range len(d.script.Steps) + 1 {
		if text := d.script.says(step); text != "" {
			want = append(want, text)
		}
	}
	if a, b := strings.Join(got, "\n\n"), strings.Join(want, "\n\n"); a != b {
		d.verdict.violationf("the text of the task %s is %q, want %q", d.task, a, b)
	}
	return completed
}

// forgot returns that the sidecar has lost its memory, if it was killed.
func (d *driver) forgot(err error) end {
	if d.faultsOf(d.script.Token).interruptions > 0 {
		return forgotten
	}
	d.verdict.violationf("the task %s was forgotten without a kill: %v", d.task, err)
	return violated
}

// ranNothing reports whether no call of the task has run.
func (d *driver) ranNothing() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for step, tools := range d.script.Steps {
		for i := range tools {
			if d.runs[d.script.key(step, i)] > 0 {
				return false
			}
		}
	}
	return true
}

// checkCalls checks that each call ran as often as it may, and that nothing that is not known is silent.
func (d *driver) checkCalls(t *task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hasCompleted := t.Status.State == "TASK_STATE_COMPLETED"
	isWhole := hasCompleted && d.script.Filler == 0 // otherwise the model may not have read all results
	for step, tools := range d.script.Steps {
		for i, tool := range tools {
			key := d.script.key(step, i)
			n := d.runs[key]
			outcome := d.seen[key]
			isRejected := tool == toolDeploy && slices.Contains(d.script.Rejects, step)
			told := d.told[digestOf(tool, key)]
			// A task that fails says what it leaves.
			text := t.Status.text()
			if strings.Contains(text, "not known, they may have happened") && strings.Contains(text, tool+" (") {
				told = cmp.Or(told, outcomeUnknown)
			}
			if strings.Contains(text, "The last call, "+tool) {
				told = cmp.Or(told, outcomeDone)
			}
			switch {
			case n > 1 && (isOnce(tool) || tool == toolHelper):
				d.verdict.violationf("%s %s ran %d times", tool, key, n)
			case isRejected && n > 0:
				d.verdict.violationf("%s %s was rejected and ran", tool, key)
			case isWhole && outcome == "":
				d.verdict.violationf("%s %s has no outcome", tool, key)
			case isWhole && (outcome == outcomeRejected) != isRejected && outcome != outcomeFailed:
				d.verdict.violationf("%s %s: a lost decision: it is %s", tool, key, outcome)
			case isOnce(tool) && n > 0 && told == "", outcome == outcomeUnknown && told != outcome:
				d.verdict.violationf("%s %s ran %d times and is %q for the model, and the client of the task %s, which is %s, knows %q: %s",
					tool, key, n, outcome, d.task, t.Status.State, told, text)
			}
		}
	}
}

func (d *driver) outcomesOf() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string]string{}
	for step, tools := range d.script.Steps {
		for i := range tools {
			all[d.script.key(step, i)] = d.seen[d.script.key(step, i)]
		}
	}
	return all
}

// newDriver returns the client of a task.
func newDriver(w *world, s *script) *driver {
	return &driver{
		world: w, script: s, context: fmt.Sprint(s.Token, "-", rand.Uint64()), decisions: map[string]bool{}, accepted: map[string]bool{}, told: map[string]string{},
	}
}
