// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
)

// callState is the state of one call of a tool.
type callState int

const (
	// callProposed: the model asked for the call.
	callProposed callState = iota
	// callAsked: a person was asked for approval.
	callAsked
	callApproved
	// callStarted: the call runs, or ran when the process ended.
	callStarted
	// callPaused: the tool waits for the client.
	callPaused
	// callAnswered: the client has answered the tool.
	callAnswered
	// callEnded: the call has a result.
	callEnded
)

// call is a call in a transcript.
type call struct {
	callEntry
	state callState
	// digest is that of the tool that was shown for approval, "" if no approval was asked for.
	digest string
	paused *pausedEntry
	// attempt is the attempt of the turn in which the call began.
	attempt int
	result  *resultEntry
}

// transcript is what the journal of a task says: the fold of its entries.
type transcript struct {
	turn int
	// messages are those of the model so far, without the results of the last answer's calls.
	messages []completions.Message
	// calls are those of the last answer. They are empty if all have results in messages.
	calls []*call
	// asked is the open request for approval, nil for none.
	asked *askedEntry
	// hasEarlier is true if the journal has earlier turns of the task.
	hasEarlier bool
	// hasMessage is true if the journal has the message of the present turn, and answers are the answers of the
	// model in this turn.
	hasMessage bool
	answers    []*answerEntry
	// summary replaces the history and the first messages, nil for none.
	summary *summaryEntry
	// turnUsage is the usage of the present turn, and taskUsage that of all turns.
	turnUsage, taskUsage usage
	// unreported are the tokens, by estimate, of answers of whose usage the server has reported nothing.
	unreported int64
	// bytesPerToken is how many bytes of messages a token has, as the last answer with a usage shows; 0 if none does.
	bytesPerToken float64
	// isRepaired is true once the model was asked to repair its answer in the present turn, and wantsAnswer until it has answered.
	isRepaired, wantsAnswer bool
	// last is the call whose result is the last entry, nil for another entry.
	last *call
}

// newTranscript folds the entries of a journal for a turn.
func newTranscript(entries []entry, turn int) *transcript {
	t := &transcript{turn: turn}
	for i := range entries {
		t.apply(&entries[i])
	}
	return t
}

// apply adds an entry.
func (t *transcript) apply(e *entry) {
	t.hasEarlier = t.hasEarlier || e.Turn < t.turn
	t.last = nil
	switch {
	case e.Message != nil:
		t.messages = append(t.messages, completions.Message{Role: completions.RoleUser, Text: e.Message.Text, Images: e.Message.Images})
		t.hasMessage = t.hasMessage || e.Turn == t.turn
	case e.Repair != "":
		t.messages = append(t.messages, completions.Message{Role: completions.RoleUser, Text: []string{e.Repair}})
		t.isRepaired = t.isRepaired || e.Turn == t.turn
		t.wantsAnswer = true
	case e.Answer != nil:
		t.wantsAnswer = false
		t.applyAnswer(e)
	case e.Summary != nil:
		t.summary = e.Summary
		t.addUsage(e.Turn, usageOf(e.Summary.Usage))
	case e.Started != nil:
		t.each(e.Started, func(c *call) {
			c.state = callStarted
			c.attempt = e.Attempt
		})
	case e.Result != nil:
		t.each([]string{e.Result.Call}, func(c *call) {
			c.result = e.Result
			c.state = callEnded
			t.last = c
		})
		t.endCalls()
	case e.Asked != nil:
		t.asked = e.Asked
		for _, asked := range e.Asked.Calls {
			t.each([]string{asked.ID}, func(c *call) {
				c.state = callAsked
				c.digest = asked.Digest
			})
		}
	case e.Paused != nil:
		t.each([]string{e.Paused.Call}, func(c *call) {
			c.paused = e.Paused
			c.state = callPaused
		})
	case e.Decided != nil:
		t.hasMessage = t.hasMessage || e.Turn == t.turn
		t.asked = nil
		for _, each := range e.Decided {
			t.each([]string{each.Call}, func(c *call) { c.decide(&each) })
		}
		t.endCalls()
	case e.Answered != "":
		t.hasMessage = t.hasMessage || e.Turn == t.turn
		t.each([]string{e.Answered}, func(c *call) { c.state = callAnswered })
	}
}

func (c *call) decide(d *decision) {
	if d.Approved {
		c.state = callApproved
		return
	}
	text := "The call was not approved"
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	c.result = &resultEntry{Call: c.ID, Outcome: outcomeRejected, Text: text}
	c.state = callEnded
}

func (t *transcript) addUsage(turn int, u usage) {
	t.taskUsage = t.taskUsage.plus(u)
	if turn == t.turn {
		t.turnUsage = t.turnUsage.plus(u)
	}
}

func (t *transcript) applyAnswer(e *entry) {
	used := usageOf(e.Answer.Usage)
	if used.prompt > 0 && e.Answer.Bytes > 0 {
		t.bytesPerToken = float64(e.Answer.Bytes) / float64(used.prompt)
	}
	t.addUsage(e.Turn, used)
	if used.total() == 0 {
		t.unreported += e.Answer.estimate()
	}
	if e.Turn == t.turn {
		t.answers = append(t.answers, e.Answer)
	}
	m := completions.Message{Role: completions.RoleAssistant}
	if e.Answer.Text != "" {
		m.Text = []string{e.Answer.Text}
	}
	for _, each := range e.Answer.Calls {
		// Some servers fail for arguments in the conversation that are not an object. The result quotes what the model
		// wrote.
		arguments := "{}"
		if isObject(each.Arguments) {
			arguments = string(each.arguments())
		}
		m.ToolCalls = append(m.ToolCalls, completions.ToolCall{ID: each.ID, Name: each.Name, Arguments: arguments})
		t.calls = append(t.calls, &call{callEntry: each})
	}
	t.messages = append(t.messages, m)
}

func (t *transcript) each(ids []string, change func(*call)) {
	for _, id := range ids {
		if c := t.call(id); c != nil {
			change(c)
		}
	}
}

// call returns the call with an id among those of the last answer, nil for none.
func (t *transcript) call(id string) *call {
	for _, c := range t.calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// endCalls moves the results to the messages when all calls have ended, in the order of the calls.
func (t *transcript) endCalls() {
	for _, c := range t.calls {
		if c.state != callEnded {
			return
		}
	}
	for _, c := range t.calls {
		t.messages = append(t.messages, completions.Message{Role: completions.RoleTool, ToolCallID: c.ID, Text: []string{c.result.Text}})
	}
	t.calls = nil
	t.asked = nil
}

// in returns the calls in a state.
func (t *transcript) in(state callState) (found []*call) {
	for _, c := range t.calls {
		if c.state == state {
			found = append(found, c)
		}
	}
	return found
}

// final returns the answer that ends the turn, nil if there is none yet.
func (t *transcript) final() *answerEntry {
	if len(t.answers) == 0 || len(t.calls) > 0 || t.wantsAnswer {
		return nil
	}
	last := t.answers[len(t.answers)-1]
	if len(last.Calls) > 0 {
		return nil
	}
	return last
}

// hasLapsed reports whether the open request for approval has ended.
func (t *transcript) hasLapsed(now time.Time) bool { return t.asked != nil && now.After(t.asked.Until) }
