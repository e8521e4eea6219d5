// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inputform reads what a paused task asks of a person in a form for programs: approvals of tool calls, and
// questions. It writes the message that answers. The version of the protocol is of no concern to it: it reads and
// writes messages of package a2a.
//
// An approval names the call by its id. The text of a message never approves a call.
package inputform

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

// Form is what a task asks: decisions about calls of tools, or answers to questions. One of Calls and Questions is empty.
type Form struct {
	// Agent is the name of the agent that asks, possibly by way of the agent of the task, "" if the form does not say it.
	Agent string
	// Hint is the agent's text about the calls, "" for none.
	Hint      string
	Calls     []Call
	Questions []Question
	// TakesReasons is true if a Decision may have a reason.
	TakesReasons bool

	// write adds the answer to a message.
	write func(m *a2a.Message, decisions []Decision, answers [][]string)
}

// Call is a call of a tool that needs a decision.
type Call struct {
	// ID identifies the call in the answer.
	ID   string
	Tool string
	// Source is what runs the tool, such as an MCP server, "" if the agent does not say it.
	Source string
	// Arguments is a JSON object.
	Arguments json.RawMessage
}

// Question is a question to a person.
type Question struct {
	Text string
	// Choices are the proposed answers, none for a question that any text answers.
	Choices []string
	// Multiple allows several choices.
	Multiple bool
}

// Decision approves or rejects a call.
type Decision struct {
	ID       string
	Approved bool
	// Reason is why the call is rejected, "" for no reason.
	Reason string
}

// Of returns the form of a message, nil for a message without a form or with one that no answer fits. m may be nil.
func Of(m *a2a.Message) *Form {
	if m == nil {
		return nil
	}
	f := ofExtension(m)
	if f == nil {
		f = ofADK(m)
	}
	if f == nil || !f.isAnswerable() {
		return nil
	}
	return f
}

// isAnswerable reports whether each call has an id of its own, and whether the form asks for anything.
func (f *Form) isAnswerable() bool {
	ids := map[string]bool{}
	for i := range f.Calls {
		c := &f.Calls[i]
		if c.ID == "" || ids[c.ID] || c.Tool == "" {
			return false
		}
		ids[c.ID] = true
	}
	return len(f.Calls)+len(f.Questions) > 0
}

// Digest identifies all that the form asks, in whatever order JSON has the arguments. An agent may use the id of a call again, for
// other arguments. It decodes the arguments, and nothing else, because an agent may have written megabytes of text.
func (f *Form) Digest() string {
	h := sha256.New()
	write := func(texts ...string) {
		for _, text := range texts {
			_, _ = io.WriteString(h, strconv.Itoa(len(text))+":") // a hash never fails
			_, _ = io.WriteString(h, text)
		}
	}
	write(f.Agent, f.Hint, strconv.FormatBool(f.TakesReasons), strconv.Itoa(len(f.Calls)))
	for i := range f.Calls {
		c := &f.Calls[i]
		write(c.ID, c.Tool, c.Source, sorted(c.Arguments))
	}
	for i := range f.Questions {
		q := &f.Questions[i]
		write(q.Text, strconv.FormatBool(q.Multiple), strconv.Itoa(len(q.Choices)))
		write(q.Choices...)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// sorted returns JSON with sorted members.
func sorted(text json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return string(text)
	}
	out, _ := plainjson.Marshal(value) // it was valid JSON
	return string(out)
}

// Length returns the number of bytes of all texts of the form.
func (f *Form) Length() int {
	n := len(f.Agent) + len(f.Hint)
	for i := range f.Calls {
		c := &f.Calls[i]
		n += len(c.ID) + len(c.Tool) + len(c.Source) + len(c.Arguments)
	}
	for i := range f.Questions {
		n += len(f.Questions[i].Text)
		for _, choice := range f.Questions[i].Choices {
			n += len(choice)
		}
	}
	return n
}

// Decide adds the decisions to a message. Each call needs exactly one.
func (f *Form) Decide(m *a2a.Message, decisions []Decision) error {
	if len(f.Calls) == 0 {
		return errors.New("the task asks for no decision")
	}
	decided := map[string]bool{}
	for _, d := range decisions {
		switch {
		case !slices.ContainsFunc(f.Calls, func(c Call) bool { return c.ID == d.ID }):
			return fmt.Errorf("the task does not ask about the call %q", d.ID)
		case decided[d.ID]:
			return fmt.Errorf("there are two decisions about the call %q", d.ID)
		case d.Reason != "" && !f.TakesReasons:
			return errors.New("the agent takes no reason for a rejection")
		}
		decided[d.ID] = true
	}
	for i := range f.Calls {
		if id := f.Calls[i].ID; !decided[id] {
			return fmt.Errorf("there is no decision about the call %q", id)
		}
	}
	f.write(m, decisions, nil)
	return nil
}

// Answer adds the answers to a message, in the order of the questions. The text of an answer is read by Question.Read.
func (f *Form) Answer(m *a2a.Message, texts []string) error {
	return f.answer(m, len(texts), func(q *Question, i int) ([]string, error) { return q.Read(texts[i]) })
}

// Reply is what a person enters into the fields of a question: choices, or a text of its own.
type Reply struct {
	// Choices are indexes of Question.Choices.
	Choices []int `json:"choices"`
	// Text is the answer in place of Choices, "" for none.
	Text string `json:"text"`
}

// Reply adds the answers to a message, in the order of the questions. A number in a text is no choice.
func (f *Form) Reply(m *a2a.Message, replies []Reply) error {
	return f.answer(m, len(replies), func(q *Question, i int) ([]string, error) {
		if text := strings.TrimSpace(replies[i].Text); text != "" {
			return []string{text}, nil
		}
		return q.choose(replies[i].Choices)
	})
}

func (f *Form) answer(m *a2a.Message, count int, read func(q *Question, i int) ([]string, error)) error {
	if count != len(f.Questions) {
		return fmt.Errorf("there are %d questions, and %d answers", len(f.Questions), count)
	}
	answers := make([][]string, count)
	for i := range answers {
		answer, err := read(&f.Questions[i], i)
		if err != nil {
			return err
		}
		answers[i] = answer
	}
	f.write(m, nil, answers)
	return nil
}

// IsNumbered reports whether the number of a choice, counted from 1, stands for the choice. It is false if a choice is itself
// a number, because "2" could then be either.
func (q *Question) IsNumbered() bool {
	return len(q.Choices) > 0 && !slices.ContainsFunc(q.Choices, func(choice string) bool {
		_, numbers := numbersIn(choice)
		return numbers
	})
}

// Read returns the answer that a text stands for: the choices whose numbers the text has, separated by commas, or the choices
// themselves if they have no numbers. Any other text is itself the answer.
func (q *Question) Read(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, errors.New("an answer is empty")
	}
	if q.IsNumbered() {
		if chosen, ok := numbersIn(text); ok {
			return q.choose(chosen)
		}
		return []string{text}, nil
	}
	if q.Multiple && !slices.Contains(q.Choices, text) {
		var chosen []int
		for field := range strings.SplitSeq(text, ",") {
			chosen = append(chosen, slices.Index(q.Choices, strings.TrimSpace(field)))
		}
		if !slices.Contains(chosen, -1) {
			return q.choose(chosen)
		}
	}
	return []string{text}, nil
}

// numbersIn returns the numbers of a text such as "1, 3", counted from 0. It returns false for other texts.
func numbersIn(text string) ([]int, bool) {
	var all []int
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil {
			return nil, false
		}
		all = append(all, n-1)
	}
	return all, true
}

// choose returns the choices with these indexes, each of them once.
func (q *Question) choose(indexes []int) ([]string, error) {
	var chosen []string
	for _, i := range indexes {
		if i < 0 || i >= len(q.Choices) {
			return nil, fmt.Errorf("there is no choice %d: the choices are 1 to %d", i+1, len(q.Choices))
		}
		if !slices.Contains(chosen, q.Choices[i]) {
			chosen = append(chosen, q.Choices[i])
		}
	}
	switch {
	case len(chosen) == 0:
		return nil, errors.New("an answer is empty")
	case len(chosen) > 1 && !q.Multiple:
		return nil, errors.New("the question accepts one choice")
	}
	return chosen, nil
}
