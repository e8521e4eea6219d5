// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	newsdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/cutproxy"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

const (
	// defaultTurns is how many turns each server runs behind cut connections. INTEROP_TURNS overrides it.
	defaultTurns = 40
	// parallelTurns is the number of turns that run at once.
	parallelTurns = 16
)

// TestPythonServersBehindCuts cuts each connection between the sidecar and a server at
// a random byte. Each turn must either complete with every part of the server's journal,
// once and in order, or fail with a reason.
func TestPythonServersBehindCuts(t *testing.T) {
	turns := interopTurns(t, defaultTurns)
	for _, server := range pythonServers {
		t.Run(server.name, func(t *testing.T) {
			s := startPython(t, environment(t, server.environment), server.args...)
			proxy := cutproxy.Start(t, strings.TrimPrefix(s.url, "http://"), cutproxy.Options{Seed: 1, Rate: 1, MaxBytes: 12 << 10, Requests: 0.25})
			side := sidecartest.Start(t, nil, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
				c.Backend = sidecarconfig.Backend{
					Protocol: sidecarconfig.ProtocolA2A, URL: proxy.URL(),
					Timeouts: sidecarconfig.Timeouts{Idle: sidecarconfig.Duration(20 * time.Second), Turn: sidecarconfig.Duration(time.Minute)},
				}
				if server.backend != nil {
					server.backend(&c.Backend, s.path)
				}
			})
			client, err := goClients[0].open(t.Context(), target{client: sidecartest.Client(t), url: side.URL})
			if err != nil {
				t.Fatal(err)
			}
			official, ok := client.(*v1)
			if !ok {
				t.Fatalf("client is a %T", client)
			}
			b := &behindCuts{server: s, client: official.client, reasons: map[string]int{}}
			b.run(t, turns)
			t.Logf("%s: %d turns, %d of %d connections cut: %d completed with %d parts, %d failed, %d parts lost, %d turns ran twice",
				server.name, turns, proxy.Cuts(), proxy.Connections(), b.completed, b.parts, b.failed, b.lost, b.repeated)
			for _, reason := range slices.Sorted(maps.Keys(b.reasons)) {
				t.Logf("%d failed: %s", b.reasons[reason], reason)
			}
			if proxy.Cuts() == 0 {
				t.Error("no connection was cut")
			}
			if b.completed < turns/2 {
				t.Errorf("%d of %d turns completed, want at least half", b.completed, turns)
			}
		})
	}
}

// behindCuts counts how turns end.
type behindCuts struct {
	server *pythonServer
	client *a2aclient.Client

	mu                                       sync.Mutex
	completed, failed, parts, lost, repeated int
	reasons                                  map[string]int
}

// run runs turns, parallelTurns at a time.
func (b *behindCuts) run(t *testing.T, turns int) {
	t.Helper()
	next := make(chan int)
	var workers sync.WaitGroup
	for range parallelTurns {
		workers.Go(func() {
			for i := range next {
				b.turn(t, fmt.Sprintf("t-%d", i), 1+i%12)
			}
		})
	}
	for i := range turns {
		next <- i
	}
	close(next)
	workers.Wait()
}

// turn runs one turn and compares what the client received with the journal.
func (b *behindCuts) turn(t *testing.T, name string, parts int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	id, streamed, err := b.follow(ctx, fmt.Sprintf("turn %s %d", name, parts))
	if err != nil {
		t.Errorf("%s: stream: %v", name, err)
		return
	}
	got, err := b.client.GetTask(ctx, &newsdk.GetTaskRequest{ID: id})
	if err != nil {
		t.Errorf("%s: get: %v", name, err)
		return
	}
	var whole []string
	for i := range parts {
		whole = append(whole, fmt.Sprintf("%s/%d ", name, i))
	}
	var kept []string
	for _, a := range got.Artifacts {
		kept = append(kept, texts(a.Parts)...)
	}
	for _, m := range got.History {
		if len(got.Artifacts) == 0 && m.Role == newsdk.MessageRoleAgent {
			kept = texts(m.Parts)
		}
	}
	runs := b.server.said(name)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(runs) > 1 {
		b.repeated++
	}
	switch got.Status.State {
	case newsdk.TaskStateCompleted:
		b.completed++
		b.parts += parts
		b.lost += missing(whole, kept) + missing(whole, streamed)
		// LangGraph joins all chunks into one part.
		if want := strings.Join(whole, ""); strings.Join(kept, "") != want || strings.Join(streamed, "") != want {
			t.Errorf("%s: completed, the task has %q, its stream %q, the journal %q", name, kept, streamed, runs)
		}
	case newsdk.TaskStateFailed:
		b.failed++
		reason := ""
		if m := got.Status.Message; m != nil {
			reason = strings.Join(texts(m.Parts), "")
		}
		if reason == "" {
			t.Errorf("%s: failed without a reason", name)
		}
		b.reasons[reason]++
	default:
		t.Errorf("%s: ended as %s", name, got.Status.State)
	}
}

// follow streams a turn and returns the parts of its artifacts, or of the last status
// message if it has none: LangGraph stores no artifacts, but a message with the whole
// answer so far.
func (b *behindCuts) follow(ctx context.Context, text string) (newsdk.TaskID, []string, error) {
	var id newsdk.TaskID
	artifacts := map[newsdk.ArtifactID][]string{}
	var last []string
	for e, err := range b.client.SendStreamingMessage(ctx, (&v1{}).request(message{Text: text})) {
		if err != nil {
			return id, nil, err
		}
		id = e.TaskInfo().TaskID
		switch update := e.(type) {
		case *newsdk.TaskArtifactUpdateEvent:
			if !update.Append {
				artifacts[update.Artifact.ID] = nil
			}
			artifacts[update.Artifact.ID] = append(artifacts[update.Artifact.ID], texts(update.Artifact.Parts)...)
		case *newsdk.TaskStatusUpdateEvent:
			if update.Status.Message != nil && !update.Status.State.Terminal() {
				last = texts(update.Status.Message.Parts)
			}
		}
	}
	if len(artifacts) == 0 {
		return id, last, nil
	}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(artifacts)) {
		all = append(all, artifacts[id]...)
	}
	return id, all, nil
}

func texts(parts newsdk.ContentParts) []string {
	var all []string
	for _, p := range parts {
		all = append(all, p.Text())
	}
	return all
}

// missing counts the parts of whole that got does not contain.
func missing(whole, got []string) int {
	n := 0
	text := strings.Join(got, "")
	for _, part := range whole {
		if !strings.Contains(text, part) {
			n++
		}
	}
	return n
}
