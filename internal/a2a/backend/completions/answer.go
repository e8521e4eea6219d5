// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
)

// Answer is the answer of a model.
type Answer struct {
	// Text is the whole text.
	Text      string
	ToolCalls []ToolCall
	// Model and FinishReason are as the server names them; both may be "".
	Model, FinishReason string
	// Usage is the usage object of the answer, nil without one.
	Usage a2a.Object
}

// ToolCall is a call of a tool that the model asks for. Arguments should be a JSON object, but the model wrote them.
type ToolCall struct{ ID, Name, Arguments string }

// FinishFiltered is the finish reason of an answer that a content filter withheld.
const FinishFiltered = "content_filter"

// Output receives the text of an answer as it arrives. Its functions run on the goroutine of the caller.
type Output struct {
	// Text gets a piece of the text, which is valid until it returns.
	Text func(piece []byte)
	// Flush is called after the pieces that arrived together. Its error ends the call.
	Flush func() error
}

// maxUsage bounds the usage in a response, in bytes.
const maxUsage = 4 << 10

// Reasons of failures.
const (
	reasonUnfinished    = "The agent's answer ended before the model had finished"
	reasonError         = "The agent reported an error: "
	reasonMediaType     = "The agent's answer is neither text/event-stream nor application/json"
	reasonAborted       = "The agent ended its answer because of an error (finish_reason %q)"
	reasonOnlyReasoning = "The model gave its reasoning and no answer (finish_reason %q)"
	reasonEmpty         = "The model finished without an answer (finish_reason %q)"
	reasonNoToolCalls   = "The model announced tool calls and made none (finish_reason %q)"
	reasonUnrecognized  = "The agent's answer has no content that the sidecar recognizes"
)

// maxUnrecognized bounds the part of an unrecognized chunk that is stored for its
// excerpt, in bytes.
const maxUnrecognized = 4 << 10

// errStreamDone ends the reading of a stream at [DONE].
var errStreamDone = errors.New("the stream has ended with [DONE]")

// response reads one completion.
type response struct {
	*stream.Body
	turn *backend.Turn
	out  Output
	// secret is the API key of the request. Its occurrences in the response are replaced.
	secret string
	text   redactor

	answer    Answer
	whole     []byte
	toolCalls toolCalls
	// unrecognized is the first chunk with content that is not understood. reasoning is
	// true if a chunk contained reasoning.
	unrecognized []byte
	reasoning    bool
	// event and kept are the memory that is reserved for the event that is being read and for the answer so far, in bytes.
	event, kept int64
}

func (r *response) read() error {
	r.Secrets = []string{r.secret}
	r.text.secret = r.secret
	mediaType, _, err := r.MediaType()
	if err != nil {
		return err
	}
	switch mediaType {
	case "text/event-stream":
		return r.sse()
	case "application/json":
		return r.json()
	default:
		received, _, err := r.ReadUpTo(maxUnrecognized)
		if err != nil && len(received) == 0 {
			return err
		}
		return backend.Unrecognized(reasonMediaType, received, nil, r.secret)
	}
}

// json reads a response that is not a stream.
func (r *response) json() error {
	text, err := r.ReadAll()
	if err != nil {
		return err
	}
	if err := r.handle("answer", text, false); err != nil {
		return err
	}
	return r.end()
}

func (r *response) sse() error {
	err := r.SSE(func(line int, text []byte) error {
		text = bytes.TrimSpace(text)
		switch {
		case len(text) == 0:
			return nil
		case string(text) == "[DONE]":
			return errStreamDone
		}
		// Invalid UTF-8 in an event stream is read as U+FFFD (WHATWG HTML section 9.2.6).
		if err := r.handle("event in line "+strconv.Itoa(line), bytes.ToValidUTF8(text, []byte("\uFFFD")), true); err != nil {
			return r.failAfterFlush(err)
		}
		return nil
	}, r.flush)
	if _, failed := errors.AsType[*backend.TurnError](err); failed {
		return r.failAfterFlush(err)
	}
	if err != nil && !errors.Is(err, errStreamDone) {
		return err
	}
	return r.end()
}

// handle handles a completion, or a chunk of one if streamed is true. It returns the
// failure of the turn if the text is an error or is not understood. what names the text
// in the failure.
func (r *response) handle(what string, text []byte, streamed bool) error {
	if err := r.Admit(text); err != nil {
		return err
	}
	c, err := decode(text, streamed)
	switch {
	case err != nil:
		return backend.Unrecognized("The agent's "+what+" "+stream.DecodeReason(err, "a completion"), text, err, r.secret)
	case c.failed:
		return backend.Failed(reasonError+backend.Excerpt(c.errorText, r.secret), nil)
	case !c.known:
		return backend.Unrecognized("The agent's "+what+" is not a completion: it has no choices, usage or error", text, nil, r.secret)
	case c.unsupported != "":
		return backend.Unrecognized("The agent's "+what+" has content other than text and tool calls ("+
			backend.Excerpt([]byte(c.unsupported), r.secret)+")", text, nil, r.secret)
	}
	if c.unrecognized && r.unrecognized == nil {
		r.unrecognized = bytes.Clone(text[:min(len(text), maxUnrecognized)])
	}
	r.reasoning = r.reasoning || c.reasoning
	if c.model != "" {
		r.answer.Model = redact(c.model, r.secret)
	}
	if c.finishReason != "" {
		r.answer.FinishReason = redact(c.finishReason, r.secret)
	}
	if streamed && (c.hasContent() || c.reasoning) && r.turn.ReportChunk != nil {
		// A canceled turn never receives the last chunk, which has the usage. ReportChunk counts
		// its output.
		r.turn.ReportChunk()
	}
	if len(c.usage) > maxUsage {
		c.usage = a2a.Object(`"longer than 4 KiB"`) // unreadable
	}
	if len(c.usage) > 0 {
		r.answer.Usage = a2a.Object(redact(string(c.usage), r.secret))
		r.reportUsage()
	}
	if !r.toolCalls.add(c.toolCalls) {
		return backend.Failed(fmt.Sprintf("The agent's answer has more than %d tool calls", maxToolCalls), nil)
	}
	if r.toolCalls.size() > r.MaxEvent() {
		return r.tooManyCalls()
	}
	r.addText(r.text.write(c.text))
	return r.keep()
}

// reserveEvent reserves memory for the event that is being read, see stream.Body.
func (r *response) reserveEvent(bytes int64) error {
	r.event = bytes
	return r.turn.Reserve(r.event + r.kept)
}

// keptStep is by how much an answer grows without a further reservation, in bytes.
const keptStep = 64 << 10

// keep reserves memory for the answer so far: a server may send as much as it likes, and then be silent. An answer of at most
// keptStep bytes needs none.
func (r *response) keep() error {
	const cost = memoryshare.EventCost
	size := int64(len(r.whole) + r.toolCalls.size())
	if r.turn.Reserve == nil || cost*size <= max(r.kept, cost*keptStep) {
		return nil
	}
	r.kept = cost * (size + keptStep)
	return r.turn.Reserve(r.event + r.kept)
}

// reportUsage reports the usage as soon as a chunk contains it, because a turn that fails
// or is canceled emits no status with the usage.
func (r *response) reportUsage() {
	if r.turn.ReportUsage == nil {
		return
	}
	if usage, ok := backend.UsageIn(a2a.Object(`{"` + backend.MetadataUsage + `":` + string(r.answer.Usage) + `}`)); ok {
		r.turn.ReportUsage(usage)
	}
}

// addText adds a text to the answer.
func (r *response) addText(text []byte) {
	if len(text) == 0 {
		return
	}
	r.whole = append(r.whole, text...)
	r.out.Text(text)
}

// failAfterFlush emits the output before a failure, and returns the failure.
func (r *response) failAfterFlush(failure error) error {
	r.addText(r.text.flush())
	if err := r.flush(); err != nil {
		return err
	}
	return failure
}

func (r *response) tooManyCalls() error {
	return backend.Failed(fmt.Sprintf("The agent's tool calls exceed %d bytes", r.MaxEvent()), nil)
}

func (r *response) flush() error { return r.out.Flush() }

// end handles the end of the response. A finished model sends a finish reason. A stream
// that ends without one may be incomplete.
func (r *response) end() error {
	r.addText(r.text.flush())
	r.answer.Text = string(r.whole)
	r.answer.ToolCalls = r.toolCalls.joined(r.secret)
	if err := r.failureAtEnd(); err != nil {
		return r.failAfterFlush(err)
	}
	return nil
}

// failureAtEnd returns the failure of a response that has ended, nil for a success or for
// the finish reason FinishFiltered. A response
// without output is a success only if its finish reason is stop and if it contained neither
// reasoning nor content that is not understood.
func (r *response) failureAtEnd() error {
	calls := len(r.answer.ToolCalls)
	empty := len(r.whole) == 0 && calls == 0
	switch {
	case empty && r.unrecognized != nil:
		return backend.Unrecognized(reasonUnrecognized, r.unrecognized, nil, r.secret)
	case r.answer.FinishReason == "":
		return backend.Interrupted(reasonUnfinished, nil)
	case r.answer.FinishReason == "error", r.answer.FinishReason == "abort":
		return backend.Interrupted(fmt.Sprintf(reasonAborted, r.answer.FinishReason), nil)
	case calls == 0 && (r.answer.FinishReason == "tool_calls" || r.answer.FinishReason == "function_call"):
		return backend.Failed(fmt.Sprintf(reasonNoToolCalls, r.answer.FinishReason), nil)
	case !empty, r.answer.FinishReason == FinishFiltered:
		return nil
	case r.reasoning:
		return backend.Failed(fmt.Sprintf(reasonOnlyReasoning, backend.Excerpt([]byte(r.answer.FinishReason))), nil)
	case r.answer.FinishReason != "stop":
		return backend.Failed(fmt.Sprintf(reasonEmpty, backend.Excerpt([]byte(r.answer.FinishReason))), nil)
	}
	return nil
}
