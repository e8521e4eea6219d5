// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire checks the whole sidecar against the requirements on the wire protocol, with the bytes that clients of each
// version send. The number in the name of a test is the number of a line in docs/reference/conformance.md.
package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request is a request of a client.
type request struct {
	method, path, body string
	header             map[string]string
}

// answer is a response; a stream is read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// rpc returns a JSON-RPC request.
func rpc(method, params string) request {
	return request{method: http.MethodPost, path: "/", body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)}
}

// with returns the request with one more header.
func (r request) with(name, value string) request {
	header := map[string]string{name: value}
	maps.Copy(header, r.header)
	r.header = header
	return r
}

func open(t *testing.T, client *http.Client, base string, r request) *http.Response {
	t.Helper()
	out, err := http.NewRequestWithContext(t.Context(), r.method, base+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	out.Header.Set("Content-Type", "application/json")
	for name, value := range r.header {
		out.Header.Set(name, value)
	}
	response, err := client.Do(out)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func do(t *testing.T, client *http.Client, base string, r request) answer {
	t.Helper()
	response := open(t, client, base, r)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// frames returns the data of the events of a stream.
func (a answer) frames() []string {
	var out []string
	for block := range strings.SplitSeq(a.body, "\n\n") {
		for line := range strings.SplitSeq(block, "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				out = append(out, data)
			}
		}
	}
	return out
}

// code returns the code of a JSON-RPC error, 0 for a result.
func (a answer) code(t *testing.T) int {
	t.Helper()
	text := a.body
	if frames := a.frames(); len(frames) > 0 {
		text = frames[0]
	}
	var body struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return body.Error.Code
}

// find returns the member at a path of a JSON text, "" for none.
func find(t *testing.T, text string, path ...string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, name := range path {
		switch object := value.(type) {
		case map[string]any:
			value = object[name]
		case []any:
			i := 0
			_, _ = fmt.Sscan(name, &i)
			if i >= len(object) {
				return ""
			}
			value = object[i]
		default:
			return ""
		}
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// send creates a task in 1.0 and returns its id.
func send(t *testing.T, client *http.Client, r *sidecartest.Fixture, header ...string) string {
	t.Helper()
	message := rpc("SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Hi"}]},"configuration":{"returnImmediately":true}}`)
	for i := 0; i+1 < len(header); i += 2 {
		message = message.with(header[i], header[i+1])
	}
	got := do(t, client, r.URL, message)
	id := find(t, got.body, "result", "task", "id")
	if id == "" {
		t.Fatalf("send = %+v", got)
	}
	return id
}

// offers reports whether the card of 1.0 lists a binding.
func offers(t *testing.T, r *sidecartest.Fixture, binding string) bool {
	t.Helper()
	return strings.Contains(card(t, r), `"protocolBinding":"`+binding+`"`)
}

func offersPush(t *testing.T, r *sidecartest.Fixture) bool {
	t.Helper()
	return strings.Contains(card(t, r), `"pushNotifications":true`)
}

func card(t *testing.T, r *sidecartest.Fixture) string {
	t.Helper()
	return do(t, sidecartest.Client(t), r.URL, request{
		method: http.MethodGet, path: "/.well-known/agent-card.json", header: map[string]string{"A2A-Version": "1.0"},
	}).body
}
