// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/answer"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/inputform"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// question describes the form with which the page answers a task that waits for input. All texts are clean. It has only zero
// values if any text is an answer.
type question struct {
	// Sensitive is true if the page must hide the answer.
	Sensitive bool `json:"sensitive,omitempty"`
	// Form is the inputform.Form.Digest of the form, "" if any text is an answer.
	Form string `json:"form,omitempty"`
	// Agent is the name of the agent that asks, possibly by way of the agent of the task, "" if the form does not say it.
	Agent string `json:"agent,omitempty"`
	Hint  string `json:"hint,omitempty"`
	// Calls are calls of tools, each of which waits for a decision, which may have a reason if Reasons is true.
	Calls   []toolCall `json:"calls,omitempty"`
	Reasons bool       `json:"reasons,omitempty"`
	// Questions are questions of which each waits for an answer.
	Questions []oneQuestion `json:"questions,omitempty"`
}

// toolCall is a call of a tool. Source is what runs the tool, "" if the agent does not say it. The arguments are formatted JSON.
type toolCall struct {
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Source    string `json:"source,omitempty"`
	Arguments string `json:"arguments"`
}

// oneQuestion is a question with the proposed answers. With Multiple, an answer has several of them.
type oneQuestion struct {
	Text     string   `json:"text"`
	Choices  []string `json:"choices,omitempty"`
	Multiple bool     `json:"multiple,omitempty"`
}

// questionOf returns the question of a task that waits for input.
func questionOf(status *a2a.Status) *question {
	out := &question{}
	if request, ok := status.Message.InputRequest(); ok {
		out.Sensitive = request.Sensitive
	}
	form := answer.FormOf(status)
	if form == nil {
		return out
	}
	out.Form = form.Digest()
	out.Agent = safetext.Line(safetext.Clip(form.Agent, 300))
	out.Hint = safetext.Clean(form.Hint)
	out.Reasons = form.TakesReasons
	for i := range form.Calls {
		call := &form.Calls[i]
		out.Calls = append(out.Calls, toolCall{
			ID: call.ID, Tool: safetext.Line(call.Tool), Source: safetext.Line(call.Source), Arguments: formatted(call.Arguments),
		})
	}
	for i := range form.Questions {
		each := oneQuestion{Text: safetext.Clean(form.Questions[i].Text), Multiple: form.Questions[i].Multiple}
		for _, choice := range form.Questions[i].Choices {
			each.Choices = append(each.Choices, safetext.Line(choice))
		}
		out.Questions = append(out.Questions, each)
	}
	return out
}

// formatted returns a JSON value with indentation.
func formatted(value []byte) string {
	out, ok := safetext.Indent(value, "")
	if !ok {
		return safetext.Clean(string(value))
	}
	return string(safetext.JSON(out))
}

// decision is what a person enters into the form of a question.
type decision struct {
	// Form is that of the question which the person has seen.
	Form      string        `json:"form"`
	Decisions []oneDecision `json:"decisions"`
	// Answers are the answers to the questions.
	Answers []inputform.Reply `json:"answers"`
}

// oneDecision is an inputform.Decision.
type oneDecision struct {
	ID       string `json:"id"`
	Approved bool   `json:"approved"`
	Reason   string `json:"reason"`
}

// fill writes the decision into a message that continues the task. It refuses a message without one if the task waits for one,
// because a text decides nothing. d may be nil.
func (d *decision) fill(task *a2a.Task, m *a2a.Message) error {
	form := answer.FormOf(&task.Status)
	var err error
	switch {
	case d == nil && (form == nil || len(form.Calls) == 0):
		return nil
	case d == nil:
		err = errors.New("the task asks for a decision about a call, which a text cannot make")
	case form == nil:
		err = errors.New("the task does not ask for that any more")
	case form.Digest() != d.Form:
		err = errors.New("the task asks for something else now")
	case len(form.Calls) > 0:
		decisions := make([]inputform.Decision, 0, len(d.Decisions))
		for _, each := range d.Decisions {
			decisions = append(decisions, inputform.Decision(each))
		}
		err = form.Decide(m, decisions)
	default:
		err = form.Reply(m, d.Answers)
	}
	if err != nil {
		return failure.Wrap(failure.Usage, err, "nothing was sent").WithHint("open the task again under Tasks")
	}
	return nil
}
