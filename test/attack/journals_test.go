// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// resultBytes is the size of a result of the tool large, and largeCalls the number of its calls in a turn. Their journal has 1 MiB.
const (
	resultBytes = 170 << 10
	largeCalls  = 6
)

// asksForApproval is a model server: at a message of the attacker, it asks for calls with large results, and then for a call that a person
// must approve.
func asksForApproval(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	calls := func(n int, name string) {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"index":%d,"id":"c%d","type":"function","function":{"name":%q,"arguments":"{}"}}`, i, i, name))
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"tool_calls":[`+strings.Join(all, ",")+`]},"finish_reason":"tool_calls"}]}`)
	}
	switch {
	case !strings.Contains(string(text), "attack"):
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}`)
	case !strings.Contains(string(text), `"role":"tool"`):
		calls(largeCalls, "large")
	default:
		calls(1, "change")
	}
}

// startApprovals starts a sidecar with tasks in Redis, and an agent without code whose turns have large journals and end with a request
// for approval.
func startApprovals(t *testing.T, redis *redistest.Server) *sidecar {
	t.Helper()
	// The texts of the results are ready: the server shares the processors with the sidecar and with the well-behaved client.
	content := `{"type":"text","text":"` + large[:resultBytes] + `"}`
	tools := toolServer(t, []string{"large", "change"}, func(w http.ResponseWriter, _ *http.Request, method, id string) bool {
		if method == "tools/call" {
			result(w, id, content)
		}
		return method == "tools/call"
	})
	return startSidecar(t, asksForApproval, func(c *sidecarconfig.Config) {
		c.Backend.Protocol = sidecarconfig.ProtocolChatCompletions
		c.Backend.Model.Name = "m"
		c.Backend.Model.MCP = []sidecarconfig.MCPServer{{URL: tools, Allow: []string{}, Deny: []string{}, Approval: []string{"change"}}}
	}, "--store", "redis://"+redis.Address(), "--store-name", "team/echo")
}

// continued is a message to a task that waits for an approval. It decides nothing, so the task waits with the same request.
const continued = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"configuration":{"blocking":true},"message":{"kind":"message","messageId":%q,"taskId":%q,"role":"user","parts":[{"kind":"text","text":"more"}]}}}`

// TestJournalsOfPausedTasks sends messages to many tasks whose steps are in Redis, and need more memory than the sidecar has.
func TestJournalsOfPausedTasks(t *testing.T) {
	besideOthers(t)
	s := startApprovals(t, redistest.Start(t))
	subject := s.subject(t, "sidecar, Redis")
	number := 48
	type paused struct{ id, bearer string }
	tasks := make([]paused, number)
	by := clientsFrom(1)[0]
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := worker; i < number; i += 4 {
				bearer := "Bearer " + s.token(t, fmt.Sprintf("asker-%d", i))
				status, answer := s.postBy(t.Context(), by, fmt.Sprintf(message, rand.Text(), "attack"), "Authorization", bearer)
				var sent struct {
					Result struct {
						ID     string
						Status struct{ State string }
					}
				}
				if err := json.Unmarshal([]byte(answer), &sent); err != nil || sent.Result.Status.State != "input-required" {
					t.Errorf("%d %.600s: %v", status, answer, err)
				}
				tasks[i] = paused{sent.Result.ID, bearer}
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	subject.usual += 28 << 20 // the cache of tasks stays
	next := make(chan int)
	go func() {
		for i := 0; t.Context().Err() == nil; i++ {
			select {
			case next <- i % number:
			case <-t.Context().Done():
			}
		}
	}()
	subject.withstands(t, fmt.Sprintf("%d messages at a time to tasks with a journal of 1 MiB", number), 2*lasts, func(ctx context.Context) string {
		return crowd(ctx, number, 400, func(ctx context.Context) string {
			task := tasks[<-next]
			return status(s.postBy(ctx, by, fmt.Sprintf(continued, rand.Text(), task.id), "Authorization", task.bearer))
		})
	})
}

// TestHangingRedis lets Redis hang while an agent without code writes the steps of many turns there. Cards and probes are served
// meanwhile, and messages when Redis answers again.
func TestHangingRedis(t *testing.T) {
	besideOthers(t)
	redis := redistest.Start(t)
	s := startApprovals(t, redis)
	subject := s.subject(t, "sidecar, Redis")
	whole := subject.client.asks
	subject.client.asks = []ask{s.agent.good[0], {method: http.MethodGet, url: s.health.url("/livez"), status: http.StatusOK}}
	// The cache of tasks stays, and the turns go on without their clients, in their shares of the memory (docs/reference/limits.md).
	subject.usual += 28<<20 + 23<<20
	by := clientsFrom(1)[0]
	subject.withstands(t, "64 turns with large steps at a time while Redis hangs", 4*lasts, func(ctx context.Context) string {
		var group sync.WaitGroup
		group.Go(func() {
			for ctx.Err() == nil {
				pass(ctx, lasts/5)
				redis.Hang()
				pass(ctx, lasts)
				redis.Continue()
			}
		})
		seen := crowd(ctx, 64, 200, func(ctx context.Context) string {
			return status(s.postBy(ctx, by, fmt.Sprintf(message, rand.Text(), "attack"), "Authorization", "Bearer "+s.token(t, "attacker-"+rand.Text()[:2])))
		})
		group.Wait()
		s.awaitTurns(t)
		return seen
	})
	subject.client.asks = whole
	subject.awaitReady(t)
}

// awaitTurns waits for the end of the turns, which go on without their clients, for at most the time in which a step is repeated.
func (s *sidecar) awaitTurns(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	took := await(ctx, func() bool {
		response, err := http.Get(s.health.url(sidecarconfig.MetricsPath))
		if err != nil {
			return s.Failure() != ""
		}
		defer func() { _ = response.Body.Close() }()
		text, _ := io.ReadAll(response.Body)
		return strings.Contains(string(text), "\na2a_turns_in_flight 0\n")
	})
	t.Logf("waited %v for turns whose clients have gone", took.Round(time.Millisecond))
}

// pass waits for some time, or until ctx ends.
func pass(ctx context.Context, some time.Duration) {
	select {
	case <-time.After(some):
	case <-ctx.Done():
	}
}
