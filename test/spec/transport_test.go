// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// witness records whether a test failed.
type witness struct {
	testing.TB
	failed bool
}

func (*witness) Helper()                 {}
func (w *witness) Errorf(string, ...any) { w.failed = true }

type canned struct {
	status int
	kind   string
	body   string
}

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(strings.NewReader(c.body)),
	}, nil
}

// TestWire01_ValidatorCatches gives the transport of the suite's clients responses with one error each. The
// first response of each group is valid.
func TestWire01_ValidatorCatches(t *testing.T) {
	const (
		post = http.MethodPost
		get  = http.MethodGet
	)
	task10 := `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`
	task03 := `{"kind":"task","id":"t","contextId":"c","status":{"state":"working"}}`
	rpc := func(result string) string { return `{"jsonrpc":"2.0","id":1,"result":` + result + `}` }
	tests := map[string]struct {
		method, path, asks string
		status             int
		kind, answer       string
		valid              bool
	}{
		"1.0": {post, "/", `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, 200, "application/json", rpc(task10), true},
		"1.0 with a member of 0.3": {
			post, "/", `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, 200, "application/json",
			rpc(`{"kind":"task",` + task10[1:]), false,
		},
		"1.0 with a state of 0.3": {post, "/", `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, 200, "application/json", rpc(`{"id":"t","status":{"state":"working"}}`), false},
		"1.0 without a oneof":     {post, "/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage"}`, 200, "application/json", rpc(task10), false},
		"another id":              {post, "/", `{"jsonrpc":"2.0","id":"1","method":"GetTask"}`, 200, "application/json", rpc(task10), false},
		"result and error":        {post, "/", `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, 200, "application/json", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}`, false},
		"1.0 with data of 0.3":    {post, "/", `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, 200, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"x","data":{}}}`, false},
		"0.3":                     {post, "/", `{"jsonrpc":"2.0","id":1,"method":"message/send"}`, 200, "application/json", rpc(task03), true},
		"0.3 without a context":   {post, "/", `{"jsonrpc":"2.0","id":1,"method":"message/send"}`, 200, "application/json", rpc(`{"kind":"task","id":"t","status":{"state":"working"}}`), false},
		"0.3 stream":              {post, "/", `{"jsonrpc":"2.0","id":1,"method":"message/stream"}`, 200, "text/event-stream", "id: 1\ndata: " + rpc(task03) + "\n\n", true},
		"0.3 stream, wrong end":   {post, "/", `{"jsonrpc":"2.0","id":1,"method":"message/stream"}`, 200, "text/event-stream", "data: " + rpc(task03) + "\n\ndata: " + rpc(`{"kind":"status-update"}`) + "\n\n", false},
		"0.1":                     {post, "/", `{"jsonrpc":"2.0","id":1,"method":"tasks/send"}`, 200, "application/json", rpc(`{"id":"t","status":{"state":"working"}}`), true},
		"0.1 with a state of 0.3": {post, "/", `{"jsonrpc":"2.0","id":1,"method":"tasks/send"}`, 200, "application/json", rpc(`{"id":"t","status":{"state":"rejected"}}`), false},
		"REST of 0.3":             {post, "/v1/message:send", "{}", 200, "application/json", `{"task":` + task10 + `}`, true},
		"REST of 0.3, unknown":    {post, "/v1/message:send", "{}", 200, "application/json", `{"task":` + task10 + `,"x":1}`, false},
		"REST of 1.0":             {get, "/tasks/t", "", 200, "application/json", task10, true},
		"REST of 1.0, unknown":    {get, "/tasks/t", "", 200, "application/json", `{"x":1,` + task10[1:], false},
		"REST error":              {get, "/tasks/t", "", 404, "application/json", `{"error":{"code":404,"status":"NOT_FOUND","message":"x","details":[{"@type":"type.googleapis.com/x"}]}}`, true},
		"REST error, other code":  {get, "/tasks/t", "", 404, "application/json", `{"error":{"code":400,"status":"NOT_FOUND","message":"x"}}`, false},
		"card of 1.0":             {get, "/.well-known/agent-card.json", "", 200, "application/json", `{"name":"x","url":"https://example.com"}`, false},
		"not JSON":                {get, "/tasks/t", "", 200, "application/json", `{`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := &witness{TB: t}
			client := &http.Client{Transport: NewTransport(w, canned{test.status, test.kind, test.answer})}
			r, err := http.NewRequestWithContext(t.Context(), test.method, "http://agent"+test.path, strings.NewReader(test.asks))
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if test.kind == "text/event-stream" {
				_, _ = io.Copy(io.Discard, response.Body)
			}
			response.Body.Close() // the transport also validates what the client does not read
			if w.failed == test.valid {
				t.Errorf("%s: failed = %v", test.answer, w.failed)
			}
		})
	}
}
