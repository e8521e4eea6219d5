// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chat is the backend for language model servers: the request contains the conversation as messages, and the text of the
// answer becomes the chunks of one artifact.
//
// A turn is one completion. It ends its task and never waits for input. The backend does
// not run tools: it passes the tool calls of the model to the client as data.
// docs/reference/backends.md describes the backend to authors of agents.
package chat

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
)

// Options configure a backend. A zero field has its default.
type Options struct {
	completions.Options
	// SystemPrompt is the first message of every conversation, "" for none.
	SystemPrompt string
	// CheckFile returns an error, whose text says what is wrong, for the URL of a file that the
	// model server may not fetch. Without CheckFile, the model server may
	// fetch none: it can reach addresses that the caller cannot.
	CheckFile func(url string) error
}

// Backend runs turns with a model.
type Backend struct {
	*completions.Client
	prompt    string
	checkFile func(url string) error
}

var _ backend.Backend = (*Backend)(nil)

// New returns a backend. It does not call the model.
func New(options Options) (*Backend, error) {
	client, err := completions.New(options.Options)
	if err != nil {
		return nil, err
	}
	return &Backend{Client: client, prompt: options.SystemPrompt, checkFile: options.CheckFile}, nil
}

// Run implements backend.Backend.
func (b *Backend) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
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
