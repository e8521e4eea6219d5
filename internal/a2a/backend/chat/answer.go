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
	reasonHalf     = "The agent's answer ended before the model had finished"
	reasonError    = "The agent reported an error"
	reasonFiltered = "The answer was withheld by a content filter of the agent"
	reasonNoSSE    = "The agent's answer is neither text/event-stream nor application/json"
)

// errDone is how the reading of a stream ends at its mark.
var errDone = errors.New("the stream says that it is done")

// answer reads one completion.
type answer struct {
	*stream.Body
	turn *backend.Turn
	emit backend.Emit
	// batch holds the events of one read.
	batch []a2a.Event
	// begun is true once there is an artifact.
	begun bool

	model, finish string
	usage         a2a.Object
	calls         calls
}

func (a *answer) read() error {
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
		return backend.Failed(reasonNoSSE, nil)
	}
}

// json reads the answer of a server that does not stream.
func (a *answer) json() error {
	text, err := a.Whole()
	if err != nil {
		return err
	}
	if err := a.take(text); err != nil {
		return blame("answer", err)
	}
	return a.conclude()
}

func (a *answer) sse() error {
	err := a.SSE(func(line int, text []byte) error {
		text = bytes.TrimSpace(text)
		switch {
		case len(text) == 0:
			return nil
		case string(text) == "[DONE]":
			return errDone
		}
		// The bytes of an event stream that are no UTF-8 are U+FFFD (WHATWG HTML
		// section 9.2.6).
		if err := a.take(bytes.ToValidUTF8(text, []byte("\uFFFD"))); err != nil {
			if sendErr := a.send(); sendErr != nil {
				return sendErr
			}
			return blame("event in line "+strconv.Itoa(line), err)
		}
		return nil
	}, a.send)
	if err != nil && !errors.Is(err, errDone) {
		return err
	}
	return a.conclude()
}

// blame passes on what is a failure already.
func blame(what string, err error) error {
	if failure, ok := errors.AsType[*backend.TurnError](err); ok {
		return failure
	}
	return backend.Failed("The agent's "+what+" "+stream.Fault(err, "a completion"), err)
}

// take reads a completion or a chunk of one.
func (a *answer) take(text []byte) error {
	c, err := decode(text)
	switch {
	case err != nil:
		return err
	case c.failed:
		return backend.Failed(reasonError, nil)
	}
	if c.model != "" {
		a.model = c.model
	}
	if c.finish != "" {
		a.finish = c.finish
	}
	if len(c.usage) > 0 && len(c.usage) <= maxUsage {
		a.usage = c.usage
	}
	a.calls.add(c.calls)
	if a.calls.size() > a.Limit() {
		return a.tooManyCalls()
	}
	if len(c.text) > 0 {
		a.piece(a2a.TextPart(string(c.text)), false)
	}
	return nil
}

func (a *answer) tooManyCalls() error {
	return backend.Failed(fmt.Sprintf("The agent's calls of tools exceed %d bytes", a.Limit()), nil)
}

// piece adds to the artifact of the turn. Text joins text: an answer that
// arrives in a thousand chunks reads as one.
func (a *answer) piece(part a2a.Part, last bool) {
	p := &struct {
		update a2a.ArtifactUpdate
		parts  [1]a2a.Part
	}{parts: [1]a2a.Part{part}}
	p.update = a2a.ArtifactUpdate{
		TaskID: a.turn.TaskID, ContextID: a.turn.ContextID,
		Artifact: a2a.Artifact{ID: backend.ArtifactID(a.turn.Number), Parts: p.parts[:]},
		Append:   a.begun, JoinText: true, LastChunk: last,
	}
	a.begun = true
	a.batch = append(a.batch, a2a.Event{Artifact: &p.update})
}

func (a *answer) send() error {
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
func (a *answer) conclude() error {
	if a.finish == "" {
		if err := a.send(); err != nil {
			return err
		}
		return backend.Interrupted(reasonHalf, nil)
	}
	status := &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateCompleted}, Metadata: a.metadata()}
	switch calls := a.calls.data(); {
	case len(calls) > a.Limit():
		if err := a.send(); err != nil {
			return err
		}
		return a.tooManyCalls()
	case a.finish == "content_filter":
		status.Status.State = a2a.StateFailed
		status.Status.Message = &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(reasonFiltered)}}
	case calls != nil:
		a.piece(a2a.Part{Content: a2a.ContentData, Data: calls, MediaType: "application/json"}, true)
	case len(a.batch) > 0:
		a.batch[len(a.batch)-1].Artifact.LastChunk = true
	case a.begun:
		a.piece(a2a.TextPart(""), true)
	}
	a.batch = append(a.batch, a2a.Event{Status: status})
	return a.send()
}

func (a *answer) metadata() a2a.Object {
	dst := []byte{'{'}
	member := func(name string) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), name...), `":`...)
	}
	if len(a.finish) <= maxName {
		member(metadataFinish)
		dst = appendString(dst, a.finish)
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
