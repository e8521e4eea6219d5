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
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/script"
)

func TestClosedLoopCountsUnits(t *testing.T) {
	var asked atomic.Int64
	units, err := closed(t.Context(), connections, 50*time.Millisecond, func(context.Context) (int, error) {
		asked.Add(1)
		time.Sleep(time.Millisecond)
		return 3, nil
	})
	if n := asked.Load(); err != nil || int64(units) != 3*n || n < connections {
		t.Errorf("closed() = %d, %v after %d operations of 3", units, err, n)
	}
	failed := errors.New("no")
	if _, err := closed(t.Context(), connections, time.Minute, func(context.Context) (int, error) { return 0, failed }); !errors.Is(err, failed) {
		t.Errorf("closed() error = %v, want the error of the operation", err)
	}
}

func TestClosedLoopCountsUnfinishedOperations(t *testing.T) {
	units, err := closed(t.Context(), connections, time.Millisecond, func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 2, ctx.Err()
	})
	if err != nil || units != 2*connections {
		t.Errorf("closed() = %d, %v, want the units of all connections", units, err)
	}
}

func TestOpenLoopCountsDelaysFromTheTicks(t *testing.T) {
	const pause = 200 * time.Millisecond
	begin := time.Now()
	took, err := steady(t.Context(), 400*time.Millisecond, 100, func(context.Context) (int, error) {
		time.Sleep(pause - time.Since(begin))
		return 1, nil
	})
	if err != nil || len(took) != 40 {
		t.Fatalf("steady() = %d answers, %v, want 40", len(took), err)
	}
	if p := percentile(took, 75); p < 90_000 {
		t.Errorf("p75 is %.0f us: half of the ticks are in the pause of the server, evenly distributed", p)
	}
}

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
