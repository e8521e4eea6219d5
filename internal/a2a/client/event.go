// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// Event is an event of a stream, or the answer to a request.
type Event struct {
	a2a.Event
	// Line is the line of the event in its stream, 0 for an answer that is no stream.
	Line int
	// ID is the last event id that the stream sent, "" for none. A subscription resumes after this event.
	ID string
	// JSON is the event as JSON of 1.0 on one line: a Task in an answer to Get, Cancel or List, and otherwise a
	// StreamResponse. If the agent speaks 1.0, it is the JSON that the agent sent, without white space. It is nil unless
	// Options.RecordJSON is true.
	JSON []byte
	// isTask is true if JSON is a Task.
	isTask bool
}

// StreamResponse returns the JSON of the event as a StreamResponse of 1.0. If the event is the answer to a message, the
// text is also a valid SendMessageResponse.
func (e *Event) StreamResponse() []byte {
	if !e.isTask {
		return e.JSON
	}
	return slices.Concat([]byte(`{"task":`), e.JSON, []byte("}"))
}

// TaskJSON returns the JSON of the task in an event. If the event contains no Task, it returns JSON.
func (e *Event) TaskJSON() []byte {
	if e.isTask {
		return e.JSON
	}
	var envelope struct {
		Task json.RawMessage `json:"task"`
	}
	if json.Unmarshal(e.JSON, &envelope) == nil && len(envelope.Task) > 0 {
		return envelope.Task
	}
	return e.JSON
}

// reader reads the response to one request.
type reader struct {
	*Client
	op     operation
	handle func(*Event) error
	body   *stream.Body
	// own is the error that a function of the caller returned.
	own error
	// event is reused for the events of a stream.
	event Event
}

// read reads a response whose status is 2xx.
func (r *reader) read(ctx context.Context, mediaType string, body *stream.Body) error {
	r.body = body
	if mediaType == "text/event-stream" && r.op != opGet {
		return body.SSE(r.streamEvent, r.flush)
	}
	text, err := r.readAnswer(ctx)
	if err != nil {
		return err
	}
	content, err := r.unwrapAnswer(text)
	if err != nil {
		return err
	}
	if err := r.admitAnswer(ctx, content); err != nil {
		return err
	}
	if err := r.decode(&r.event, false, content); err != nil {
		return &DecodeError{Text: content, Err: err}
	}
	r.own = r.handle(&r.event)
	if r.own != nil {
		return r.own
	}
	return r.flush()
}

// readAnswer returns the text of a response that is no stream.
func (r *reader) readAnswer(ctx context.Context) ([]byte, error) {
	if r.options.Admit == nil || r.op != opGet {
		return r.body.ReadAll()
	}
	limit, err := r.options.Admit(ctx, r.body.ContentLength())
	if err != nil {
		r.own = err
		return nil, err
	}
	r.body.Reserve = nil // Admit has reserved the text
	text, fits, err := r.body.ReadUpTo(limit)
	if err == nil && !fits {
		return nil, ErrTooLarge
	}
	return text, err
}

// unwrapAnswer returns the content of a response that is no stream. Its errors are *Error and *DecodeError.
func (c *Client) unwrapAnswer(text []byte) ([]byte, error) {
	content, err := c.options.Endpoint.unwrap(text, c.options.AnyID)
	if err != nil && !IsRefused(err) {
		return nil, &DecodeError{Text: text, Err: err}
	}
	return content, err
}

// streamEvent handles an event of a stream. Before it returns an error, it flushes the earlier events.
func (r *reader) streamEvent(line int, text []byte) error {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil
	}
	e := &r.event
	if r.options.RecordJSON {
		e = &Event{}
	}
	e.Line = line
	e.ID = string(r.body.LastEventID)
	if err := r.admit(text); err != nil {
		return err
	}
	content, err := r.options.Endpoint.unwrap(text, r.options.AnyID)
	if err != nil {
		content = text
	} else {
		err = r.decode(e, true, content)
	}
	if err == nil {
		r.own = r.handle(e)
		return r.own
	}
	if flushErr := r.flush(); flushErr != nil {
		return flushErr
	}
	if IsRefused(err) {
		return err
	}
	return &DecodeError{Line: line, Text: content, Err: err}
}

// admitAnswer reserves memory for a response that is no stream and is about to be decoded.
func (r *reader) admitAnswer(ctx context.Context, text []byte) error {
	if r.options.Admit == nil || r.op != opGet {
		return r.body.Admit(text)
	}
	r.own = r.options.AdmitDecoded(ctx, int64(len(text)), stream.WeightOf(text))
	return r.own
}

// admit reserves memory for a text that is about to be decoded. Before it returns an error, it flushes the earlier events.
func (r *reader) admit(text []byte) error {
	err := r.body.Admit(text)
	if err == nil {
		return nil
	}
	if flushErr := r.flush(); flushErr != nil {
		return flushErr
	}
	return err
}

// flush calls Options.Flush.
func (r *reader) flush() error {
	if r.options.Flush == nil {
		return nil
	}
	err := r.options.Flush()
	if err != nil {
		r.own = err
	}
	return err
}

// decode decodes the content of an answer or of an event.
func (r *reader) decode(e *Event, isStream bool, content []byte) error {
	var err error
	e.Event, err = r.options.Endpoint.decode(r.op, isStream, content)
	if err != nil || !r.options.RecordJSON {
		return err
	}
	e.isTask = r.op == opGet || r.op == opCancel || r.op == opList
	switch {
	case r.options.Endpoint.Version == version.V10:
		e.JSON, err = compact(content)
	case e.isTask:
		e.JSON = protojson.V10.AppendTask(nil, e.Task)
	default:
		e.JSON = protojson.V10.AppendEvent(nil, &e.Event)
	}
	return err
}

// compact returns a JSON text on one line.
func compact(text []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return nil, &DecodeError{Text: text, Err: errors.New("it is not JSON")}
	}
	return out.Bytes(), nil
}
