// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/inprocess"
)

func TestParentTaskIsReferenced(t *testing.T) {
	const (
		message = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m"},"x":[{}]}}`
		linked  = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"referenceTaskIds":["t1"],"messageId":"m"},"x":[{}]}}`
		rest    = `{"configuration":{},"message":{"messageId":"m"}}`
		json    = "application/json"
	)
	tests := map[string]struct{ task, path, contentType, body, want string }{
		"a message":                       {"t1", "/", json, message, linked},
		"of 1.0":                          {"t1", "/", "application/a2a+json; charset=utf-8", message, linked},
		"of a client that chooses ids":    {"%C3%A4%2050%25", "/", json, message, strings.ReplaceAll(linked, "t1", "ä 50%")},
		"with a control":                  {"a%0D%22", "/", json, message, strings.ReplaceAll(linked, "t1", `a\r\"`)},
		"no task":                         {"", "/", json, message, message},
		"own references":                  {"t1", "/", json, `{"params":{"message":{"messageId":"m","referenceTaskIds":[]}}}`, `{"params":{"message":{"messageId":"m","referenceTaskIds":[]}}}`},
		"no message":                      {"t1", "/", json, `{"method":"tasks/get","params":{"id":"x"}}`, `{"method":"tasks/get","params":{"id":"x"}}`},
		"empty message":                   {"t1", "/", json, `{"params":{"message":{}}}`, `{"params":{"message":{}}}`},
		"message as text":                 {"t1", "/", json, `{"params":{"message":"x"}}`, `{"params":{"message":"x"}}`},
		"no JSON":                         {"t1", "/", json, `{"params":`, `{"params":`},
		"list":                            {"t1", "/", json, `[{"params":{}}]`, `[{"params":{}}]`},
		"nothing":                         {"t1", "/", json, ``, ``},
		"REST":                            {"t1", "/message:send", json, rest, `{"configuration":{},"message":{"referenceTaskIds":["t1"],"messageId":"m"}}`},
		"REST of a tenant":                {"t1", "/acme/message:stream", "application/a2a+json", rest, `{"configuration":{},"message":{"referenceTaskIds":["t1"],"messageId":"m"}}`},
		"REST of 0.2":                     {"t1", "/v1/message:send", json, `{"request":{"messageId":"m"}}`, `{"request":{"referenceTaskIds":["t1"],"messageId":"m"}}`},
		"REST of another operation":       {"t1", "/tasks/x:cancel", json, rest, rest},
		"JSON-RPC body at a path of REST": {"t1", "/message:send", json, message, message},
		"text":                            {"t1", "/", "text/plain", message, message},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, ok)
			c.do(t, "POST", "/agents/team/echo"+test.path, test.body, "Content-Type", test.contentType, "A2A-Task-Id", test.task)
			if len(c.seen) != 1 {
				t.Fatalf("%d requests to the agent, want one", len(c.seen))
			}
			if diff := gocmp.Diff(test.want, c.seen[0].Body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if c.seen[0].Header.Get("A2A-Task-Id") != "" {
				t.Error("the header of the agent's own side is forwarded")
			}
			if used := c.bodies.Used(); used != 0 {
				t.Errorf("%d bytes stay charged", used)
			}
		})
	}
}

// endless hides the length of a body.
type endless struct{ io.Reader }

// TestRequestsWithAParentTaskAreCharged holds a request in the gateway while the budget
// has room for one request only.
func TestRequestsWithAParentTaskAreCharged(t *testing.T) {
	const size = 1 << 20
	body := func() io.Reader {
		return strings.NewReader(`{"params":{"message":{"x":"` + strings.Repeat("x", size) + `"}}}`)
	}
	registryAsked, proceed := make(chan struct{}), make(chan struct{})
	held := false
	r := newFixture(t)
	r.h.options.Bodies = limit.NewBudget(4*size, 10*time.Millisecond)
	r.h.options.Transport = r
	send := func(body io.Reader, transport http.RoundTripper) (status int) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:8643/agents/team/echo/", body)
		if err != nil {
			t.Error(err)
			return 0
		}
		request.RemoteAddr = "127.0.0.1:1234"
		request.Header.Set(headerTask, "t1")
		request.Header.Set("Content-Type", "application/json")
		if transport == nil {
			w := httptest.NewRecorder()
			r.h.ServeHTTP(w, request)
			return w.Code
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Error(err)
			return 0
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		return response.StatusCode
	}
	r.intercept = func(request *http.Request) {
		if request.URL.Host == "echo.team.svc" && request.Method == http.MethodPost && !held {
			held = true
			close(registryAsked)
			<-proceed
		}
	}
	done := make(chan int)
	go func() { done <- send(body(), nil) }()
	<-registryAsked
	if used := r.h.options.Bodies.Used(); used < 2*size {
		t.Errorf("%d bytes are charged for a request of %d", used, size)
	}
	for name, from := range map[string]io.Reader{"a known length": body(), "an unknown length": endless{body()}} {
		if status := send(from, nil); status != http.StatusServiceUnavailable {
			t.Errorf("a second request, of %s: status %d", name, status)
		}
	}
	if status := send(body(), &inprocess.Transport{Handler: r.h}); status != http.StatusOK {
		t.Errorf("a request of this process, which is charged already: status %d", status)
	}
	close(proceed)
	if status := <-done; status != http.StatusOK {
		t.Errorf("the first request: status %d", status)
	}
	if used := r.h.options.Bodies.Used(); used != 0 {
		t.Errorf("%d bytes stay charged", used)
	}
	r.h.options.Bodies = limit.NewBudget(64<<20, time.Second)
	for name, from := range map[string]io.Reader{
		"a known length": strings.NewReader(strings.Repeat("x", maxBody+1)), "an unknown length": endless{strings.NewReader(strings.Repeat("x", maxBody+1))},
	} {
		if status := send(from, nil); status != http.StatusRequestEntityTooLarge {
			t.Errorf("a request of more than 10 MiB, of %s: status %d", name, status)
		}
	}
	if used := r.h.options.Bodies.Used(); used != 0 {
		t.Errorf("%d bytes stay charged", used)
	}
}

// brokenBody is a body whose read fails before the end.
type brokenBody struct{ io.Reader }

func (b brokenBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func TestIncompleteRequestIsNotForwarded(t *testing.T) {
	r := newFixture(t)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/agents/team/echo/", brokenBody{strings.NewReader(`{"params":`)})
	request.Header.Set(headerTask, "t1")
	request.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	r.h.ServeHTTP(w, request)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "incomplete") || r.h.options.Bodies.Used() != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
