// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client calls agents by A2A, in every version from 0.1 to 1.0, over JSON-RPC and HTTP+JSON. The backend for
// agents that speak A2A, the gateway and the CLI use it.
//
// The caller brings the transport, which decides where a request may go: through a proxy, a guard against SSRF, or the
// gateway. It also brings the credential, the limits and the texts of errors. A Client sends each message once, and
// resumes no stream; a Following does both.
//
// The codecs are those of this project, which support all versions. The official SDK for Go does not support 0.1, and
// drops members that it does not know.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// maxErrorBody bounds the body of an error response that is read, in bytes.
const maxErrorBody = 64 << 10

// Options configure a Client. HTTP and Endpoint are required.
type Options struct {
	// HTTP sends the requests, and reads the responses within its limits.
	HTTP     *stream.Client
	Endpoint *Endpoint
	// Header is added to each request.
	Header http.Header
	// Extensions are the URIs of the extensions that each request activates, if the version has any.
	Extensions []string
	// Watchdog watches the turn to which the messages belong. If it is nil, the limits of HTTP hold for each stream.
	Watchdog *stream.Watchdog
	// Reserve reserves memory for an event that is being read, see backend.Turn. Nil reserves nothing.
	Reserve func(bytes int64) error
	// Admit is called before a response to Get is read, with the length of the response, -1 if it is not known. It
	// returns the number of bytes to read at most. By default, a task has the limit of an event.
	Admit func(ctx context.Context, length int64) (limit int, err error)
	// AdmitDecoded is called before a response that Admit has admitted is decoded, with its length and its weight (stream.WeightOf). It is
	// not nil if Admit is not.
	AdmitDecoded func(ctx context.Context, length, weight int64) error
	// Flush is called after each read of a stream, when the events that have arrived are handled. It may be nil.
	Flush func() error
	// ReturnImmediately asks an agent that does not stream for its task at once, because a Following polls it.
	ReturnImmediately bool
	// AnyID accepts responses of JSON-RPC with another id than that of the request.
	AnyID bool
	// RecordJSON sets Event.JSON.
	RecordJSON bool
	// Explain returns the error for the caller, which wraps err. It is called for all errors but those of other
	// functions of Options and of the functions that the caller passes. It may be nil.
	Explain func(ctx context.Context, err error) error
}

// Client calls one agent. It is safe for concurrent use if its Options have no Watchdog.
type Client struct{ options Options }

// New returns a client. It does not call the agent.
func New(o Options) *Client { return &Client{options: o} }

// Endpoint returns the endpoint.
func (c *Client) Endpoint() *Endpoint { return c.options.Endpoint }

// Send sends a message and returns the answer, a Task or a Message.
func (c *Client) Send(ctx context.Context, r *a2a.SendRequest) (*Event, error) {
	return c.one(ctx, c.message(opSend, r))
}

// Stream sends a message, and calls handle for every event of the answer. If the agent does not stream, it calls handle
// once, with the whole answer. It returns nil at the end of the answer, and an error of handle at once. An event is
// valid until handle returns, unless Options.RecordJSON is true.
func (c *Client) Stream(ctx context.Context, r *a2a.SendRequest, handle func(*Event) error) error {
	streaming := &c.options.Endpoint.streaming
	if !streaming.Load() {
		return c.answer(ctx, r, handle)
	}
	answered := false
	note := func(e *Event) error {
		answered = true
		return handle(e)
	}
	err := c.do(ctx, c.message(opStream, r), note)
	if answered || !IsUnsupported(err) {
		return err
	}
	// The agent does not support streaming, although its card declares it.
	streaming.Store(false)
	err = c.answer(ctx, r, note)
	if err != nil && !answered {
		streaming.Store(true)
	}
	return err
}

// answer sends a message without streaming, and calls handle with the answer.
func (c *Client) answer(ctx context.Context, r *a2a.SendRequest, handle func(*Event) error) error {
	if c.options.ReturnImmediately {
		immediate := *r
		immediate.ReturnImmediately = true
		r = &immediate
	}
	return c.do(ctx, c.message(opSend, r), handle)
}

// Subscribe calls handle for the events of a task, like Stream. It begins after the event with lastEventID if the agent
// still has the later events, and otherwise with a snapshot.
func (c *Client) Subscribe(ctx context.Context, r *a2a.SubscribeRequest, lastEventID string, handle func(*Event) error) error {
	return c.do(ctx, &request{op: opSubscribe, taskID: r.TaskID, tenant: r.Tenant, history: r.HistoryLength, lastEventID: lastEventID}, handle)
}

// Get returns a task.
func (c *Client) Get(ctx context.Context, r *a2a.GetRequest) (*Event, error) {
	return c.one(ctx, &request{op: opGet, taskID: r.TaskID, tenant: r.Tenant, history: r.HistoryLength})
}

// Cancel cancels a task and returns it.
func (c *Client) Cancel(ctx context.Context, r *a2a.CancelRequest) (*Event, error) {
	return c.one(ctx, &request{op: opCancel, taskID: r.TaskID, tenant: r.Tenant})
}

// message returns the request for a message, with the tenant of the endpoint. In versions in which clients choose task
// ids, the message of a new task gets a new id.
func (c *Client) message(op operation, r *a2a.SendRequest) *request {
	prepared := *r
	prepared.Tenant = c.options.Endpoint.tenantOf(r.Tenant)
	if c.options.Endpoint.NamesTasks && r.Message.TaskID == "" {
		m := *r.Message
		m.TaskID = uuid.NewString()
		prepared.Message = &m
	}
	return &request{op: op, tenant: r.Tenant, send: &prepared}
}

// one sends a request, and returns the only event of the answer.
func (c *Client) one(ctx context.Context, r *request) (*Event, error) {
	var answer *Event
	err := c.do(ctx, r, func(e *Event) error {
		answer = e
		return nil
	})
	return answer, err
}

// do sends a request, and calls handle for each event of the response.
func (c *Client) do(ctx context.Context, r *request, handle func(*Event) error) error {
	in := &reader{Client: c, op: r.op, handle: handle}
	err := c.bounded(ctx, r, func(ctx context.Context, w *stream.Watchdog) error {
		return c.exchange(ctx, r, w, in.read)
	})
	if err == nil || in.own != nil && errors.Is(err, in.own) {
		return err
	}
	return c.explain(ctx, err)
}

// explain returns the error for the caller.
func (c *Client) explain(ctx context.Context, err error) error {
	if c.options.Explain == nil {
		return err
	}
	return c.options.Explain(ctx, err)
}

// bounded calls run with the watchdog of a request, nil for none. The bytes of a subscription, such as the comments that
// keep a connection open, do not show that the task of a turn makes progress, so the watchdog of a turn does not see
// them.
func (c *Client) bounded(ctx context.Context, r *request, run func(context.Context, *stream.Watchdog) error) error {
	switch {
	case c.options.Watchdog == nil && (r.sends() || r.op == opSubscribe):
		return c.options.HTTP.Turn(ctx, run)
	case r.sends():
		return run(ctx, c.options.Watchdog)
	default:
		return run(ctx, nil)
	}
}

// exchange sends a request, and passes the response to read if its status is 2xx.
func (c *Client) exchange(ctx context.Context, r *request, w *stream.Watchdog, read func(context.Context, string, *stream.Body) error) error {
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body := c.options.HTTP.NewBody(resp, w)
	body.Reserve = c.options.Reserve
	mediaType, _, err := body.MediaType()
	switch {
	case err != nil:
		return err
	case !stream.IsSuccess(resp.StatusCode):
		text, fits, err := body.ReadUpTo(maxErrorBody)
		if err != nil || !fits {
			text = nil
		}
		return c.options.Endpoint.decodeError(resp.StatusCode, text)
	}
	err = read(ctx, mediaType, body)
	if errors.Is(err, backend.ErrTurnEnded) && w != nil {
		body.DiscardRest()
	}
	return err
}

// send sends a request.
func (c *Client) send(ctx context.Context, r *request) (*http.Response, error) {
	o := &c.options
	r.tenant = o.Endpoint.tenantOf(r.tenant)
	method, u, body := o.Endpoint.encode(r)
	header := maps.Clone(o.Header)
	if header == nil {
		header = http.Header{}
	}
	header["Accept"] = []string{"application/json"}
	if r.streams() {
		header["Accept"] = []string{"text/event-stream, application/json"}
	}
	delete(header, "Content-Type")
	if body != nil {
		header["Content-Type"] = []string{"application/json"}
	}
	if o.Endpoint.Version == version.V10 || o.Endpoint.Version == version.V03 {
		header[http.CanonicalHeaderKey(version.Name)] = []string{o.Endpoint.Version.String()}
	}
	if o.Endpoint.extensionsHeader != "" && len(o.Extensions) > 0 {
		header[http.CanonicalHeaderKey(o.Endpoint.extensionsHeader)] = []string{headerValue(strings.Join(o.Extensions, ", "))}
	}
	if r.lastEventID != "" {
		header["Last-Event-Id"] = []string{headerValue(r.lastEventID)}
	}
	return o.HTTP.Do(ctx, &stream.Request{Method: method, URL: u, Header: header, Body: body})
}

// headerValue removes the characters that a header cannot hold.
func headerValue(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
}

// Page is a page of tasks.
type Page struct {
	Tasks []*Event
	// JSON is the ListTasksResponse on one line, if Options.RecordJSON is true.
	JSON          []byte
	NextPageToken string
	TotalSize     int
}

// List returns a page of tasks. If the agent does not speak 1.0, the error is an *Error with
// ReasonUnsupportedOperation and without a Status, because earlier versions do not list tasks.
func (c *Client) List(ctx context.Context, r *a2a.ListRequest) (*Page, error) {
	var answer struct {
		Tasks         []json.RawMessage `json:"tasks"`
		NextPageToken string            `json:"nextPageToken"`
		TotalSize     int               `json:"totalSize"`
	}
	text, err := c.callV10(ctx, "does not list tasks", &request{op: opList, tenant: r.Tenant, list: r}, &answer)
	if err != nil {
		return nil, err
	}
	page := &Page{NextPageToken: answer.NextPageToken, TotalSize: answer.TotalSize, JSON: text}
	in := &reader{Client: c, op: opList}
	for _, each := range answer.Tasks {
		task := &Event{}
		if err := in.decode(task, false, each); err != nil {
			return nil, c.explain(ctx, &DecodeError{Text: each, Err: err})
		}
		page.Tasks = append(page.Tasks, task)
	}
	return page, nil
}

// callV10 sends a request that only 1.0 has; lacks says what earlier versions lack. It decodes the result into out, nil for no result, and returns the JSON of
// the result on one line.
func (c *Client) callV10(ctx context.Context, lacks string, r *request, out any) (text []byte, err error) {
	if c.options.Endpoint.Version != version.V10 {
		return nil, c.explain(ctx, &Error{
			Reason: a2a.ReasonUnsupportedOperation, Named: true, Message: "A2A " + c.options.Endpoint.Version.String() + " " + lacks,
		})
	}
	err = c.exchange(ctx, r, nil, func(_ context.Context, _ string, body *stream.Body) error {
		text, err = body.ReadAll()
		if err != nil {
			return err
		}
		text, err = c.unwrapAnswer(text)
		switch {
		case out == nil && !IsRefused(err):
			return nil // the result is empty or null
		case err != nil:
			return err
		}
		if err := json.Unmarshal(text, out); err != nil {
			return &DecodeError{Text: text, Err: err}
		}
		text, err = compact(text)
		return err
	})
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	return text, nil
}
