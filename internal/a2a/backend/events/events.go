// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events is the default backend: it sends one POST for each turn, and the agent's
// container answers with text, JSON, a file, or a stream of A2A events.
//
// This package alone defines the responses that an agent may send. docs/reference/events-protocol.md
// describes them to authors of agents. The package may import the codecs, because requests and
// responses contain the JSON of A2A. It holds no state between turns, follows no redirect and uses no
// proxy. An event that it does not understand fails the turn (backend.Unrecognized). It skips only
// blank lines and [DONE], and reports events of a kind internal:* to Options.Internal.
package events

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	v03 "github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

// Options configures a backend. A zero field has its default.
type Options struct {
	// URL is the URL of the agent. It is required.
	URL    string
	Limits stream.Limits
	// Internal is called with the kind of each event that is not for clients, such as
	// internal:llm-call. It is required.
	Internal func(kind string)
}

// Backend runs turns with an agent.
type Backend struct {
	client   *stream.Client
	url      *url.URL
	internal func(kind string)
}

var _ backend.Backend = (*Backend)(nil)

// New returns a backend. It does not call the agent.
func New(options Options) (*Backend, error) {
	u, err := stream.ParseURL(options.URL)
	if err != nil {
		return nil, err
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return &Backend{client: stream.New(nil, options.Limits), url: u, internal: options.Internal}, nil
}

// Close closes the idle connections.
func (b *Backend) Close() { b.client.Close() }

// Run implements backend.Backend.
func (b *Backend) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	return b.client.Turn(ctx, func(ctx context.Context, w *stream.Watchdog) error {
		return b.run(ctx, t, emit, w)
	})
}

func (b *Backend) run(ctx context.Context, t *backend.Turn, emit backend.Emit, w *stream.Watchdog) error {
	resp, err := b.client.Do(ctx, request(b.url, t))
	if err != nil {
		return err
	}
	if !stream.IsSuccess(resp.StatusCode) {
		stream.CloseResponse(resp)
		return stream.StatusError(resp.StatusCode)
	}
	if t.Input && resp.StatusCode == http.StatusAccepted {
		stream.CloseResponse(resp)
		return backend.ErrInputAccepted
	}
	defer resp.Body.Close()
	disposition := resp.Header.Get("Content-Disposition") // NewBody drops the header
	r := &response{
		Body: b.client.NewBody(resp, w), limits: b.client.Limits(), internal: b.internal,
		turn: t, disposition: disposition, emit: emit, watchdog: w,
	}
	r.Reserve = t.Reserve
	err = r.read()
	if errors.Is(err, backend.ErrTurnEnded) {
		r.DiscardRest()
	}
	return err
}

const acceptedMediaTypes = "text/event-stream, application/x-ndjson, application/json, text/plain"

func request(u *url.URL, t *backend.Turn) *stream.Request {
	header := stream.Header(t, acceptedMediaTypes)
	if t.Input {
		header["A2A-Turn"] = []string{"input"}
	}
	return &stream.Request{Method: http.MethodPost, URL: u, Header: header, Body: appendRequest(make([]byte, 0, estimateSize(t)), t)}
}

// estimateSize returns the estimated size of a request, in bytes, so that its buffer does
// not grow.
func estimateSize(t *backend.Turn) int {
	return 512 + t.Message.Size() + len(t.Metadata) + a2a.StringsSize(t.AcceptedOutputModes) + int(t.SizeBesideMessage())
}

// appendRequest appends the body of the request for a turn. It omits the member task for
// a new task; all other members are always present.
func appendRequest(dst []byte, t *backend.Turn) []byte {
	dst = jsonwrite.String(append(dst, `{"taskId":`...), t.TaskID)
	dst = jsonwrite.String(append(dst, `,"contextId":`...), t.ContextID)
	dst = v03.AppendMessage(append(dst, `,"message":`...), t.Message)
	if t.Task != nil {
		dst = v03.AppendTask(append(dst, `,"task":`...), t.Task)
	}
	dst = jsonwrite.Array(append(dst, `,"history":`...), backend.Newest(t.History), v03.AppendMessage)
	dst = jsonwrite.Array(append(dst, `,"referenceTasks":`...), t.References, v03.AppendTask)
	dst = jsonwrite.Array(append(dst, `,"acceptedOutputModes":`...), t.AcceptedOutputModes, jsonwrite.String)
	dst = appendObject(append(dst, `,"metadata":`...), t.Metadata)
	dst = jsonwrite.Array(append(dst, `,"extensions":`...), t.Extensions, jsonwrite.String)
	dst = jsonwrite.String(append(dst, `,"tenant":`...), t.Tenant)
	return append(dst, '}')
}

func appendObject(dst []byte, o a2a.Object) []byte {
	if len(o) == 0 {
		return append(dst, "{}"...)
	}
	return append(dst, o...)
}
