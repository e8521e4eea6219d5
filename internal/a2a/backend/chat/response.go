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
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// Members of the metadata of the status that ends a task.
const (
	metadataModel  = "a2a-operator.dev/model"
	metadataFinish = "a2a-operator.dev/finishReason"
)

// Limits of the usage in a response, and of the names of the model and of the finish
// reason, in bytes.
const (
	maxUsage = 4 << 10
	maxName  = 256
)

// Reasons of failures.
const (
	reasonUnfinished    = "The agent's answer ended before the model had finished"
	reasonError         = "The agent reported an error: "
	reasonFiltered      = "The answer was withheld by a content filter of the agent"
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
	emit backend.Emit
	// secret is the API key of the request. Its occurrences in the response are replaced.
	secret string
	text   redactor
	// batch has the events of one read.
	batch []a2a.Event
	// hasArtifact is true once a chunk of the artifact was added.
	hasArtifact bool

	model, finishReason string
	usage               a2a.Object
	toolCalls           toolCalls
	// unrecognized is the first chunk with content that is not understood. reasoning is
	// true if a chunk contained reasoning.
	unrecognized []byte
	reasoning    bool
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
		r.model = redact(c.model, r.secret)
	}
	if c.finishReason != "" {
		r.finishReason = redact(c.finishReason, r.secret)
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
		r.usage = a2a.Object(redact(string(c.usage), r.secret))
		r.reportUsage()
	}
	if !r.toolCalls.add(c.toolCalls) {
		return backend.Failed(fmt.Sprintf("The agent's answer has more than %d tool calls", maxToolCalls), nil)
	}
	if r.toolCalls.size() > r.MaxEvent() {
		return r.tooManyCalls()
	}
	r.addText(r.text.write(c.text))
	return nil
}

// reportUsage reports the usage as soon as a chunk contains it, because a turn that fails
// or is canceled emits no status with the usage.
func (r *response) reportUsage() {
	if r.turn.ReportUsage == nil {
		return
	}
	if usage, ok := backend.UsageIn(a2a.Object(`{"` + backend.MetadataUsage + `":` + string(r.usage) + `}`)); ok {
		r.turn.ReportUsage(usage)
	}
}

// addText adds a text to the artifact.
func (r *response) addText(text []byte) {
	if len(text) > 0 {
		r.addPart(a2a.TextPart(string(text)), false)
	}
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

// addPart adds a part to the artifact of the turn. The store joins consecutive texts, so
// that an answer in a thousand chunks is one text.
func (r *response) addPart(part a2a.Part, last bool) {
	p := &struct {
		update a2a.ArtifactUpdate
		parts  [1]a2a.Part
	}{parts: [1]a2a.Part{part}}
	p.update = a2a.ArtifactUpdate{
		TaskID: r.turn.TaskID, ContextID: r.turn.ContextID,
		Artifact: a2a.Artifact{ID: backend.ArtifactID(r.turn.Number), Parts: p.parts[:]},
		Append:   r.hasArtifact, JoinText: true, LastChunk: last,
	}
	r.hasArtifact = true
	r.batch = append(r.batch, a2a.Event{Artifact: &p.update})
}

func (r *response) flush() error { return r.emit.Flush(&r.batch) }

// end handles the end of the response. A finished model sends a finish reason. A stream
// that ends without one may be incomplete.
func (r *response) end() error {
	r.addText(r.text.flush())
	calls := r.toolCalls.data(r.secret)
	if err := r.failureAtEnd(len(calls)); err != nil {
		return r.failAfterFlush(err)
	}
	status := &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateCompleted}, Metadata: r.metadata()}
	switch {
	case r.finishReason == "content_filter":
		status.Status.State = a2a.StateFailed
		status.Status.Message = &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(reasonFiltered)}}
	case calls != nil:
		r.addPart(a2a.Part{Content: a2a.ContentData, Data: calls, MediaType: "application/json"}, true)
	case len(r.batch) > 0:
		r.batch[len(r.batch)-1].Artifact.LastChunk = true
	case r.hasArtifact:
		r.addPart(a2a.TextPart(""), true)
	}
	r.batch = append(r.batch, a2a.Event{Status: status})
	return r.flush()
}

// failureAtEnd returns the failure of a response that has ended, nil for a success or for
// the finish reason content_filter. calls is the size of the tool calls, in bytes. A response
// without output is a success only if its finish reason is stop and if it contained neither
// reasoning nor content that is not understood.
func (r *response) failureAtEnd(calls int) error {
	empty := !r.hasArtifact && calls == 0
	switch {
	case empty && r.unrecognized != nil:
		return backend.Unrecognized(reasonUnrecognized, r.unrecognized, nil, r.secret)
	case r.finishReason == "":
		return backend.Interrupted(reasonUnfinished, nil)
	case calls > r.MaxEvent():
		return r.tooManyCalls()
	case r.finishReason == "error", r.finishReason == "abort":
		return backend.Interrupted(fmt.Sprintf(reasonAborted, r.finishReason), nil)
	case calls == 0 && (r.finishReason == "tool_calls" || r.finishReason == "function_call"):
		return backend.Failed(fmt.Sprintf(reasonNoToolCalls, r.finishReason), nil)
	case !empty, r.finishReason == "content_filter":
		return nil
	case r.reasoning:
		return backend.Failed(fmt.Sprintf(reasonOnlyReasoning, backend.Excerpt([]byte(r.finishReason))), nil)
	case r.finishReason != "stop":
		return backend.Failed(fmt.Sprintf(reasonEmpty, backend.Excerpt([]byte(r.finishReason))), nil)
	}
	return nil
}

func (r *response) metadata() a2a.Object {
	dst := []byte{'{'}
	member := func(name string) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), name...), `":`...)
	}
	if len(r.finishReason) <= maxName {
		member(metadataFinish)
		dst = jsonwrite.String(dst, r.finishReason)
	}
	if r.model != "" && len(r.model) <= maxName {
		member(metadataModel)
		dst = jsonwrite.String(dst, r.model)
	}
	if r.usage != nil {
		member(backend.MetadataUsage)
		dst = append(dst, r.usage...)
	}
	return append(dst, '}')
}
