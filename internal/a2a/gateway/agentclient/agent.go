// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// The JSON-RPC methods of A2A 1.0.
const (
	methodStream    = "SendStreamingMessage"
	methodSend      = "SendMessage"
	methodSubscribe = "SubscribeToTask"
	methodGet       = "GetTask"
	methodCancel    = "CancelTask"
)

const (
	// firstTimeout bounds the time until the agent begins to respond to a request. It includes
	// the time that a message waits in the agent's queue.
	firstTimeout = time.Minute
	// idleTimeout is the longest time without a byte in a stream. Sidecars send a comment every
	// 10 s by default.
	idleTimeout = time.Minute
	// maxEvent is the maximum size of one event, and maxTask of the final task, in bytes.
	maxEvent = 5 << 20
	maxTask  = 16 << 20
	// maxStream is the maximum size of one stream, in bytes. If a stream reaches it, another
	// stream continues the task.
	maxStream = 64 << 20
	// maxMessage is the maximum length of the text of an agent's error for the caller, in bytes.
	maxMessage = 2048
	// cancelTimeout bounds the cancel request. It also bounds the wait for the id of a task that
	// is to be canceled.
	cancelTimeout = 5 * time.Second
)

// accounting is the principal that is charged for the memory of tasks. There is only one
// caller, the agent's own container.
var accounting = a2a.AccountingPrincipal{Principal: "gateway"}

// gateway is the transport of all requests.
type gateway struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper. If a response with the status 503 or 429 contains
// a JSON-RPC error, it changes the status to 500. Otherwise, the stream client would retry
// the request for firstTimeout. After a 500, follower reads the reason and retries the
// request itself.
func (g gateway) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := g.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err // the stream client classifies it
	}
	busy := response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusTooManyRequests
	if busy && strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		response.StatusCode = http.StatusInternalServerError
	}
	return response, nil
}

// agent sends JSON-RPC requests of A2A 1.0 to one agent.
type agent struct {
	stream *stream.Client
	memory *limit.Budget
	url    string
	header http.Header
	// message is the message to send, nil for none.
	message *a2a.Message
	// reservation is the reserved part of memory.
	reservation *limit.Reservation
}

// send sends the request for a method, with the parameters of this method.
func (a *agent) send(ctx context.Context, method, taskID string) (*http.Response, error) {
	u, err := url.Parse(a.url)
	if err != nil {
		return nil, fmt.Errorf("parse URL of the agent: %w", err)
	}
	body := []byte(`{"jsonrpc":"2.0","id":"1","method":"` + method + `","params":`)
	switch method {
	case methodStream, methodSend:
		// An agent that does not stream is polled, because its answer may take longer than firstTimeout.
		body = protojson.V10.AppendSend(body, &a2a.SendRequest{Message: a.message, HistoryLength: new(0), ReturnImmediately: method == methodSend})
	case methodSubscribe:
		body = protojson.V10.AppendSubscribe(body, &a2a.SubscribeRequest{TaskID: taskID, HistoryLength: new(0)})
	case methodGet:
		body = protojson.V10.AppendGet(body, &a2a.GetRequest{TaskID: taskID, HistoryLength: new(0)})
	case methodCancel:
		body = protojson.V10.AppendCancel(body, &a2a.CancelRequest{TaskID: taskID})
	}
	header := http.Header{}
	maps.Copy(header, a.header)
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream, application/json")
	header.Set("A2A-Version", "1.0")
	return a.stream.Do(ctx, &stream.Request{Method: http.MethodPost, URL: u, Header: header, Body: append(body, '}')})
}

// call sends a request, and passes the events of the response to handle. It returns nil at the
// end of the response. Its error is an error of handle, an *a2a.Error that the agent has sent,
// or a *backend.TurnError.
func (a *agent) call(ctx context.Context, method, taskID string, handle func(*a2a.Event) error) error {
	return a.stream.Turn(ctx, func(ctx context.Context, watchdog *stream.Watchdog) error {
		resp, err := a.send(ctx, method, taskID)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body := a.stream.NewBody(resp, watchdog)
		memory := &backend.Memory{Budget: a.memory, Principal: accounting}
		defer memory.Release()
		body.Reserve = func(bytes int64) error { return memory.Reserve(ctx, min(bytes, a.memory.Largest())) }
		mediaType, _, err := body.MediaType()
		if err != nil {
			return err
		}
		if mediaType == "text/event-stream" && stream.IsSuccess(resp.StatusCode) {
			return body.SSE(func(_ int, text []byte) error { return decode(text, handle) }, func() error { return nil })
		}
		text, err := body.ReadAll()
		if err != nil {
			return err
		}
		if err := decode(text, handle); err != nil || stream.IsSuccess(resp.StatusCode) {
			return err
		}
		return stream.StatusError(resp.StatusCode)
	})
}

// decode passes the event in a JSON-RPC response to handle. If the response contains an error,
// decode returns it.
func decode(text []byte, handle func(*a2a.Event) error) error {
	result, err := open(text)
	if err != nil {
		return err
	}
	e, err := protojson.V10.DecodeEvent(result)
	if err != nil {
		return errUnreadable
	}
	return handle(&e)
}

var errUnreadable error = &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: "The agent's answer is not a response of A2A 1.0"}

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
	problem := &a2a.Error{Reason: scalar.ReasonsOfCodes[answer.Error.Code], Message: safetext.Clip(answer.Error.Message, maxMessage)}
	for _, detail := range answer.Error.Data {
		if detail.Reason != "" {
			problem.Reason = a2a.Reason(detail.Reason)
		}
	}
	problem.Reason = cmp.Or(problem.Reason, a2a.ReasonInternal)
	problem.Message = cmp.Or(problem.Message, "The agent answered with error "+string(problem.Reason))
	return nil, problem
}

// reserve raises the reservation to a total of bytes, but at most to the largest
// reservation that the budget allows. It returns false if there is not enough memory.
func (a *agent) reserve(ctx context.Context, bytes int64) bool {
	return a.memory.Grow(ctx, a.reservation, accounting, min(bytes, a.memory.Largest()))
}

// read reads the task. It raises the reservation to a total of held bytes plus the memory
// of the task. If there is not enough memory, its error is a2a.Busy.
func (a *agent) read(ctx context.Context, taskID string, held int) (*a2a.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, firstTimeout+idleTimeout)
	defer cancel()
	resp, err := a.send(ctx, methodGet, taskID)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	// The text and the decoded task, which has copies of its strings, are in memory at once.
	most := int(min(maxTask, a.memory.Largest()/2))
	size := int64(most)
	if resp.ContentLength >= 0 {
		size = min(size, resp.ContentLength)
	}
	if !a.reserve(ctx, int64(held)+2*size) {
		return nil, a2a.Busy("Too many large results are being read")
	}
	text, fits, err := a.stream.NewBody(resp, nil).ReadUpTo(most)
	switch {
	case err != nil:
		return nil, err
	case !fits:
		return nil, &a2a.Error{
			Reason:  a2a.ReasonInvalidAgentResponse,
			Message: fmt.Sprintf("Task %s has more than %d bytes: read its artifacts with an A2A client, at %s", taskID, most, a.url),
		}
	}
	result, err := open(text)
	if err != nil {
		return nil, err
	}
	task, err := protojson.V10.DecodeTask(result)
	if err != nil || task.ID != taskID {
		return nil, errUnreadable
	}
	return task, nil
}

// cancel cancels the task, if its id is known. It waits for the response for at most
// cancelTimeout.
func (a *agent) cancel(ctx context.Context, taskID string) {
	if taskID == "" {
		return
	}
	ctx, stop := context.WithTimeout(ctx, cancelTimeout)
	defer stop()
	resp, err := a.send(ctx, methodCancel, taskID)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _, _ = a.stream.NewBody(resp, nil).ReadUpTo(maxMessage) // the answer changes nothing
}
