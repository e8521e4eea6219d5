// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// Names in the metadata of the status that ends a task.
const (
	metadataModel  = "a2a-operator.dev/model"
	metadataFinish = "a2a-operator.dev/finishReason"
	metadataUsage  = "a2a-operator.dev/usage"
)

// Bounds on what a server may say beside its answer: about the price of it, and
// the names of the model and of the reason to finish.
const (
	maxUsage = 4 << 10
	maxName  = 256
)

// What a client reads of an answer that is none.
const (
	reasonUnfinished    = "The agent's answer ended before the model had finished"
	reasonError         = "The agent reported an error: "
	reasonFiltered      = "The answer was withheld by a content filter of the agent"
	reasonMediaType     = "The agent's answer is neither text/event-stream nor application/json"
	reasonAborted       = "The agent ended its answer because of an error (finish_reason %q)"
	reasonOnlyReasoning = "The model gave its reasoning and no answer (finish_reason %q)"
	reasonEmpty         = "The model finished without an answer (finish_reason %q)"
	reasonNoToolCalls   = "The model announced calls of tools and made none (finish_reason %q)"
	reasonUnrecognized  = "The agent's answer holds nothing that is understood"
)

// maxOdd bounds what is kept of a chunk that is not understood, for its excerpt.
const maxUnrecognized = 4 << 10

// errDone is how the reading of a stream ends at its mark.
var errStreamDone = errors.New("the stream says that it is done")

// answer reads one completion.
type response struct {
	*stream.Body
	turn *backend.Turn
	emit backend.Emit
	// secret is the API key of the request: what the server repeats of it is
	// replaced.
	secret string
	text   redactor
	// batch holds the events of one read.
	batch []a2a.Event
	// begun is true once there is an artifact.
	hasArtifact bool

	model, finishReason string
	usage               a2a.Object
	toolCalls           toolCalls
	// odd is the first chunk with content that is not understood, and reasoning is
	// true when the model thought aloud.
	unrecognized []byte
	reasoning    bool
}

func (a *response) read() error {
	a.Secrets, a.text.secret = []string{a.secret}, a.secret
	mediaType, _, err := a.MediaType()
	if err != nil {
		return err
	}
	switch mediaType {
	case "text/event-stream":
		return a.sse()
	case "application/json":
		return a.json()
	default:
		received, _, err := a.ReadUpTo(maxUnrecognized)
		if err != nil && len(received) == 0 {
			return err
		}
		return backend.Unrecognized(reasonMediaType, received, nil, a.secret)
	}
}

// json reads the answer of a server that does not stream.
func (a *response) json() error {
	text, err := a.ReadAll()
	if err != nil {
		return err
	}
	if err := a.handle("answer", text, false); err != nil {
		return err
	}
	return a.end()
}

func (a *response) sse() error {
	err := a.SSE(func(line int, text []byte) error {
		text = bytes.TrimSpace(text)
		switch {
		case len(text) == 0:
			return nil
		case string(text) == "[DONE]":
			return errStreamDone
		}
		// The bytes of an event stream that are no UTF-8 are U+FFFD (WHATWG HTML
		// section 9.2.6).
		if err := a.handle("event in line "+strconv.Itoa(line), bytes.ToValidUTF8(text, []byte("\uFFFD")), true); err != nil {
			return a.failAfterFlush(err)
		}
		return nil
	}, a.flush)
	if _, failed := errors.AsType[*backend.TurnError](err); failed {
		return a.failAfterFlush(err)
	}
	if err != nil && !errors.Is(err, errStreamDone) {
		return err
	}
	return a.end()
}

// take reads a completion or a chunk of one. It returns the failure of the turn
// for one that is an error or that is not understood; what names it for that.
// streamed is true for a chunk.
func (a *response) handle(what string, text []byte, streamed bool) error {
	c, err := decode(text, streamed)
	switch {
	case err != nil:
		return backend.Unrecognized("The agent's "+what+" "+stream.DecodeReason(err, "a completion"), text, err, a.secret)
	case c.failed:
		return backend.Failed(reasonError+backend.Excerpt(c.errorText, a.secret), nil)
	case !c.known:
		return backend.Unrecognized("The agent's "+what+" is not a completion: it has no choices, usage or error", text, nil, a.secret)
	case c.unsupported != "":
		return backend.Unrecognized("The agent's "+what+" holds something other than text and calls of tools ("+
			backend.Excerpt([]byte(c.unsupported), a.secret)+")", text, nil, a.secret)
	}
	if c.unrecognized && a.unrecognized == nil {
		a.unrecognized = bytes.Clone(text[:min(len(text), maxUnrecognized)])
	}
	a.reasoning = a.reasoning || c.reasoning
	if c.model != "" {
		a.model = redact(c.model, a.secret)
	}
	if c.finishReason != "" {
		a.finishReason = redact(c.finishReason, a.secret)
	}
	if len(c.usage) > 0 && len(c.usage) <= maxUsage {
		a.usage = a2a.Object(redact(string(c.usage), a.secret))
	}
	if !a.toolCalls.add(c.toolCalls) {
		return backend.Failed(fmt.Sprintf("The agent's answer has more than %d calls of tools", maxToolCalls), nil)
	}
	if a.toolCalls.size() > a.MaxEvent() {
		return a.tooManyCalls()
	}
	a.addText(a.text.write(c.text))
	return nil
}

// say adds text to the artifact.
func (a *response) addText(text []byte) {
	if len(text) > 0 {
		a.addPart(a2a.TextPart(string(text)), false)
	}
}

// fail sends what was said before a failure, and returns the failure.
func (a *response) failAfterFlush(failure error) error {
	a.addText(a.text.flush())
	if err := a.flush(); err != nil {
		return err
	}
	return failure
}

func (a *response) tooManyCalls() error {
	return backend.Failed(fmt.Sprintf("The agent's calls of tools exceed %d bytes", a.MaxEvent()), nil)
}

// piece adds to the artifact of the turn. Text joins text: an answer that
// arrives in a thousand chunks reads as one.
func (a *response) addPart(part a2a.Part, last bool) {
	p := &struct {
		update a2a.ArtifactUpdate
		parts  [1]a2a.Part
	}{parts: [1]a2a.Part{part}}
	p.update = a2a.ArtifactUpdate{
		TaskID: a.turn.TaskID, ContextID: a.turn.ContextID,
		Artifact: a2a.Artifact{ID: backend.ArtifactID(a.turn.Number), Parts: p.parts[:]},
		Append:   a.hasArtifact, JoinText: true, LastChunk: last,
	}
	a.hasArtifact = true
	a.batch = append(a.batch, a2a.Event{Artifact: &p.update})
}

func (a *response) flush() error {
	if len(a.batch) == 0 {
		return nil
	}
	err := a.emit(a.batch)
	clear(a.batch)
	a.batch = a.batch[:0]
	return err
}

// conclude is what follows the last chunk. A model that finished says so; a
// stream that merely ends may have lost the rest.
func (a *response) end() error {
	a.addText(a.text.flush())
	calls := a.toolCalls.data(a.secret)
	if err := a.failureAtEnd(len(calls)); err != nil {
		return a.failAfterFlush(err)
	}
	status := &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateCompleted}, Metadata: a.metadata()}
	switch {
	case a.finishReason == "content_filter":
		status.Status.State = a2a.StateFailed
		status.Status.Message = &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(reasonFiltered)}}
	case calls != nil:
		a.addPart(a2a.Part{Content: a2a.ContentData, Data: calls, MediaType: "application/json"}, true)
	case len(a.batch) > 0:
		a.batch[len(a.batch)-1].Artifact.LastChunk = true
	case a.hasArtifact:
		a.addPart(a2a.TextPart(""), true)
	}
	a.batch = append(a.batch, a2a.Event{Status: status})
	return a.flush()
}

// incomplete returns why an answer that has ended is no success, and nil for one
// that is. An answer without any part is one when the model finished and said
// nothing at all, and never when something was not understood or left out.
func (a *response) failureAtEnd(calls int) error {
	empty := !a.hasArtifact && calls == 0
	switch {
	case empty && a.unrecognized != nil:
		return backend.Unrecognized(reasonUnrecognized, a.unrecognized, nil, a.secret)
	case a.finishReason == "":
		return backend.Interrupted(reasonUnfinished, nil)
	case calls > a.MaxEvent():
		return a.tooManyCalls()
	case a.finishReason == "error", a.finishReason == "abort":
		return backend.Interrupted(fmt.Sprintf(reasonAborted, a.finishReason), nil)
	case calls == 0 && (a.finishReason == "tool_calls" || a.finishReason == "function_call"):
		return backend.Failed(fmt.Sprintf(reasonNoToolCalls, a.finishReason), nil)
	case !empty, a.finishReason == "content_filter":
		return nil
	case a.reasoning:
		return backend.Failed(fmt.Sprintf(reasonOnlyReasoning, backend.Excerpt([]byte(a.finishReason))), nil)
	case a.finishReason != "stop":
		return backend.Failed(fmt.Sprintf(reasonEmpty, backend.Excerpt([]byte(a.finishReason))), nil)
	}
	return nil
}

func (a *response) metadata() a2a.Object {
	dst := []byte{'{'}
	member := func(name string) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), name...), `":`...)
	}
	if len(a.finishReason) <= maxName {
		member(metadataFinish)
		dst = appendString(dst, a.finishReason)
	}
	if a.model != "" && len(a.model) <= maxName {
		member(metadataModel)
		dst = appendString(dst, a.model)
	}
	if a.usage != nil {
		member(metadataUsage)
		dst = append(dst, a.usage...)
	}
	return append(dst, '}')
}
