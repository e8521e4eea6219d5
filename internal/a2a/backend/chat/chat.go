// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chat is the backend for language model servers: POST /v1/chat/completions, as defined by
// OpenAI and served by vLLM, Ollama, llama.cpp and others. The request contains the conversation as
// messages, and the text of the response becomes the chunks of one artifact.
//
// A turn is one completion. It ends its task and never waits for input. The backend does
// not run tools: it passes the tool calls of the model to the client as data.
// docs/reference/backends.md describes the backend to authors of agents.
//
// The server is a container of the sidecar's pod, or an external server. The backend calls an external
// server through Options.Transport and without the identity of the client.
package chat

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// Options configures a backend. A zero field has its default.
type Options struct {
	// URL is required. It is the URL of the completions or the base URL of the API, depending on
	// its path:
	//
	//   - a path that ends in /chat/completions is the path of the completions,
	//   - a path that ends in a version, such as /v1, is the base,
	//   - without a path, the base is /v1,
	//   - any other path is the base if Transport is set, and the path of the completions
	//     otherwise.
	URL    string
	Limits stream.Limits
	// Model is the name of the model. By default, the backend uses the first model that
	// the server lists.
	Model string
	// SystemPrompt is the first message of every conversation, "" for none.
	SystemPrompt string
	// Transport sends the requests to an external server. By default the server is in the
	// pod of the sidecar, and the backend calls it directly. The transport may return a
	// *backend.TurnError as the reason of a failure. CloseIdle closes its idle
	// connections; it may be nil.
	Transport http.RoundTripper
	CloseIdle func()
	// Key returns the API key, "" for none. RefreshKey reads the key again and returns
	// it. The backend calls Key for each request, and RefreshKey after the server has
	// refused a key. Both are required.
	Key, RefreshKey func() string
	// Headers are sent with each request.
	Headers []Header
	// CheckFile returns an error, whose text says what is wrong, for the URL of a file that the
	// model server may not fetch. It is not called for data: URLs. If it is nil, the server may
	// fetch none: it can reach addresses that the caller cannot.
	CheckFile func(url string) error
}

// Backend runs turns with a model.
type Backend struct {
	server      *modelServer
	models      models
	completions *url.URL
	prompt      string
	checkFile   func(url string) error
	closeIdle   func()
}

var _ backend.Backend = (*Backend)(nil)

// completionsPath is the path of completions below the base of the API.
const completionsPath = "/chat/completions"

// versioned matches a path that ends in the version of an API, such as /openai/v1.
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
		u.Path = whole + completionsPath
		u.RawPath = ""
	}
	base, ok := strings.CutSuffix(strings.TrimSuffix(u.Path, "/"), completionsPath)
	if !ok {
		base = "/v1"
	}
	list := *u
	list.Path = base + "/models"
	list.RawPath = ""
	server := &modelServer{
		client:   stream.New(options.Transport, options.Limits),
		external: elsewhere, key: options.Key, refreshKey: options.RefreshKey, headers: options.Headers,
	}
	return &Backend{
		server: server, models: models{server: server, list: &list, configured: options.Model},
		completions: u, prompt: options.SystemPrompt, checkFile: options.CheckFile, closeIdle: options.CloseIdle,
	}, nil
}

// Close closes the idle connections.
func (b *Backend) Close() {
	b.server.client.Close()
	if b.closeIdle != nil {
		b.closeIdle()
	}
}

// Run implements backend.Backend.
func (b *Backend) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	return b.server.client.Turn(ctx, func(ctx context.Context, w *stream.Watchdog) error {
		return b.run(ctx, t, emit, w)
	})
}

func (b *Backend) run(ctx context.Context, t *backend.Turn, emit backend.Emit, w *stream.Watchdog) error {
	conversation, err := b.conversation(t)
	if err != nil {
		return err
	}
	model, err := b.models.name(ctx, t)
	if err != nil {
		return err
	}
	resp, key, err := b.server.call(ctx, &request{
		turn: t, method: http.MethodPost, url: b.completions, accept: "text/event-stream, application/json",
		body: appendRequest(make([]byte, 0, estimateSize(conversation)), model, conversation),
	})
	if err != nil {
		return err
	}
	if !stream.IsSuccess(resp.StatusCode) {
		stream.CloseResponse(resp)
		if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusBadRequest {
			// The server may have other models now, so the next turn reads their list again.
			b.models.first.Store(nil)
		}
		return stream.StatusError(resp.StatusCode)
	}
	defer resp.Body.Close()
	r := &response{Body: b.server.client.NewBody(resp, w), turn: t, emit: emit, secret: key}
	r.Reserve = t.Reserve
	err = r.read()
	if errors.Is(err, backend.ErrTurnEnded) {
		r.DiscardRest()
	}
	return err
}

// Check requests the list of models, for at most Limits.Connect. It returns nil if the
// server responds, even if the response contains no list. It returns an error if the status
// is 401 (the server refuses the API key), 500, 502, 503 or 504, or if the server answers
// only 429 until Limits.Connect is over. An error contains neither the key nor a part of
// the response.
func (b *Backend) Check(ctx context.Context) error {
	limit := b.server.client.Limits().Connect
	ctx, cancel := context.WithTimeoutCause(ctx, limit, backend.Failed("The model server did not answer within "+limit.String()+", or answered only that it is busy", nil))
	defer cancel()
	resp, _, err := b.server.call(ctx, &request{method: http.MethodGet, url: b.models.list, accept: "application/json"}) //nolint:bodyclose // stream.CloseResponse closes it
	if err != nil {
		return err
	}
	defer stream.CloseResponse(resp)
	switch resp.StatusCode {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return backend.Interrupted("The model server answered "+strconv.Itoa(resp.StatusCode)+" "+http.StatusText(resp.StatusCode), nil)
	}
	return nil
}
