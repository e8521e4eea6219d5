// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions_test

import (
	"context"
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// options are those of a caller.
type options struct {
	completions.Options
	// SystemPrompt is the first message of every conversation, "" for none.
	SystemPrompt string
	CheckFile    func(url string) error
}

// caller is the simplest backend that uses a client: a turn is one completion, and calls of tools are data.
type caller struct {
	*completions.Client
	prompt    string
	checkFile func(url string) error
}

func newCaller(o options) (*caller, error) {
	client, err := completions.New(o.Options)
	if err != nil {
		return nil, err
	}
	return &caller{Client: client, prompt: o.SystemPrompt, checkFile: o.CheckFile}, nil
}

// Run implements backend.Backend.
func (b *caller) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	conversation, err := b.conversation(t)
	if err != nil {
		return err
	}
	out := &output{turn: t, emit: emit}
	answer, err := b.Complete(ctx, t, &completions.Request{Messages: conversation}, completions.Output{Text: out.addText, Flush: out.flush})
	if err != nil {
		return err
	}
	return out.end(answer)
}

// conversation returns the messages to the model: the prompt, the history, and the
// message of the turn. It merges consecutive messages of one role, because the templates
// of many models require alternating roles.
func (b *caller) conversation(t *backend.Turn) ([]completions.Message, error) {
	var all []completions.Message
	if b.prompt != "" {
		all = append(all, completions.Message{Role: completions.RoleSystem, Text: []string{b.prompt}})
	}
	all = append(all, completions.History(backend.Newest(t.History), b.checkFile)...)
	now := completions.Message{Role: completions.RoleUser}
	for i := range t.Message.Parts {
		if problem := now.Add(&t.Message.Parts[i], b.checkFile); problem != "" {
			return nil, backend.Rejected(fmt.Sprintf("The agent rejected the message: message.parts[%d]: %s", i, problem))
		}
	}
	return completions.Append(all, now), nil
}

// Members of the metadata of the status that ends a task.
const (
	metadataModel  = "a2a-operator.dev/model"
	metadataFinish = "a2a-operator.dev/finishReason"
)

// maxName bounds the names of the model and of the finish reason, in bytes.
const maxName = 256

const reasonFiltered = "The answer was withheld by a content filter of the agent"

// output emits the answer of a model.
type output struct {
	turn *backend.Turn
	emit backend.Emit
	// batch has the events of one read.
	batch []a2a.Event
	// hasArtifact is true once a chunk of the artifact was added.
	hasArtifact bool
}

// addText adds a text to the artifact.
func (o *output) addText(text []byte) { o.addPart(a2a.TextPart(string(text)), false) }

// addPart adds a part to the artifact of the turn. The store joins consecutive texts, so
// that an answer in a thousand chunks is one text.
func (o *output) addPart(part a2a.Part, last bool) {
	p := &struct {
		update a2a.ArtifactUpdate
		parts  [1]a2a.Part
	}{parts: [1]a2a.Part{part}}
	p.update = a2a.ArtifactUpdate{
		TaskID: o.turn.TaskID, ContextID: o.turn.ContextID,
		Artifact: a2a.Artifact{ID: backend.ArtifactID(o.turn.Number), Parts: p.parts[:]},
		Append:   o.hasArtifact, JoinText: true, LastChunk: last,
	}
	o.hasArtifact = true
	o.batch = append(o.batch, a2a.Event{Artifact: &p.update})
}

func (o *output) flush() error { return o.emit.Flush(&o.batch) }

// end emits the end of an answer.
func (o *output) end(answer *completions.Answer) error {
	status := &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateCompleted}, Metadata: metadata(answer)}
	switch {
	case answer.FinishReason == completions.FinishFiltered:
		status.Status.State = a2a.StateFailed
		status.Status.Message = &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(reasonFiltered)}}
	case len(answer.ToolCalls) > 0:
		o.addPart(a2a.Part{Content: a2a.ContentData, Data: toolCallData(answer.ToolCalls), MediaType: "application/json"}, true)
	case len(o.batch) > 0:
		o.batch[len(o.batch)-1].Artifact.LastChunk = true
	case o.hasArtifact:
		o.addPart(a2a.TextPart(""), true)
	}
	o.batch = append(o.batch, a2a.Event{Status: status})
	return o.flush()
}

// toolCallData returns tool calls as one JSON value. The arguments are a string, because the model wrote them and they may not be JSON.
func toolCallData(calls []completions.ToolCall) a2a.Value {
	dst := jsonwrite.ArrayOf([]byte(`{"toolCalls":`), calls, func(dst []byte, c *completions.ToolCall) []byte {
		dst = jsonwrite.Member(dst, `{"id":`, c.ID)
		dst = jsonwrite.Member(dst, `,"name":`, c.Name)
		return append(jsonwrite.Member(dst, `,"arguments":`, c.Arguments), '}')
	})
	return append(dst, '}')
}

func metadata(answer *completions.Answer) a2a.Object {
	dst := []byte{'{'}
	member := func(name string) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), name...), `":`...)
	}
	if len(answer.FinishReason) <= maxName {
		member(metadataFinish)
		dst = jsonwrite.String(dst, answer.FinishReason)
	}
	if answer.Model != "" && len(answer.Model) <= maxName {
		member(metadataModel)
		dst = jsonwrite.String(dst, answer.Model)
	}
	if answer.Usage != nil {
		member(backend.MetadataUsage)
		dst = append(dst, answer.Usage...)
	}
	return append(dst, '}')
}
