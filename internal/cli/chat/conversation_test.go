// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

var phaseNames = map[phase]string{
	phaseIdle: "idle", phaseRunning: "running", phaseInput: "input", phaseAuth: "auth",
	phaseStopping: "stopping", phaseAsking: "asking", phaseDetached: "detached", phaseEnded: "ended",
}

var actionNames = map[action]string{
	actionSend: "send", actionFollow: "follow", actionStop: "stop", actionCancel: "cancel",
	actionCheck: "check", actionClear: "clear", actionRestore: "restore",
}

// String describes the state for the table.
func (c *conversation) String() string {
	text := phaseNames[c.phase]
	if c.task.id != "" {
		text += " " + c.task.id + " " + c.task.state.String()
	}
	if c.contextID != "" {
		text += " in " + c.contextID
	}
	if c.warned {
		text += ", warned"
	}
	return text
}

func (e effect) String() string {
	if e.action == actionSay {
		return fmt.Sprintf("%q", e.text)
	}
	return strings.TrimSpace(actionNames[e.action] + " " + e.taskID)
}

// namedEvent is an event with its name in the table.
type namedEvent struct {
	name string
	event
}

// allEvents returns every kind of event, and those about a task with each of its states.
func allEvents() []namedEvent {
	all := []namedEvent{
		{"message", event{kind: eventMessage}},
		{"watch", event{kind: eventWatch}},
		{"watch t-2", event{kind: eventWatch, task: taskState{id: "t-2"}}},
		{"new", event{kind: eventRenew}},
		{"Ctrl-C", event{kind: eventInterrupt}},
		{"Ctrl-D", event{kind: eventLeave}},
		{"key", event{kind: eventKey}},
		{"yes", event{kind: eventYes}},
		{"no", event{kind: eventNo}},
		{"answer message", event{kind: eventAnswer, contextID: "c-1"}},
	}
	for s := a2a.StateUnknown; s <= a2a.StateRejected; s++ {
		t := taskState{id: "t-1", state: s}
		all = append(all, namedEvent{"answer " + s.String(), event{kind: eventAnswer, task: t, contextID: "c-1"}},
			namedEvent{"read " + s.String(), event{kind: eventRead, task: t}},
			namedEvent{"checked " + s.String(), event{kind: eventChecked, task: t}})
	}
	return append(all,
		namedEvent{"read t-3", event{kind: eventRead, task: taskState{"t-3", a2a.StateInputRequired}}},
		namedEvent{"finished", event{kind: eventFinished}},
		namedEvent{"broke", event{kind: eventBroke}},
		namedEvent{"refused", event{kind: eventRefused}},
		namedEvent{"task gone", event{kind: eventTaskGone}},
		namedEvent{"context gone", event{kind: eventContextGone}},
	)
}

// after returns the conversation after events, by their names.
func after(names ...string) conversation {
	var c conversation
	all := allEvents()
	for _, name := range names {
		i := slices.IndexFunc(all, func(e namedEvent) bool { return e.name == name })
		c.next(all[i].event)
	}
	return c
}

// TestEveryEventInEveryStateOfAConversation compares the whole table of the state machine with
// testdata/conversation.golden. Events without an effect share a line.
func TestEveryEventInEveryStateOfAConversation(t *testing.T) {
	asked := []string{"message", "answer input-required", "finished"}
	working := []string{"message", "answer working"}
	states := []struct {
		name string
		conversation
	}{
		{"at the start", after()},
		{"after a completed task", after("message", "answer completed", "finished")},
		{"after a Ctrl-C without a turn", after("message", "answer completed", "finished", "Ctrl-C")},
		{"after the first message", after("message")},
		{"while a task works", after(working...)},
		{"while a task asks and its stream is open", after("message", "answer input-required")},
		{"after a task has ended and its stream is open", after("message", "answer failed")},
		{"after a question", after(asked...)},
		{"after a request for an authorization", after("message", "answer auth-required", "finished")},
		{"after an answer to a question", after(append(asked, "message")...)},
		{"while the task works on the answer", after(append(asked, "message", "answer working")...)},
		{"while following another task", after(append(asked, "watch t-2")...)},
		{"after a message for a new task beside one that continues", after(append(working, "Ctrl-C", "broke", "no", "message")...)},
		{"after Ctrl-C before the agent answered", after("message", "Ctrl-C")},
		{"after Ctrl-C before the agent took the answer", after(append(asked, "message", "Ctrl-C")...)},
		{"after Ctrl-C while a task works", after(append(working, "Ctrl-C")...)},
		{"at the question whether to cancel", after(append(working, "Ctrl-C", "broke")...)},
		{"while a task continues without the chat", after(append(working, "Ctrl-C", "broke", "no")...)},
		{"after the end", after("Ctrl-D")},
	}
	var out strings.Builder
	for _, s := range states {
		fmt.Fprintf(&out, "%s: %s\n", s.name, s.String())
		var none []string
		for _, e := range allEvents() {
			c := s.conversation
			effects := c.next(e.event)
			if len(effects) == 0 && c.String() == s.String() {
				none = append(none, e.name)
				continue
			}
			fmt.Fprintf(&out, "  %-22s -> %s", e.name, c.String())
			for _, each := range effects {
				fmt.Fprintf(&out, "; %s", each)
			}
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "  no effect: %s\n\n", strings.Join(none, ", "))
	}
	const file = "testdata/conversation.golden"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != out.String() {
		t.Errorf("%s differs (%v); UPDATE_GOLDEN=1 writes it. Got:\n%s", file, err, out.String())
	}
}

// TestNoSequenceOfEventsBlocksAConversation visits every state that a sequence of events can reach.
func TestNoSequenceOfEventsBlocksAConversation(t *testing.T) {
	seen := map[conversation]bool{{}: true}
	queue := []conversation{{}}
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		for _, e := range allEvents() {
			next := c
			effects := next.next(e.event)
			checkStep(t, &c, e, &next, effects)
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
		if t.Failed() {
			return
		}
	}
	if len(seen) < 100 {
		t.Errorf("the sequences reach %d states only", len(seen))
	}
}

func checkStep(t *testing.T, c *conversation, e namedEvent, next *conversation, effects []effect) {
	t.Helper()
	step := fmt.Sprintf("%s, then %s -> %s: %v", c, e.name, next, effects)
	has := func(a action) bool { return slices.ContainsFunc(effects, func(e effect) bool { return e.action == a }) }
	for _, each := range effects {
		if each.action == actionSend && each.taskID != "" && (c.phase != phaseInput && c.phase != phaseAuth || each.taskID != c.task.id || c.task.state.Terminal()) {
			t.Errorf("a message goes to a task that does not wait: %s", step)
		}
		if (each.action == actionCancel || each.action == actionCheck || each.action == actionFollow) && each.taskID == "" {
			t.Errorf("an action lacks its task: %s", step)
		}
	}
	if e.kind == eventMessage && c.phase != phaseEnded && !c.isBusy() && (!has(actionSend) || next.phase != phaseRunning) {
		t.Errorf("a message is not sent: %s", step)
	}
	if (has(actionSend) || has(actionFollow)) && next.phase != phaseRunning {
		t.Errorf("a turn begins in another phase: %s", step)
	}
	if e.kind >= eventFinished && (next.phase == phaseRunning || next.phase == phaseStopping) {
		t.Errorf("the turn ended, and the chat waits for it: %s", step)
	}
	if waits := next.phase == phaseInput || next.phase == phaseAuth; waits && next.task.id == "" || waits && next.task.state.Terminal() {
		t.Errorf("the chat says that a task waits, which does not: %s", step)
	}
	if next.phase == phaseDetached && (next.task.id == "" || next.task.state.Terminal()) {
		t.Errorf("the chat says that a task continues, which does not: %s", step)
	}
	if e.kind == eventInterrupt && c.warned && next.phase != phaseEnded || e.kind == eventLeave && next.phase != phaseEnded {
		t.Errorf("the user cannot leave: %s", step)
	}
}
