// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/script"
)

func stub(t *testing.T, contentType, body string) *client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}))
	c := newClient(server.URL, "")
	t.Cleanup(func() { c.close(); server.Close() })
	return c
}

func TestStreamCountsChunks(t *testing.T) {
	chunk := "id: 3\ndata: {\"result\":{\"artifactUpdate\":{\"taskId\":\"t\",\"text\":\"" + strings.Repeat("x", 20<<10) + "\"}}}\n\n"
	c := stub(t, "text/event-stream", "data: {\"result\":{\"task\":{\"id\":\"t\"}}}\n\n: ping\n\n"+strings.Repeat(chunk, 3)+"data: {\"result\":{\"statusUpdate\":{}}}\n\n")
	var events int
	var task string
	chunks, err := c.stream(t.Context(), c.request("SendStreamingMessage", script.Script{}), func(event []byte) {
		if events++; events == 1 {
			task = taskOf(event)
		}
	})
	if err != nil || chunks != 3 || events != 5 || task != "t" {
		t.Errorf("stream() = %d chunks of %d events, task %q, %v, want 3 of 5 of t", chunks, events, task, err)
	}
}

func TestSnapshotChunksAreCounted(t *testing.T) {
	for event, want := range map[string]int{
		`{"result":{"task":{"id":"t","artifacts":[{"parts":[{"text":"xxxx"},{"text":"xxxx"}]}]}}}`: 2,
		`{"result":{"task":{"id":"t","artifacts":[{"parts":[{"text":"xxxxxxxx"}]}]}}}`:             2,
		`{"result":{"task":{"id":"t","history":[{"parts":[{"text":"xxxx"}]}]}}}`:                   0,
		`{"result":{"artifactUpdate":{"artifact":{"parts":[{"text":"xxxx"}]}}}}`:                   0,
	} {
		if got := inSnapshot([]byte(event), 4); got != want {
			t.Errorf("inSnapshot(%s) = %d, want %d", event, got, want)
		}
	}
}

func TestWrongAnswersAreErrors(t *testing.T) {
	c := stub(t, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603}}`)
	if err := c.send(t.Context(), message, []byte(said)); err == nil {
		t.Error("send() returns no error for an error response")
	}
	if _, err := c.stream(t.Context(), nil, nil); err == nil {
		t.Error("stream() returns no error for an error response")
	}
}

func TestServersAnswerEveryRequest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts every server")
	}
	servers, err := build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []kind{ours, oursTokens, oursAlways, oursSecond, proxy, sdk, sdkAlone, direct} {
		t.Run(string(k), func(t *testing.T) {
			if err := servers.with(t.Context(), "test", k, exercise(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run(string(fanout), func(t *testing.T) {
		play := script.Script{Chunks: 3, Size: 100, Every: time.Millisecond, Gated: true}
		b := &bench{plan: short, servers: servers}
		err := servers.with(t.Context(), "test", fanout, func(r *running) error {
			_, err := b.deliveries(t.Context(), r, play, 2, func() []byte { return nil })
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	servers.key = nil
	if err := servers.with(t.Context(), "test", oursTokens, exercise(t.Context())); err == nil {
		t.Error("a sidecar started without its signing key")
	}
}

// exercise returns a function that makes every kind of request.
func exercise(ctx context.Context) func(*running) error {
	return func(r *running) error {
		if err := r.send(ctx, message, []byte(said)); err != nil {
			return fmt.Errorf("a message: %w", err)
		}
		if err := r.send(ctx, script.Script{Chunks: 2, Size: 20}, []byte("TASK_STATE_COMPLETED")); err != nil {
			return fmt.Errorf("a task: %w", err)
		}
		if _, err := streams(30)(r)(ctx); err != nil {
			return fmt.Errorf("a stream: %w", err)
		}
		used, err := costs(r.server, func() error {
			return r.readPaced(ctx, script.Script{Chunks: 3, Size: 100, Every: time.Millisecond}, new(time.Duration))
		})
		if err == nil && used <= 0 {
			err = errors.New("the CPU time is zero")
		}
		return err
	}
}
