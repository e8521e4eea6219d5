// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package completions calls language model servers: POST /v1/chat/completions, as defined by OpenAI and served
// by vLLM, Ollama, llama.cpp and others.
//
// The server is a container of the sidecar's pod, or an external server, which it calls through
// Options.Transport and without the identity of the client. The package knows no task: a request has messages and
// tools, and an answer has text and tool calls.
package completions

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// Options configure a client. A zero field has its default.
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
	// Refused is called when the server refuses a request for a reason that lies in the configuration of the agent: it has no
	// such model, or the model takes no tools. It may be nil.
	Refused func(reason string)
}

// ErrUnavailable is wrapped by the failure of a request that the server refused because it is overloaded or has failed (429 and 5xx).
var ErrUnavailable = errors.New("the server is overloaded or has failed")

// Client calls one model server. It is safe for concurrent use.
type Client struct {
	server      *modelServer
	models      models
	completions *url.URL
	closeIdle   func()
	// refused is Options.Refused.
	refused func(string)
	// takesTools is true if the model has answered a request with tools. A later refusal that names tools is not about the
	// configuration: servers repeat parts of the request, which clients write.
	takesTools atomic.Bool
}

// completionsPath is the path of completions below the base of the API.
const completionsPath = "/chat/completions"

// versioned matches a path that ends in the version of an API, such as /openai/v1.
var versioned = regexp.MustCompile(`/v[0-9]+[a-z0-9]*/?$`)

// New returns a client. It does not call the model.
func New(options Options) (*Client, error) {
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
	return &Client{
		server: server, models: models{server: server, list: &list, configured: options.Model},
		completions: u, closeIdle: options.CloseIdle, refused: options.Refused,
	}, nil
}

// Model returns the name of the model, "" if the server chooses it.
func (c *Client) Model() string { return c.models.configured }

// Close closes the idle connections.
func (c *Client) Close() {
	c.server.client.Close()
	if c.closeIdle != nil {
		c.closeIdle()
	}
}

// Complete requests an answer to a conversation. It passes the text to out as it arrives. An error is a *backend.TurnError, wraps
// the cause of ctx, or is the error of Output.Flush. t has the identity and the memory of the request, and gets
// the usage.
func (c *Client) Complete(ctx context.Context, t *backend.Turn, r *Request, out Output) (answer *Answer, err error) {
	err = c.server.client.Turn(ctx, func(ctx context.Context, w *stream.Watchdog) error {
		answer, err = c.complete(ctx, t, r, out, w)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

func (c *Client) complete(ctx context.Context, t *backend.Turn, r *Request, out Output, w *stream.Watchdog) (*Answer, error) {
	model, err := c.models.name(ctx, t)
	if err != nil {
		return nil, err
	}
	resp, key, err := c.server.call(ctx, &request{
		turn: t, method: http.MethodPost, url: c.completions, accept: "text/event-stream, application/json",
		body: r.append(make([]byte, 0, r.size()), model),
	})
	if err != nil {
		return nil, err
	}
	if !stream.IsSuccess(resp.StatusCode) {
		return nil, c.failure(resp, len(r.Tools) > 0)
	}
	defer resp.Body.Close()
	read := &response{Body: c.server.client.NewBody(resp, w), turn: t, out: out, secret: key}
	if t.Reserve != nil {
		read.Reserve = read.reserveEvent
	}
	err = read.read()
	if errors.Is(err, backend.ErrTurnEnded) {
		read.DiscardRest()
	}
	if err == nil && len(r.Tools) > 0 {
		c.takesTools.Store(true)
	}
	return &read.answer, err
}

// maxRefusal bounds what is read of the reason of a refusal, in bytes.
const maxRefusal = 4 << 10

// failure returns the failure of a turn for a response that is no answer, and closes the response. The failure has no text of the
// server, which is not meant for clients.
func (c *Client) failure(resp *http.Response, hasTools bool) error {
	defer stream.CloseResponse(resp)
	failure := stream.StatusError(resp.StatusCode)
	code := strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
	isConfiguration := true
	switch {
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= http.StatusInternalServerError:
		failure.Err = ErrUnavailable
		return failure
	case resp.StatusCode == http.StatusNotFound:
		failure = backend.Failed("The model server has no such model, or serves no completions at this path: "+code+"; see spec.model", nil)
		c.takesTools.Store(false)
	case resp.StatusCode == http.StatusBadRequest && hasTools && namesTools(resp.Body):
		failure = backend.Failed("The model server does not accept the tools of the agent: "+code+"; choose a model that can call tools, or turn tools on at the server", nil)
		isConfiguration = !c.takesTools.Load()
	case resp.StatusCode != http.StatusBadRequest:
		return failure
	}
	// The server may have other models now, so the next request reads their list again.
	c.models.first.Store(nil)
	if failure.State == a2a.StateFailed && isConfiguration && c.refused != nil {
		c.refused(failure.Reason)
	}
	return failure
}

// namesTools reports whether the reason of a refusal is about tools. Servers refuse requests with tools for a model that cannot call them.
func namesTools(body io.Reader) bool {
	text, _ := io.ReadAll(io.LimitReader(body, maxRefusal)) // a part of the reason may say it
	return bytes.Contains(bytes.ToLower(text), []byte("tool"))
}

// Check requests the list of models, for at most Limits.Connect. It returns nil if the
// server responds, even if the response contains no list. It returns an error if the status
// is 401 (the server refuses the API key), 500, 502, 503 or 504, or if the server answers
// only 429 until Limits.Connect is over. An error contains neither the key nor a part of
// the response.
func (c *Client) Check(ctx context.Context) error {
	limit := c.server.client.Limits().Connect
	ctx, cancel := context.WithTimeoutCause(ctx, limit, backend.Failed("The model server did not answer within "+limit.String()+", or answered only that it is busy", nil))
	defer cancel()
	resp, _, err := c.server.call(ctx, &request{method: http.MethodGet, url: c.models.list, accept: "application/json"}) //nolint:bodyclose // stream.CloseResponse closes it
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
