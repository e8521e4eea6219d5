// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
)

// entry is one step in the journal of a task. Exactly one of its pointers is set. The loop writes an entry before the next step
// begins, so that the replica that continues the task knows what has happened.
type entry struct {
	// Turn is the number of the turn.
	Turn int `json:"turn"`
	// Attempt is the number of the attempt of the turn.
	Attempt int `json:"attempt"`
	// Message is the message that began the turn, as the model gets it.
	Message *messageEntry `json:"message,omitempty"`
	// Repair is a text for the model after an answer that does not meet the schema.
	Repair string `json:"repair,omitempty"`
	// Answer is an answer of the model.
	Answer *answerEntry `json:"answer,omitempty"`
	// Summary replaces the oldest messages.
	Summary *summaryEntry `json:"summary,omitempty"`
	// Started has the ids of calls that begin now. A call without an earlier entry of this kind has not begun.
	Started []string `json:"started,omitempty"`
	// Result is the result of a call.
	Result *resultEntry `json:"result,omitempty"`
	// Asked is a request for the approval of calls.
	Asked *askedEntry `json:"asked,omitempty"`
	// Paused is the question of a tool.
	Paused *pausedEntry `json:"paused,omitempty"`
	// Decided are the decisions of the client.
	Decided []decision `json:"decided,omitempty"`
	// Answered has the id of the call whose question the message of the turn answers.
	Answered string `json:"answered,omitempty"`
}

type messageEntry struct {
	Text   []string `json:"text,omitempty"`
	Images []string `json:"images,omitempty"`
}

type answerEntry struct {
	Text         string      `json:"text,omitempty"`
	Calls        []callEntry `json:"calls,omitempty"`
	Model        string      `json:"model,omitempty"`
	FinishReason string      `json:"finishReason,omitempty"`
	Usage        a2a.Object  `json:"usage,omitempty"`
	// Bytes is the size of the messages of the request.
	Bytes int `json:"bytes,omitempty"`
}

// estimate returns about how many tokens the request and the answer have.
func (e *answerEntry) estimate() int64 {
	bytes := e.Bytes + len(e.Text)
	for _, c := range e.Calls {
		bytes += len(c.Name) + len(c.Arguments)
	}
	return int64(bytes) / defaultBytesPerToken
}

// summaryEntry is a summary of the history of the conversation and of the first messages of the task.
type summaryEntry struct {
	Text string `json:"text"`
	// Messages is the number of messages of the task that it replaces.
	Messages int        `json:"messages"`
	Usage    a2a.Object `json:"usage,omitempty"`
}

type callEntry struct {
	// ID is unique in the task and cannot be guessed. ModelID is that of the model, which may be empty or not
	// unique.
	ID      string `json:"id"`
	ModelID string `json:"modelId,omitempty"`
	Name    string `json:"name"`
	// Arguments is what the model wrote.
	Arguments string `json:"arguments"`
}

type outcome string

// The outcomes of a call.
const (
	outcomeDone     outcome = "done"
	outcomeFailed   outcome = "failed"
	outcomeRejected outcome = "rejected"
	// outcomeUnknown: the process ended while the call ran, and the call must not be repeated.
	outcomeUnknown outcome = "unknown"
)

type resultEntry struct {
	Call    string  `json:"call"`
	Outcome outcome `json:"outcome"`
	Text    string  `json:"text"`
}

type askedEntry struct {
	Calls []askedCall `json:"calls"`
	// Until is when the request ends.
	Until time.Time `json:"until"`
}

type askedCall struct {
	ID string `json:"id"`
	// Digest is that of the tool that people have seen.
	Digest string `json:"digest"`
}

type pausedEntry struct {
	Call  string    `json:"call"`
	State a2a.State `json:"state"`
	// Message is the question, as an a2a.Message.
	Message json.RawMessage `json:"message"`
	Resume  json.RawMessage `json:"resume,omitempty"`
}

// message returns the question.
func (p *pausedEntry) message() (*a2a.Message, error) {
	m := &a2a.Message{}
	if err := json.Unmarshal(p.Message, m); err != nil { // the names of the fields are the format
		return nil, backend.Failed("The question of a tool cannot be read", err)
	}
	return m, nil
}

type decision struct {
	Call     string `json:"call"`
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"`
	// By is the principal that decided, "" for the end of the request.
	By string `json:"by"`
	// IsProven is approval.By.IsProven.
	IsProven *bool `json:"proven,omitempty"`
}

func decodeEntries(journal [][]byte) ([]entry, error) {
	entries := make([]entry, len(journal))
	for i, text := range journal {
		if err := json.Unmarshal(text, &entries[i]); err != nil {
			return nil, fmt.Errorf("decode entry %d of the journal: %w", i, err)
		}
	}
	return entries, nil
}

// usage is a number of tokens.
type usage struct{ prompt, completion int64 }

func (u usage) plus(v usage) usage { return usage{u.prompt + v.prompt, u.completion + v.completion} }

func (u usage) minus(v usage) usage { return usage{u.prompt - v.prompt, u.completion - v.completion} }
func (u usage) total() int64        { return u.prompt + u.completion }

// usageOf returns the usage that a server has reported, zero for none.
func usageOf(reported a2a.Object) (u usage) {
	var numbers struct {
		Prompt     float64 `json:"prompt_tokens"`
		Completion float64 `json:"completion_tokens"`
	}
	if json.Unmarshal(reported, &numbers) == nil {
		u.prompt = int64(numbers.Prompt)
		u.completion = int64(numbers.Completion)
	}
	return u
}

func newAnswerEntry(a *completions.Answer, size int) *answerEntry {
	e := &answerEntry{Text: a.Text, Model: a.Model, FinishReason: a.FinishReason, Usage: a.Usage, Bytes: size}
	for _, call := range a.ToolCalls {
		e.Calls = append(e.Calls, callEntry{ID: newID(), ModelID: call.ID, Name: call.Name, Arguments: call.Arguments})
	}
	return e
}
