// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// hostileModels are answers of a model server: what a model writes that a caller has talked into it, and what a server sends that is not
// the one that its owner meant.
var hostileModels = map[string]func(w http.ResponseWriter, r *http.Request){
	"texts without an end": func(w http.ResponseWriter, r *http.Request) {
		stream(w, r, `data: {"choices":[{"delta":{"content":"`+large[:4<<10]+`"}}]}`+"\n\n")
	},
	"reasoning without an end": func(w http.ResponseWriter, r *http.Request) {
		stream(w, r, `data: {"choices":[{"delta":{"reasoning_content":"`+large[:32<<10]+`"}}]}`+"\n\n")
	},
	"calls of 2 MB": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 64 {
			_, _ = fmt.Fprintf(w, `data: {"choices":[{"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"no-tool","arguments":"{\"a\":\"%s\"}"}}]}}]}`+"\n\n", i, i, large[:30<<10])
		}
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`+"\n\n")
	},
	"an event of 64 MB": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"`)
		for i := 0; i < 32 && r.Context().Err() == nil; i++ {
			_, _ = io.WriteString(w, large)
		}
	},
	"a body of 64 MB": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"`)
		for i := 0; i < 32 && r.Context().Err() == nil; i++ {
			_, _ = io.WriteString(w, large)
		}
	},
	"comments without an end": func(w http.ResponseWriter, r *http.Request) {
		stream(w, r, ": "+large[:4<<10]+"\n")
	},
	"a byte a second": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ":")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
			}
		}
	},
	"calls of 2 MB and silence": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 64 {
			_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"no-tool","arguments":"`+large[:30<<10]+`"}}]}}]}`+"\n\n")
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	},
	"texts of 2 MB and silence": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 64 {
			_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"`+large[:30<<10]+`"}}]}`+"\n\n")
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	},
	"12,000 header fields and silence": func(w http.ResponseWriter, _ *http.Request) {
		conn, out, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = out.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
		for i := range 12_000 {
			_, _ = out.WriteString(string([]byte{'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/26/26), ':', '\n'}))
		}
		_, _ = out.WriteString("\r\n: \n")
		_ = out.Flush()
		_, _ = conn.Read(make([]byte, 1))
	},
	"silence": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
}

// stream sends a text again and again.
func stream(w http.ResponseWriter, r *http.Request, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

// TestHostileModels attacks an agent without code by the answers of its model server, while many callers ask it. In the long form, one
// answer follows the other.
func TestHostileModels(t *testing.T) {
	besideOthers(t)
	kinds := slices.Sorted(maps.Keys(hostileModels))
	runs := [][]string{kinds}
	if full {
		runs = slices.Collect(slices.Chunk(kinds, 1))
	}
	for _, run := range runs {
		t.Run(strings.Join(run, " and "), func(t *testing.T) {
			s := startSidecar(t, func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				for i, kind := range run {
					if strings.Contains(string(text), fmt.Sprintf("attack %d", i)) {
						hostileModels[kind](w, r)
						return
					}
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}`)
			}, func(c *sidecarconfig.Config) {
				c.Backend.Protocol = sidecarconfig.ProtocolChatCompletions
				c.Backend.Model.Name = "m"
			})
			subject := s.subject(t, "sidecar")
			subject.usual += 14 << 20 // the tasks stay in their share of the memory (docs/reference/limits.md)
			var next atomic.Int64
			clients := clientsFrom(8)
			bearer := "Bearer " + s.token(t, "attacker")
			subject.withstands(t, "128 requests at a time to a model that sends "+strings.Join(run, ", "), 2*lasts, func(ctx context.Context) string {
				return crowd(ctx, 128, 200, func(ctx context.Context) string {
					n := int(next.Add(1))
					body := fmt.Sprintf(message, rand.Text(), fmt.Sprintf("attack %d", n%len(run)))
					return status(s.postBy(ctx, clients[n%len(clients)], body, "Authorization", bearer))
				})
			})
		})
	}
}
