// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acts

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
)

// reply is the response to an operation.
type reply struct {
	// status is the HTTP status. It is 200 for a response of gRPC.
	status int
	header http.Header
	// body is the result in the JSON of 1.0, or the whole body of the response to a raw request.
	body any
	// problem is the error in the response; nil for none.
	problem *problem
}

// problem is an error of the protocol.
type problem struct {
	reason, message string
	details         []any
	// native is the error code of JSON-RPC, the HTTP status, or the status code of gRPC.
	native int
}

// caller calls a sidecar over one binding.
type caller interface {
	// call performs an operation.
	call(ctx context.Context, operation string, params map[string]any) (*reply, error)
	// stream performs an operation whose response is a stream. It calls handle for each event until handle returns
	// false. An event is a StreamResponse, with the members of its JSON-RPC envelope.
	stream(ctx context.Context, operation string, params map[string]any, handle func(event map[string]any) bool) (*reply, error)
}

// methods are the names of the operations in JSON-RPC and gRPC.
var methods = map[string]string{
	"send_message": "SendMessage", "send_streaming_message": "SendStreamingMessage", "subscribe_to_task": "SubscribeToTask",
	"get_task": "GetTask", "cancel_task": "CancelTask", "list_tasks": "ListTasks",
	"create_push_config": "CreateTaskPushNotificationConfig", "get_push_config": "GetTaskPushNotificationConfig",
	"list_push_configs": "ListTaskPushNotificationConfigs", "delete_push_config": "DeleteTaskPushNotificationConfig",
	"get_extended_agent_card": "GetExtendedAgentCard",
}

// endpoint is the A2A endpoint of a sidecar.
type endpoint struct {
	// client sends the runner's credential, and plain sends none. Both validate each response against the schemas.
	client, plain *http.Client
	url           string
}

// do sends a request.
func (e *endpoint) do(ctx context.Context, client *http.Client, method, path string, header map[string]string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, e.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return client.Do(r)
}

// answer reads a response with one document.
func answer(response *http.Response) (*reply, error) {
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	r := &reply{status: response.StatusCode, header: response.Header}
	if len(text) > 0 {
		err = json.Unmarshal(text, &r.body)
	}
	return r, err
}

// events reads a stream of server-sent events until its end, or until handle returns false.
func events(response *http.Response, handle func(event map[string]any) bool) (*reply, error) {
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return answer(response)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		var event map[string]any
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return nil, fmt.Errorf("event %s: %w", data, err)
		}
		if !handle(event) {
			break
		}
	}
	return &reply{status: response.StatusCode, header: response.Header}, lines.Err()
}

// card reads the public card, which has no binding.
func (e *endpoint) card(ctx context.Context) (*reply, error) {
	response, err := e.do(ctx, e.plain, http.MethodGet, "/.well-known/agent-card.json", nil, nil)
	if err != nil {
		return nil, err
	}
	return answer(response)
}

// raw sends a request as it is. Only a test of something other than authentication sends the runner's credential.
func (e *endpoint) raw(ctx context.Context, r *rawRequest, authenticated bool) (*http.Response, error) {
	body := []byte(r.BodyRaw)
	if r.Body != nil {
		var err error
		if body, err = json.Marshal(r.Body); err != nil {
			return nil, err
		}
	}
	client := e.plain
	if authenticated {
		client = e.client
	}
	return e.do(ctx, client, r.Method, r.Path, r.Headers, body)
}

// jsonRPC calls a sidecar by JSON-RPC.
type jsonRPC struct{ *endpoint }

func (c jsonRPC) send(ctx context.Context, operation string, params map[string]any) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "acts", "method": methods[operation], "params": params})
	if err != nil {
		return nil, err
	}
	return c.do(ctx, c.client, http.MethodPost, "/", map[string]string{"Content-Type": "application/json", "A2A-Version": "1.0"}, body)
}

// unwrap replaces the envelope of a response by its content.
func (jsonRPC) unwrap(r *reply) (*reply, error) {
	envelope, _ := r.body.(map[string]any)
	if failure, ok := envelope["error"].(map[string]any); ok {
		code, _ := failure["code"].(float64)
		message, _ := failure["message"].(string)
		details, _ := failure["data"].([]any)
		r.problem = &problem{reason: reason(details), message: message, details: details, native: int(code)}
		return r, nil
	}
	result, ok := envelope["result"]
	if !ok {
		return nil, fmt.Errorf("status %d, neither a result nor an error: %s", r.status, show(r.body))
	}
	r.body = result
	return r, nil
}

func (c jsonRPC) call(ctx context.Context, operation string, params map[string]any) (*reply, error) {
	response, err := c.send(ctx, operation, params)
	if err != nil {
		return nil, err
	}
	r, err := answer(response)
	if err != nil {
		return nil, err
	}
	return c.unwrap(r)
}

func (c jsonRPC) stream(ctx context.Context, operation string, params map[string]any, handle func(map[string]any) bool) (*reply, error) {
	response, err := c.send(ctx, operation, params)
	if err != nil {
		return nil, err
	}
	r, err := events(response, handle)
	if err != nil || r.body == nil {
		return r, err
	}
	return c.unwrap(r)
}

// reason returns the reason in the ErrorInfo of an error.
func reason(details []any) string {
	for _, d := range details {
		object, _ := d.(map[string]any)
		if kind, _ := object["@type"].(string); strings.HasSuffix(kind, "google.rpc.ErrorInfo") {
			text, _ := object["reason"].(string)
			return text
		}
	}
	return ""
}

// rest calls a sidecar by HTTP+JSON.
type rest struct{ *endpoint }

// send sends the request that a2a.proto binds to an operation.
func (c rest) send(ctx context.Context, operation string, params map[string]any) (*http.Response, error) {
	text := func(name string) string {
		value, _ := params[name].(string)
		return url.PathEscape(value)
	}
	query := func(names ...string) string {
		values := url.Values{}
		for _, name := range names {
			if value, ok := params[name]; ok {
				values.Set(name, fmt.Sprint(value))
			}
		}
		return "?" + values.Encode()
	}
	task, configs := "/tasks/"+text("id"), "/tasks/"+text("taskId")+"/pushNotificationConfigs"
	method := http.MethodGet
	var path string
	switch operation {
	case "send_message":
		method, path = http.MethodPost, "/message:send"
	case "send_streaming_message":
		method, path = http.MethodPost, "/message:stream"
	case "get_task":
		path = task + query("historyLength")
	case "cancel_task":
		method, path = http.MethodPost, task+":cancel"
	case "subscribe_to_task":
		path = task + ":subscribe"
	case "list_tasks":
		path = "/tasks" + query("contextId", "includeArtifacts")
	case "create_push_config":
		method, path = http.MethodPost, configs
	case "get_push_config":
		path = configs + "/" + text("id")
	case "list_push_configs":
		path = configs
	case "delete_push_config":
		method, path = http.MethodDelete, configs+"/"+text("id")
	case "get_extended_agent_card":
		path = "/extendedAgentCard"
	default:
		return nil, errors.New("unknown operation " + operation)
	}
	header := map[string]string{"A2A-Version": "1.0"}
	var body []byte
	if method == http.MethodPost {
		header["Content-Type"] = "application/a2a+json"
		fields := maps.Clone(params)
		if operation != "send_message" && operation != "send_streaming_message" {
			delete(fields, "taskId") // the path has the id of the task
			delete(fields, "id")
		}
		var err error
		if body, err = json.Marshal(fields); err != nil {
			return nil, err
		}
	}
	return c.do(ctx, c.client, method, path, header, body)
}

func (rest) unwrap(r *reply) *reply {
	if r.status < http.StatusBadRequest {
		return r
	}
	object, _ := r.body.(map[string]any)
	failure, _ := object["error"].(map[string]any)
	message, _ := failure["message"].(string)
	details, _ := failure["details"].([]any)
	r.problem = &problem{reason: reason(details), message: message, details: details, native: r.status}
	return r
}

func (c rest) call(ctx context.Context, operation string, params map[string]any) (*reply, error) {
	return c.stream(ctx, operation, params, func(map[string]any) bool { return true })
}

func (c rest) stream(ctx context.Context, operation string, params map[string]any, handle func(map[string]any) bool) (*reply, error) {
	response, err := c.send(ctx, operation, params)
	if err != nil {
		return nil, err
	}
	r, err := events(response, handle)
	if err != nil {
		return nil, err
	}
	return c.unwrap(r), nil
}
