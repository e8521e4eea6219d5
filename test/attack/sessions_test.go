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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// storesState is a container with an SDK of kagent. At a message of the attacker, it stores and reads state until the attack is over, in
// the ways of a container that a caller has talked into it: large checkpoints, many small ones, events, writes and tasks.
type storesState struct {
	t       *testing.T
	gateway atomic.Pointer[listener]
	// attackers ends with the attack. The turns do not end with it, because a turn goes on without its client.
	attackers atomic.Pointer[context.Context]
	mu        sync.Mutex
	answers   map[string]int
}

func (a *storesState) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID     json.RawMessage
		Params struct{ Message struct{ ContextID string } }
	}
	text, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(text, &in); err != nil {
		a.t.Error(err)
	}
	if strings.Contains(string(text), "attack") {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(*a.attackers.Load(), cancel)()
		a.attack(ctx, in.Params.Message.ContextID)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"Hi"}]}}`, in.ID)
}

// hugeBody is a body of 50 MB.
var hugeBody = sync.OnceValue(func() string { return `{"checkpoint":"` + strings.Repeat("QUFB", 50<<20/4) + `"}` })

// attack sends requests for a conversation, two at a time.
func (a *storesState) attack(ctx context.Context, conversation string) {
	a.send(ctx, "session", http.MethodPost, "/api/sessions", fmt.Sprintf(`{"id":%q}`, conversation))
	checkpoint := func(i, size int) string {
		return fmt.Sprintf(`{"thread_id":%q,"checkpoint_ns":"","checkpoint_id":"%09d","checkpoint":"%s","metadata":"e30=","type_":"json"}`, conversation, i, strings.Repeat("QUFB", size/4))
	}
	steps := []func(i int){
		func(int) { a.send(ctx, "50 MB", http.MethodPost, "/api/langgraph/checkpoints", hugeBody()) },
		func(i int) { a.send(ctx, "3 MB", http.MethodPost, "/api/langgraph/checkpoints", checkpoint(i, 3<<20)) },
		func(i int) { a.send(ctx, "small", http.MethodPost, "/api/langgraph/checkpoints", checkpoint(i, 64)) },
		func(int) {
			a.send(ctx, "read", http.MethodGet, "/api/langgraph/checkpoints?thread_id="+conversation, "")
		},
		func(i int) {
			a.send(ctx, "event", http.MethodPost, "/api/sessions/"+conversation+"/events", fmt.Sprintf(`{"id":"%d","data":"d"}`, i))
		},
		func(i int) {
			a.send(ctx, "writes", http.MethodPost, "/api/langgraph/checkpoints/writes", fmt.Sprintf(`{"thread_id":%q,"checkpoint_id":"%d","task_id":"%d","writes":[{"idx":%d}]}`, conversation, i/1000, i, i))
		},
		func(i int) {
			a.send(ctx, "task", http.MethodPost, "/api/tasks", fmt.Sprintf(`{"id":"%d%s%s","context_id":%q}`, i, conversation, strings.Repeat("i", 900), conversation))
		},
	}
	var group sync.WaitGroup
	for worker := range 2 {
		group.Go(func() {
			for i := worker; ctx.Err() == nil; i++ {
				steps[i%len(steps)](i)
			}
		})
	}
	group.Wait()
}

func (a *storesState) send(ctx context.Context, what, method, path, body string) {
	request, err := http.NewRequestWithContext(ctx, method, a.gateway.Load().url(path), strings.NewReader(body))
	if err != nil {
		a.t.Error(err)
		return
	}
	status := 0
	if response, err := http.DefaultClient.Do(request); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		status = response.StatusCode
	}
	if ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[what+" "+strconv.Itoa(status)]++
}

// TestStateOfAContainer lets many callers make a container store state of their conversations, as an SDK of kagent does.
func TestStateOfAContainer(t *testing.T) {
	besideOthers(t)
	stores := []string{"redis"}
	callers := 6
	if full {
		callers = 12
		stores = append(stores, "memory")
	}
	for _, store := range stores {
		t.Run(store, func(t *testing.T) {
			var flags []string
			if store == "redis" {
				flags = []string{"--store", "redis://" + redistest.Start(t).Address(), "--store-name", "team/echo"}
			}
			container := &storesState{t: t, answers: map[string]int{}}
			s := startSidecar(t, container.ServeHTTP, func(c *sidecarconfig.Config) {
				c.Backend.Protocol = sidecarconfig.ProtocolA2A
				c.Backend.A2A = sidecarconfig.A2A{Version: "0.3", SessionAPI: sidecarconfig.SessionAPIKagent}
			}, flags...)
			container.gateway.Store(&s.gateway)
			subject := s.subject(t, "sidecar, "+store)
			subject.client.asks = slices.DeleteFunc(subject.client.asks, func(a ask) bool {
				return strings.Contains(a.url, ":"+s.gateway.Port+"/") // the gateway has one client, which is the attacker
			})
			if store == "memory" {
				subject.usual += 28 << 20 // the state stays in its share of the memory (docs/reference/limits.md)
			}
			subject.withstands(t, fmt.Sprintf("%d callers whose container stores state", callers), 2*lasts, func(ctx context.Context) string {
				container.attackers.Store(&ctx)
				seen := crowd(ctx, callers, 100, func(ctx context.Context) string {
					return status(s.post(ctx, fmt.Sprintf(message, rand.Text(), "attack"), "Authorization", "Bearer "+s.token(t, rand.Text()[:8])))
				})
				container.mu.Lock()
				defer container.mu.Unlock()
				return seen + " " + fmt.Sprint(container.answers)
			})
		})
	}
}
