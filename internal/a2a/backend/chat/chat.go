// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chat is the protocol of language model servers: POST
// /v1/chat/completions as OpenAI made it, and as vLLM, Ollama, llama.cpp and
// many more serve it. The conversation goes in as messages, and the words of
// the answer come out as chunks of one artifact.
//
// A turn is one completion: it ends its task, and asks for nothing. Tools are
// not run here; the calls that a model asks for are handed to the client as
// data. docs/backends.md shows it to agent authors.
//
// The server is the container beside the sidecar or a server elsewhere, which is
// called by a transport of the caller's and told nothing of who calls the agent.
package chat

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// Options say where the model is. Zero means the default.
type Options struct {
	// URL is where completions are posted, such as
	// http://127.0.0.1:8080/v1/chat/completions, or the base of the API, such as
	// http://127.0.0.1:8080/v1. Without a path it is the base /v1. Any other
	// path is a base with Transport, and the address of the completions without.
	// It is required.
	URL    string
	Limits stream.Limits
	// Model is the name of the model; "" asks the server for its first.
	Model string
	// SystemPrompt opens every conversation; "" for none.
	SystemPrompt string
	// Transport calls a server that is not beside the sidecar; nil calls it
	// directly. It may return a *backend.TurnError to explain a failure.
	// CloseIdle closes its idle connections; nil for none to close.
	Transport http.RoundTripper
	CloseIdle func()
	// Key returns the API key, "" for none, and RefreshKey the same after it was
	// read again. They are called for each request and after the server has
	// refused a key. Nil is for no key.
	Key, RefreshKey func() string
	// Headers are sent with each request.
	Headers []Header
	// Now is the clock.
	Now func() time.Time
}

// Header is a header of requests to the server.
type Header struct{ Name, Value string }

// Backend runs turns with a model.
type Backend struct {
	client      *stream.Client
	completions *url.URL
	models      *url.URL
	model       string
	prompt      string
	// elsewhere is true for a server that is not beside the sidecar.
	external        bool
	closeIdle       func()
	key, refreshKey func() string
	headers         []Header
	// learned is the model that the server named first; nil until it was asked.
	discoveredModel atomic.Pointer[string]
}

var _ backend.Backend = (*Backend)(nil)

// completionsPath is where the API has it; the list of models stands beside.
const completionsPath = "/chat/completions"

// versioned is a path that ends in the version of an API, such as /openai/v1.
var versioned = regexp.MustCompile(`/v[0-9]+[a-z0-9]*/?$`)

// New returns a backend. It does not call the model.
func New(options Options) (*Backend, error) {
	u, err := stream.ParseURL(options.URL)
	if err != nil {
		return nil, err
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1" + completionsPath
	}
	elsewhere := options.Transport != nil
	if whole := strings.TrimSuffix(u.Path, "/"); !strings.HasSuffix(whole, completionsPath) && (elsewhere || versioned.MatchString(whole)) {
		u.Path, u.RawPath = whole+completionsPath, ""
	}
	base, ok := strings.CutSuffix(strings.TrimSuffix(u.Path, "/"), completionsPath)
	if !ok {
		base = "/v1"
	}
	models := *u
	models.Path, models.RawPath = base+"/models", ""
	b := &Backend{
		completions: u, models: &models, model: options.Model, prompt: options.SystemPrompt,
		external: elsewhere, closeIdle: options.CloseIdle, key: options.Key, refreshKey: options.RefreshKey, headers: options.Headers,
	}
	if b.key == nil {
		b.key = func() string { return "" }
	}
	if b.refreshKey == nil {
		b.refreshKey = b.key
	}
	if elsewhere {
		b.client = stream.NewWithTransport(options.Transport, options.Limits, options.Now)
	} else {
		b.client = stream.New(options.Limits, options.Now)
	}
	return b, nil
}

// Close releases the idle connections.
func (b *Backend) Close() {
	b.client.Close()
	if b.closeIdle != nil {
		b.closeIdle()
	}
}

// Run implements backend.Backend.
func (b *Backend) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	return b.client.Turn(ctx, func(ctx context.Context, w *stream.Watchdog) error {
		return b.run(ctx, t, emit, w)
	})
}

func (b *Backend) run(ctx context.Context, t *backend.Turn, emit backend.Emit, w *stream.Watchdog) error {
	conversation, err := conversation(t, b.prompt)
	if err != nil {
		return err
	}
	model, err := b.modelName(ctx, t)
	if err != nil {
		return err
	}
	resp, key, err := b.call(ctx, &request{
		turn: t, method: http.MethodPost, url: b.completions, accept: "text/event-stream, application/json",
		body: appendRequest(nil, model, conversation),
	})
	if err != nil {
		return err
	}
	if !stream.IsSuccess(resp.StatusCode) {
		stream.CloseResponse(resp)
		if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusBadRequest {
			// The server may have another model by now.
			b.discoveredModel.Store(nil)
		}
		return stream.StatusError(resp.StatusCode)
	}
	defer resp.Body.Close()
	a := &response{Body: b.client.NewBody(resp, w), turn: t, emit: emit, secret: key}
	err = a.read()
	if errors.Is(err, backend.ErrTurnEnded) {
		a.DiscardRest()
	}
	return err
}
