// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
)

// The JSON-RPC methods of A2A 1.0.
const (
	methodStream    = "SendStreamingMessage"
	methodSend      = "SendMessage"
	methodSubscribe = "SubscribeToTask"
	methodGet       = "GetTask"
	methodCancel    = "CancelTask"
)

// maxMessage is the maximum length of the text of an agent's error for the caller, in bytes.
const maxMessage = 2048

// accounting is the principal that is charged for the memory of tasks. There is only one
// caller, the agent's own container.
var accounting = a2a.AccountingPrincipal{Principal: "gateway"}

// gateway is the transport of all requests.
type gateway struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper. It changes the status of a refusal that is a
// JSON-RPC error from 503 or 429 to 500. Otherwise the stream client would retry the request
// for firstTimeout. With 500, follower reads the reason and retries the request itself.
func (g gateway) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := g.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err //nolint:wrapcheck // the stream client classifies it
	}
	busy := response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusTooManyRequests
	if busy && strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		response.StatusCode = http.StatusInternalServerError
	}
	return response, nil
}

// request returns the request for a method, with the parameters of this method.
func (f *follower) request(method string) (*stream.Request, error) {
	u, err := url.Parse(f.URL)
	if err != nil {
		return nil, fmt.Errorf("parse URL of the agent: %w", err)
	}
	body := []byte(`{"jsonrpc":"2.0","id":"1","method":"` + method + `","params":`)
	switch method {
	case methodStream, methodSend:
		body = protojson.V10.AppendSend(body, &a2a.SendRequest{Message: f.Message, HistoryLength: new(0)})
	case methodSubscribe:
		body = protojson.V10.AppendSubscribe(body, &a2a.SubscribeRequest{TaskID: f.taskID, HistoryLength: new(0)})
	case methodGet:
		body = protojson.V10.AppendGet(body, &a2a.GetRequest{TaskID: f.taskID, HistoryLength: new(0)})
	case methodCancel:
		body = protojson.V10.AppendCancel(body, &a2a.CancelRequest{TaskID: f.taskID})
	}
	header := http.Header{}
	maps.Copy(header, f.Header)
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream, application/json")
	header.Set("A2A-Version", "1.0")
	return &stream.Request{Method: http.MethodPost, URL: u, Header: header, Body: append(body, '}')}, nil
}

// call sends a request and processes the events of the response. It returns nil at the end of
// the response, an *a2a.Error that the agent has sent, or a *backend.TurnError.
func (f *follower) call(ctx context.Context, method string) error {
	r, err := f.request(method)
	if err != nil {
		return err
	}
	client := f.client.stream
	return client.Turn(ctx, func(ctx context.Context, watchdog *stream.Watchdog) error { //nolint:wrapcheck // it is a *backend.TurnError with its reason
		resp, err := client.Do(ctx, r)
		if err != nil {
			return err //nolint:wrapcheck // it is a *backend.TurnError with its reason
		}
		defer resp.Body.Close()
		body := client.NewBody(resp, watchdog)
		mediaType, _, err := body.MediaType()
		if err != nil {
			return err //nolint:wrapcheck // it is a *backend.TurnError with its reason
		}
		if mediaType == "text/event-stream" && stream.IsSuccess(resp.StatusCode) {
			return body.SSE(func(_ int, text []byte) error { return f.line(ctx, text) }, func() error { return nil }) //nolint:wrapcheck // it is a *backend.TurnError with its reason
		}
		text, err := body.ReadAll()
		if err != nil {
			return err //nolint:wrapcheck // it is a *backend.TurnError with its reason
		}
		if err := f.line(ctx, text); err != nil || stream.IsSuccess(resp.StatusCode) {
			return err
		}
		return stream.StatusError(resp.StatusCode)
	})
}

// errSettled ends a stream after the event with which the task has ended or waits for its
// client.
var errSettled = errors.New("task has ended or waits")

// line processes one JSON-RPC response, which contains an event or an error.
func (f *follower) line(ctx context.Context, text []byte) error {
	result, err := open(text)
	if err != nil {
		return err
	}
	e, err := protojson.V10.DecodeEvent(result)
	if err != nil {
		return errUnreadable
	}
	if err := f.event(ctx, &e); err != nil {
		return err
	}
	if f.settled() {
		return errSettled
	}
	return nil
}

var errUnreadable error = &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: "The agent's answer is no response of A2A 1.0"}

// open returns the result of a JSON-RPC response. Its errors are *a2a.Error.
func open(text []byte) (result json.RawMessage, err error) {
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
			Data    []struct {
				Reason string `json:"reason"`
			} `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal(text, &answer); err != nil && answer.Error == nil {
		return nil, errUnreadable
	}
	if answer.Error == nil {
		if len(answer.Result) == 0 {
			return nil, errUnreadable
		}
		return answer.Result, nil
	}
	problem := &a2a.Error{Reason: reasons[answer.Error.Code], Message: clipped(answer.Error.Message)}
	for _, detail := range answer.Error.Data {
		if detail.Reason != "" {
			problem.Reason = a2a.Reason(detail.Reason)
		}
	}
	if problem.Reason == "" {
		problem.Reason = a2a.ReasonInternal
	}
	if problem.Message == "" {
		problem.Message = "The agent answered with error " + string(problem.Reason)
	}
	return nil, problem
}

// reasons are the reasons for the codes of JSON-RPC errors that contain no ErrorInfo.
var reasons = map[int]a2a.Reason{
	-32001: a2a.ReasonTaskNotFound,
	-32002: a2a.ReasonTaskNotCancelable,
	-32004: a2a.ReasonUnsupportedOperation,
	-32005: a2a.ReasonContentTypeNotSupported,
	-32601: a2a.ReasonMethodNotFound,
	-32602: a2a.ReasonInvalidParams,
}

func clipped(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}

// read reads the task. It reserves the memory of the task in f.Reservation, which the caller
// releases.
func (f *follower) read(ctx context.Context) (*a2a.Task, error) {
	r, err := f.request(methodGet)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, firstTimeout+idleTimeout)
	defer cancel()
	resp, err := f.client.stream.Do(ctx, r)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is a *backend.TurnError with its reason
	}
	defer resp.Body.Close()
	// The text, its strings and the task are in memory at once.
	size := int64(maxTask)
	if resp.ContentLength >= 0 {
		size = min(size, resp.ContentLength)
	}
	memory := f.client.options.Memory
	if !memory.Grow(ctx, f.Reservation, accounting, min(int64(f.seen.charged)+2*size, memory.Largest())) {
		return nil, a2a.Busy("Too many large results are being read")
	}
	text, fits, err := f.client.stream.NewBody(resp, nil).ReadUpTo(maxTask)
	switch {
	case err != nil:
		return nil, err //nolint:wrapcheck // it is a *backend.TurnError with its reason
	case !fits:
		return nil, &a2a.Error{
			Reason:  a2a.ReasonInvalidAgentResponse,
			Message: fmt.Sprintf("Task %s has more than %d bytes: read its artifacts with an A2A client, at %s", f.taskID, maxTask, f.URL),
		}
	}
	result, err := open(text)
	if err != nil {
		return nil, err
	}
	task, err := protojson.V10.DecodeTask(result)
	if err != nil || task.ID != f.taskID {
		return nil, errUnreadable
	}
	return task, nil
}

// cancel cancels the task, if its id is known. It waits for the response for at most
// cancelTimeout.
func (f *follower) cancel(ctx context.Context) {
	if f.taskID == "" {
		return
	}
	r, err := f.request(methodCancel)
	if err != nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, cancelTimeout)
	defer stop()
	resp, err := f.client.stream.Do(ctx, r)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _, _ = f.client.stream.NewBody(resp, nil).ReadUpTo(maxMessage) // the answer changes nothing
}
