// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/clientdialect"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/inputform"
	"github.com/a2a-operator/a2a-operator/internal/kit/sse"
)

// maxAnswer bounds a response that is no stream, in bytes.
const maxAnswer = 64 << 20

// Options configure a Client.
type Options struct {
	// HTTP sends the requests. The Client follows no redirect, and reports it as a failure: a redirect could lead the
	// credential to another origin. Required.
	HTTP       *http.Client
	Choice     Choice
	Credential Credential
	// Header is added to each request: the service parameters of A2A 1.0, section 3.2.6.
	Header http.Header
}

// Client calls one agent. It is safe for concurrent use.
type Client struct {
	card     *Card
	endpoint *endpoint
	options  Options
}

// New returns a client for the interface of the card that options.Choice selects. It does not call the agent.
func New(c *Card, options Options) (*Client, error) {
	e, err := c.choose(options.Choice)
	if err != nil {
		return nil, err
	}
	if !options.Credential.IsZero() && c.URL != nil && c.URL.Scheme == "https" && e.url.Scheme != "https" {
		return nil, failure.New(failure.CardInvalid, "the credential was not sent: the card was read over https, and its interface %s has no TLS", e.url).
			WithHint("http would show the credential to the network: ask the owner of the agent for an https interface, or select another one with --transport")
	}
	if options.Credential.APIKey != "" && apiKeyScheme(c) == nil {
		return nil, failure.New(failure.Usage, "--api-key has no effect: the card declares no API key").WithHint("%s", schemesHint(c))
	}
	return &Client{card: c, endpoint: e, options: options}, nil
}

// Event is an event of a stream, or the answer to a request.
type Event struct {
	a2a.Event
	// JSON is the event as JSON of 1.0 on one line: a Task if the answer is a Task, and otherwise a StreamResponse. If the
	// agent speaks 1.0, it is the JSON that the agent sent, without white space.
	JSON []byte
	// ID is the last event id that the stream sent, "" for none. A client resumes the stream after this event.
	ID string
	// isTask is true if JSON is a Task, false if it is a StreamResponse.
	isTask bool
}

// Send sends a message and returns the answer, a Task or a Message.
func (c *Client) Send(ctx context.Context, r *a2a.SendRequest) (*Event, error) {
	text, err := c.call(ctx, clientdialect.Send, &params{send: c.prepare(r)})
	if err != nil {
		return nil, err
	}
	return c.event(text, c.endpoint.DecodeResponse)
}

// Stream sends a message, and calls handle for every event of the answer. If the agent does not answer with a stream,
// Stream calls handle once, with the whole answer. It returns nil at the end of the stream.
func (c *Client) Stream(ctx context.Context, r *a2a.SendRequest, handle func(*Event) error) error {
	return c.stream(ctx, clientdialect.Stream, &params{send: c.prepare(r)}, "", handle)
}

// Subscribe calls handle for the events of a task. It begins after the event with lastID if the agent still
// has the later events, and otherwise with a snapshot. It returns nil at the end of the stream.
func (c *Client) Subscribe(ctx context.Context, taskID, lastID string, handle func(*Event) error) error {
	return c.stream(ctx, clientdialect.Subscribe, &params{taskID: taskID}, lastID, handle)
}

// Task returns a task with at most history messages of its history, or with all of them if history is nil.
func (c *Client) Task(ctx context.Context, id string, history *int) (*Event, error) {
	return c.callTask(ctx, clientdialect.Get, &params{taskID: id, history: history})
}

// Cancel cancels a task and returns it.
func (c *Client) Cancel(ctx context.Context, id string) (*Event, error) {
	return c.callTask(ctx, clientdialect.Cancel, &params{taskID: id})
}

// callTask sends a request whose result is a task.
func (c *Client) callTask(ctx context.Context, op clientdialect.Operation, p *params) (*Event, error) {
	text, err := c.call(ctx, op, p)
	if err != nil {
		return nil, err
	}
	return c.task(text)
}

// Page is a page of tasks.
type Page struct {
	Tasks []*Event
	// JSON is the ListTasksResponse, on one line.
	JSON          []byte
	NextPageToken string
	TotalSize     int
}

// Tasks returns a page of tasks. It returns an error if the agent does not speak 1.0, because earlier versions do not
// list tasks.
func (c *Client) Tasks(ctx context.Context, r *a2a.ListRequest) (*Page, error) {
	if c.endpoint.Version != version.V10 {
		return nil, failure.New(failure.OfReason(a2a.ReasonUnsupportedOperation), "A2A %s does not list tasks", c.endpoint.Version).
			WithHint("name a task: kubectl a2a task get")
	}
	text, err := c.call(ctx, clientdialect.List, &params{list: r})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Tasks         []json.RawMessage `json:"tasks"`
		NextPageToken string            `json:"nextPageToken"`
		TotalSize     int               `json:"totalSize"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, unreadable(err)
	}
	page := &Page{NextPageToken: answer.NextPageToken, TotalSize: answer.TotalSize}
	for _, each := range answer.Tasks {
		task, err := c.task(each)
		if err != nil {
			return nil, err
		}
		page.Tasks = append(page.Tasks, task)
	}
	if page.JSON, err = compact(text); err != nil {
		return nil, err
	}
	return page, nil
}

// IsUnsupported reports whether an error says that the agent does not have an operation. In this case, the agent has
// not begun to process the request.
func IsUnsupported(err error) bool {
	problem, ok := errors.AsType[*protocolError](err)
	return ok && (problem.reason == a2a.ReasonMethodNotFound || problem.reason == a2a.ReasonUnsupportedOperation)
}

// IsReported reports whether the agent reported an error. It returns false for an error of the connection.
func IsReported(err error) bool {
	_, ok := errors.AsType[*protocolError](err)
	return ok
}

// prepare returns a copy of the request with the tenant of the endpoint. In versions in which clients choose task ids, the
// copy also has a new task id.
func (c *Client) prepare(r *a2a.SendRequest) *a2a.SendRequest {
	prepared := *r
	prepared.Tenant = c.endpoint.tenant
	if c.endpoint.NamesTasks && r.Message.TaskID == "" {
		m := *r.Message
		m.TaskID = uuid.NewString()
		prepared.Message = &m
	}
	return &prepared
}

// stream sends a request. It calls handle for every event of the stream. If the answer is no stream, it calls handle
// once, with the answer.
func (c *Client) stream(ctx context.Context, op clientdialect.Operation, p *params, lastID string, handle func(*Event) error) error {
	header := http.Header{"Accept": {"text/event-stream, application/json"}}
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	resp, err := c.do(ctx, op, p, header)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); mediaType != "text/event-stream" || resp.StatusCode != http.StatusOK {
		text, err := c.unwrap(ctx, resp)
		if err != nil {
			return err
		}
		e, err := c.event(text, c.endpoint.DecodeResponse)
		if err != nil {
			return err
		}
		return handle(e)
	}
	var own error // the error that handle or the decoding of an event returned
	err = sse.Read(resp.Body, func(sent sse.Event) error {
		own = c.deliver(sent, handle)
		return own
	})
	if err != nil && own == nil {
		return c.explain(ctx, err)
	}
	return own
}

// deliver decodes an event and passes it to handle.
func (c *Client) deliver(sent sse.Event, handle func(*Event) error) error {
	text, err := c.result(http.StatusOK, sent.Data)
	if err != nil {
		return err
	}
	e, err := c.event(text, c.endpoint.DecodeEvent)
	if err != nil {
		return err
	}
	e.ID = sent.ID
	return handle(e)
}

// call sends a request and returns its result.
func (c *Client) call(ctx context.Context, op clientdialect.Operation, p *params) ([]byte, error) {
	resp, err := c.do(ctx, op, p, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	return c.unwrap(ctx, resp)
}

// do sends a request.
func (c *Client) do(ctx context.Context, op clientdialect.Operation, p *params, header http.Header) (*http.Response, error) {
	method, u, body := c.endpoint.encode(op, p)
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, failure.Wrap(failure.Internal, err, "make request")
	}
	maps.Copy(r.Header, c.options.Header)
	maps.Copy(r.Header, header)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set(version.Name, c.endpoint.Version.String())
	if slices.ContainsFunc(c.card.Capabilities.Extensions, func(e card.Extension) bool { return e.URI == inputform.Extension }) {
		r.Header.Add(c.endpoint.extensionsHeader(), inputform.Extension)
	}
	c.options.Credential.authenticate(r, c.card)
	direct := *c.options.HTTP
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := direct.Do(r)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	return resp, nil
}

// explain returns the failure for the error of a connection.
func (c *Client) explain(ctx context.Context, err error) error {
	return ExplainConnection(ctx, err, c.endpoint.url)
}

// unwrap reads an answer and returns its result.
func (c *Client) unwrap(ctx context.Context, resp *http.Response) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.explain(ctx, err)
	case len(text) > maxAnswer:
		return nil, failure.New(failure.OfReason(a2a.ReasonInvalidAgentResponse), "the answer of the agent has more than %d bytes", maxAnswer)
	case resp.StatusCode >= http.StatusMultipleChoices && resp.StatusCode < http.StatusBadRequest:
		return nil, failure.New(failure.Unreachable, "%s redirects to %q, to which the CLI sends no request", c.endpoint.url, resp.Header.Get("Location")).
			WithHint("name the URL of the agent behind the redirect with --url")
	}
	return c.result(resp.StatusCode, text)
}

// result returns the result in a response or in an event of a stream: the member result in JSON-RPC, the whole text in
// HTTP+JSON. If the text contains an error, it returns the failure.
func (c *Client) result(status int, text []byte) ([]byte, error) {
	if problem := decodeError(status, text); problem != nil {
		return nil, c.refusal(status, problem)
	}
	if c.endpoint.Binding == card.HTTPJSON {
		return text, nil
	}
	var envelope struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(text, &envelope); err != nil {
		return nil, unreadable(err)
	}
	if len(envelope.Result) == 0 {
		return nil, unreadable(errors.New("no result"))
	}
	return envelope.Result, nil
}

// refusal returns the failure for an error of the agent.
func (c *Client) refusal(status int, problem *protocolError) error {
	out := problem.failure()
	switch {
	case problem.reason == a2a.ReasonUnauthenticated && c.options.Credential.IsZero():
		out.Code = failure.CredentialsMissing
		out.Hint = schemesHint(c.card)
	case problem.reason == a2a.ReasonUnauthenticated:
		out.Hint = "the agent does not accept the credential; " + schemesHint(c.card)
	case problem.reason == a2a.ReasonPermissionDenied:
		out.Hint = "the agent accepts the credential, but no rule admits the caller; see spec.access.authorization of the Agent"
	}
	if out.A2ACode == 0 {
		out.A2ACode = status
	}
	return out
}

// event decodes a result, and sets Event.JSON.
func (c *Client) event(text []byte, decode func([]byte) (a2a.Event, error)) (*Event, error) {
	decoded, err := decode(text)
	if err != nil {
		return nil, unreadable(err)
	}
	e := &Event{Event: decoded}
	e.JSON, err = c.v10(text, func() []byte { return protojson.V10.AppendEvent(nil, &decoded) })
	return e, err
}

// task decodes a Task, and sets Event.JSON.
func (c *Client) task(text []byte) (*Event, error) {
	t, err := c.endpoint.DecodeTask(text)
	if err != nil {
		return nil, unreadable(err)
	}
	e := &Event{Event: a2a.Event{Task: t}, isTask: true}
	e.JSON, err = c.v10(text, func() []byte { return protojson.V10.AppendTask(nil, t) })
	return e, err
}

// v10 returns a result as JSON of 1.0: the text of an agent that speaks 1.0, and the result of encode for any other agent.
func (c *Client) v10(text []byte, encode func() []byte) ([]byte, error) {
	if c.endpoint.Version != version.V10 {
		return encode(), nil
	}
	return compact(text)
}

// StreamResponse returns the event as a StreamResponse of 1.0 on one line. If the event is the answer to a message, the
// text is also a valid SendMessageResponse.
func (e *Event) StreamResponse() []byte {
	if !e.isTask {
		return e.JSON
	}
	return slices.Concat([]byte(`{"task":`), e.JSON, []byte("}"))
}

// TaskJSON returns the Task in an event as JSON of 1.0. If the event contains no Task, it returns JSON.
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

func compact(text []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return nil, unreadable(err)
	}
	return out.Bytes(), nil
}

func unreadable(err error) error {
	return failure.Wrap(failure.OfReason(a2a.ReasonInvalidAgentResponse), err, "the response of the agent is not a valid A2A response")
}
