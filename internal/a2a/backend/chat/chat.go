// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chat is the protocol of language model servers: POST
// /v1/chat/completions as OpenAI made it, and as vLLM, Ollama, llama.cpp and
// many more serve it. The conversation goes in as messages, and the words of
// the answer come out as chunks of one artifact.
//
// A turn is one completion: it ends its task, and asks for nothing. Tools are
// not run here; the calls that a model asks for are handed to the client as
// data. docs/agents.md shows it to agent authors.
package chat

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// Options say where the model is. Zero means the default.
type Options struct {
	// URL is where completions are posted, such as
	// http://127.0.0.1:8080/v1/chat/completions. It is required.
	URL    string
	Limits stream.Limits
	// Model is the name of the model; "" asks the server for its first.
	Model string
	// SystemPrompt opens every conversation; "" for none.
	SystemPrompt string
	// Now is the clock.
	Now func() time.Time
}

// Backend runs turns with a model.
type Backend struct {
	client      *stream.Client
	completions *url.URL
	models      *url.URL
	model       string
	prompt      string
	// learned is the model that the server named first; nil until it was asked.
	learned atomic.Pointer[string]
}

var _ backend.Backend = (*Backend)(nil)

// completionsPath is where the API has it; the list of models stands beside.
const completionsPath = "/chat/completions"

// New returns a backend. It does not call the model.
func New(options Options) (*Backend, error) {
	u, err := stream.ParseURL(options.URL)
	if err != nil {
		return nil, err
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1" + completionsPath
	}
	base, ok := strings.CutSuffix(strings.TrimSuffix(u.Path, "/"), completionsPath)
	if !ok {
		base = "/v1"
	}
	models := *u
	models.Path, models.RawPath = base+"/models", ""
	return &Backend{
		client: stream.New(options.Limits, options.Now), completions: u, models: &models,
		model: options.Model, prompt: options.SystemPrompt,
	}, nil
}

// Close releases the idle connections.
func (b *Backend) Close() { b.client.Close() }

// Run implements backend.Backend.
func (b *Backend) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	return b.client.Turn(ctx, func(ctx context.Context, w *stream.Watchdog) error {
		return b.run(ctx, t, emit, w)
	})
}

func (b *Backend) run(ctx context.Context, t *backend.Turn, emit backend.Emit, w *stream.Watchdog) error {
	conversation, err := converse(t, b.prompt)
	if err != nil {
		return err
	}
	model, err := b.modelName(ctx, t)
	if err != nil {
		return err
	}
	resp, err := b.client.Do(ctx, &stream.Request{
		Method: http.MethodPost, URL: b.completions,
		Header: stream.Header(t, "text/event-stream, application/json"),
		Body:   appendRequest(nil, model, conversation),
	})
	if err != nil {
		return err
	}
	if !stream.Success(resp.StatusCode) {
		stream.Release(resp)
		if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusBadRequest {
			// The server may have another model by now.
			b.learned.Store(nil)
		}
		return stream.Refusal(resp.StatusCode)
	}
	defer resp.Body.Close()
	a := &answer{Body: b.client.NewBody(resp, w), turn: t, emit: emit}
	err = a.read()
	if errors.Is(err, backend.ErrEnded) {
		a.Farewell()
	}
	return err
}
