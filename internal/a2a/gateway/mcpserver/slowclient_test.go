// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// dripping is a connection of a client that reads a byte at a time, with pauses, while isSlow is true.
type dripping struct {
	net.Conn
	isSlow *atomic.Bool
}

func (d *dripping) Read(p []byte) (int, error) {
	if !d.isSlow.Load() {
		return d.Conn.Read(p)
	}
	time.Sleep(10 * time.Millisecond)
	return d.Conn.Read(p[:min(len(p), 1)])
}

// A client that reads a byte at a time loses its response after the timeout of a write, and with it the memory of its call. The calls of others
// go on meanwhile, and the client can read the output of its task afterwards.
func TestClientThatReadsAByteAtATime(t *testing.T) {
	text := strings.Repeat("0123456789", 20_000)
	task := `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"` + text + `"}]}]}`
	agent := &script{responses: map[string][]string{"SendStreamingMessage": {"[" + `{"task":` + task + `}`}, "GetTask": {response(task)}}}
	for _, version := range []string{"", "2025-06-18"} {
		f := newFixture(t, agent.ServeHTTP)
		other := f.connect(t, version)

		server := httptest.NewUnstartedServer(f.Handler)
		server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			if err := c.(*net.TCPConn).SetWriteBuffer(4 << 10); err != nil { // else the kernel takes the whole response
				t.Error(err)
			}
			return ctx
		}
		server.Start()
		t.Cleanup(server.Close)
		isSlow := &atomic.Bool{}
		transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &dripping{c, isSlow}, c.(*net.TCPConn).SetReadBuffer(4 << 10)
		}}
		t.Cleanup(transport.CloseIdleConnections)
		f.url = server.URL
		f.client = &http.Client{Transport: transport}
		slow := f.connect(t, version)

		isSlow.Store(true)
		failed := make(chan error, 1)
		go func() {
			_, err := slow.CallTool(t.Context(), &mcp.CallToolParams{Name: ToolCall, Arguments: map[string]any{"agent": "team/echo", "message": "x"}})
			failed <- err
		}()
		for range 5 {
			if r, value := callOf(t, other, ToolCall, map[string]any{"agent": "team/echo", "message": "x"}); r.IsError || value["state"] != "completed" {
				t.Errorf("%q: the call of another client: %v", version, value)
			}
		}
		for strings.Count(f.seen(), ToolCall) < 6 {
			time.Sleep(time.Millisecond)
		}
		f.awaitRelease(t)
		isSlow.Store(false)
		if err := <-failed; err == nil {
			t.Errorf("%q: the call has a result, although the server has waited for longer than its timeout", version)
		}
		uri := "a2a://team/echo/tasks/t/artifacts/a/0"
		if got := wholeOf(t, other, uri); string(got) != text {
			t.Errorf("%q: %s has %d bytes, want %d", version, uri, len(got), len(text))
		}
	}
}
