// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// phase is what a conversation waits for.
type phase uint8

const (
	// phaseIdle waits for the user. The next message begins a task.
	phaseIdle phase = iota
	// phaseRunning waits for the answer of the agent.
	phaseRunning
	// phaseInput waits for the user. The next message answers the question of the task.
	phaseInput
	// phaseAuth waits for an authorization outside of the chat. The next message continues the task.
	phaseAuth
	// phaseStopping waits for the end of a turn that the user interrupted.
	phaseStopping
	// phaseAsking waits for the user's answer whether to cancel the task.
	phaseAsking
	// phaseDetached waits for the user while the task continues without the chat. The next message begins another task of
	// the same context, because the user has not seen what the task does in the meantime.
	phaseDetached
	// phaseEnded waits for nothing: the chat ends.
	phaseEnded
)

// conversation is the state machine of a chat. It makes no calls: next takes an event, changes the state and returns what
// the chat must do.
type conversation struct {
	phase phase
	// contextID is the context of the conversation, "" before the agent has named it.
	contextID string
	// task is the task of the turn that runs. Between turns, it is the task of the last turn that had one. It is zero while
	// the task is unknown.
	task taskState
	// before is the state before the turn. The conversation returns to it if the turn has no effect.
	before struct {
		phase phase
		task  taskState
	}
	// answered is true after the first event of the turn that is about its task.
	answered bool
	// warned is true after a Ctrl-C with nothing to stop. The next Ctrl-C ends the chat.
	warned bool
}

// taskState is a task with its last known state.
type taskState struct {
	id    string
	state a2a.State
}

// eventKind is what happened.
type eventKind uint8

const (
	// The user sent a message, asked to follow event.task.id ("" for the task of the last turn), or began a new conversation.
	eventMessage eventKind = iota
	eventWatch
	eventRenew
	// The user pressed Ctrl-C, ended the chat (Ctrl-D, /quit), or pressed another key.
	eventInterrupt
	eventLeave
	eventKey
	// The user answered the question of phaseAsking.
	eventYes
	eventNo
	// The agent sent an event of the turn, with event.task and event.contextID as far as the event names them.
	eventAnswer
	// The chat read event.task outside of a turn: for a command, which has shown the task, or for actionCheck.
	eventRead
	eventChecked
	// The turn ended: the task has ended or waits, or the agent answered with a message.
	eventFinished
	// The turn ended: its stream broke and could not be resumed, the time-out expired, or the user stopped it.
	eventBroke
	// The turn ended: the agent refused the request, does not know the task, or does not know the context.
	eventRefused
	eventTaskGone
	eventContextGone
)

// event is what happened, with the fields that its kind has.
type event struct {
	kind      eventKind
	task      taskState
	contextID string
}

// action is what the chat must do.
type action uint8

const (
	// actionSay shows effect.text.
	actionSay action = iota
	// actionSend sends the message of the user to the task, or for a new task if it is "".
	actionSend
	// actionFollow follows the task.
	actionFollow
	// actionStop ends the turn.
	actionStop
	// actionCancel cancels the task. Its result is eventRead.
	actionCancel
	// actionCheck reads the task. Its result is eventChecked, or nothing if the read fails.
	actionCheck
	// actionClear clears the input.
	actionClear
	// actionRestore puts the message that was not accepted back into the input.
	actionRestore
)

// effect is an action with its task or its text.
type effect struct {
	action action
	taskID string
	text   string
}

func say(text string) effect { return effect{action: actionSay, text: text} }

// Texts of the chat.
const (
	textBusy      = "The agent is still working: Ctrl-C stops the answer."
	textRecall    = " Press the up arrow to get your text back."
	textInput     = "The agent waits for your answer."
	textAuth      = "The agent waits for an authorization, which its message describes. Then send a message to continue."
	textContinues = "The task continues: /watch follows it, /cancel ends it."
	textMay       = "The task may continue: /watch follows it, /cancel ends it."
	textNoTask    = "There is no task to follow: /watch TASK names one."
	textStopped   = "Stopped."
	textRenewed   = "A new conversation begins."
	textTaskGone  = "The agent does not have the task anymore. Your next message begins another one."
	textGone      = "The agent does not have the conversation anymore. Your next message begins another one."
	textRenew     = "If the agent does not have this conversation anymore, /new begins another one."
)

// next changes the state after an event, and returns what the chat must do, in order.
func (c *conversation) next(e event) []effect {
	if c.phase == phaseEnded {
		return nil
	}
	if e.kind <= eventNo && e.kind != eventInterrupt {
		c.warned = false
	}
	switch e.kind {
	case eventMessage:
		return c.message()
	case eventWatch:
		return c.watch(e.task.id)
	case eventRenew:
		return c.renew()
	case eventInterrupt:
		return c.interrupt()
	case eventLeave:
		c.phase = phaseEnded
	case eventYes, eventNo:
		return c.decide(e.kind == eventYes)
	case eventAnswer:
		c.answer(e)
	case eventRead, eventChecked:
		return c.read(e)
	case eventFinished, eventBroke, eventRefused, eventTaskGone, eventContextGone:
		return c.end(e.kind)
	case eventKey: // warned is false now
	}
	return nil
}

// isBusy reports whether the conversation accepts no message.
func (c *conversation) isBusy() bool {
	return c.phase == phaseRunning || c.phase == phaseStopping || c.phase == phaseAsking
}

func (c *conversation) message() []effect {
	switch {
	case c.isBusy():
		return []effect{say(textBusy + textRecall)}
	case c.phase == phaseInput || c.phase == phaseAuth:
		c.begin(c.task.id)
	default:
		c.begin("")
	}
	return []effect{{action: actionSend, taskID: c.task.id}}
}

func (c *conversation) watch(id string) []effect {
	if id == "" {
		id = c.task.id
	}
	switch {
	case c.isBusy():
		return []effect{say(textBusy)}
	case id == "":
		return []effect{say(textNoTask)}
	}
	c.begin(id)
	return []effect{{action: actionFollow, taskID: id}}
}

// begin starts a turn of a task, or of a new task if id is "".
func (c *conversation) begin(id string) {
	c.before.phase = c.phase
	c.before.task = c.task
	c.phase = phaseRunning
	c.task = taskState{id: id}
	c.answered = false
}

func (c *conversation) renew() []effect {
	if c.isBusy() {
		return []effect{say(textBusy)}
	}
	*c = conversation{}
	return []effect{say(textRenewed)}
}

func (c *conversation) interrupt() []effect {
	switch {
	case c.phase == phaseRunning:
		c.phase = phaseStopping
		return []effect{{action: actionStop}}
	case c.phase == phaseStopping, c.phase == phaseAsking, c.warned:
		c.phase = phaseEnded
		return nil
	}
	c.warned = true
	return []effect{{action: actionClear}}
}

// decide handles the answer to the question whether to cancel the task.
func (c *conversation) decide(cancel bool) []effect {
	if c.phase != phaseAsking {
		return nil
	}
	c.phase = phaseDetached
	if cancel {
		return []effect{{action: actionCancel, taskID: c.task.id}}
	}
	return []effect{say(textContinues), {action: actionCheck, taskID: c.task.id}}
}

// answer records an event of the turn.
func (c *conversation) answer(e event) {
	if c.phase != phaseRunning && c.phase != phaseStopping {
		return
	}
	if e.contextID != "" {
		c.contextID = e.contextID
	}
	if e.task.id != "" {
		c.task.id = e.task.id
		c.answered = true
	}
	if e.task.state != a2a.StateUnknown {
		c.task.state = e.task.state
	}
}

// read handles the state of a task that the chat read outside of a turn.
func (c *conversation) read(e event) []effect {
	if e.task.id != c.task.id || c.phase == phaseIdle || c.phase == phaseRunning || c.phase == phaseStopping {
		return nil // the chat does not talk about this task, or the events of the turn report its state
	}
	former := c.phase
	c.task.state = e.task.state
	said := c.settle()
	if c.phase == phaseDetached && former == phaseAsking {
		c.phase = phaseAsking
	}
	switch {
	case c.phase == former, c.phase == phaseIdle && e.kind == eventRead:
		return nil
	case c.phase == phaseDetached:
		return []effect{say(textContinues)}
	}
	return said
}

// end handles the end of the turn.
func (c *conversation) end(kind eventKind) []effect {
	if c.phase != phaseRunning && c.phase != phaseStopping {
		return nil
	}
	stopped := c.phase == phaseStopping
	if !c.answered {
		return c.undo(kind, stopped)
	}
	said := c.settle()
	switch {
	case kind == eventTaskGone && !c.task.state.Terminal():
		c.phase = phaseIdle
		c.task = taskState{}
		return []effect{say(textTaskGone)}
	case c.phase != phaseDetached || kind == eventFinished:
		return said
	case stopped:
		c.phase = phaseAsking
		return nil
	}
	return append(said, effect{action: actionCheck, taskID: c.task.id})
}

// undo handles the end of a turn without an event of its task.
func (c *conversation) undo(kind eventKind, stopped bool) []effect {
	wanted := c.task.id
	c.phase = c.before.phase
	c.task = c.before.task
	var out []effect
	switch {
	case kind == eventTaskGone && wanted == c.task.id:
		c.phase = phaseIdle
		c.task = taskState{}
		return []effect{say(textTaskGone), {action: actionRestore}}
	case kind == eventContextGone:
		*c = conversation{}
		return []effect{say(textGone), {action: actionRestore}}
	case kind == eventRefused || kind == eventTaskGone:
		if wanted == "" && c.contextID != "" {
			out = append(out, say(textRenew))
		}
		out = append(out, effect{action: actionRestore})
	case stopped && kind == eventBroke:
		out = append(out, say(textStopped))
	}
	if wanted == c.task.id && c.phase != phaseIdle {
		out = append(out, effect{action: actionCheck, taskID: wanted}) // the task may have the message, or may have ended before it
	}
	return out
}

// settle sets the phase by the state of the task, and returns what to say about it.
func (c *conversation) settle() []effect {
	switch state := c.task.state; {
	case state == a2a.StateInputRequired:
		c.phase = phaseInput
		return []effect{say(textInput)}
	case state == a2a.StateAuthRequired:
		c.phase = phaseAuth
		return []effect{say(textAuth)}
	case state.Terminal():
		c.phase = phaseIdle
		return []effect{say(taskIs(c.task))}
	default:
		c.phase = phaseDetached
		return []effect{say(textMay)}
	}
}

func taskIs(t taskState) string {
	return "Task " + safetext.Clip(t.id, 100) + " is " + t.state.String() + "."
}

// openTask returns the id of the task that can be continued or followed, "" for none.
func (c *conversation) openTask() string {
	if c.task.state.Terminal() {
		return ""
	}
	return c.task.id
}
