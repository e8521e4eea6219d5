// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sessionapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// TestAgentStoresItsTask runs an agent that stores its task at the gateway of a sidecar without a registry, as kagent's SDKs do during a
// turn. Without the setting, the gateway has no such path.
func TestAgentStoresItsTask(t *testing.T) {
	for _, api := range []sidecarconfig.SessionAPI{"", sidecarconfig.SessionAPIKagent} {
		t.Run(string(api), func(t *testing.T) {
			var gateway, during, user atomic.Value
			agent := func(w http.ResponseWriter, r *http.Request) {
				var in struct {
					ID     json.RawMessage
					Params struct{ Message struct{ ContextID string } }
				}
				if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
					t.Error(err)
				}
				user.Store(r.Header.Get("X-User-Id"))
				during.Store(post(t, gateway.Load().(string)+"/api/tasks", `{"id":"t1","context_id":"`+in.Params.Message.ContextID+`"}`))
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"done"}]}}`, in.ID)
			}
			s := sidecartest.Start(t, agent, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
				c.Backend.Protocol = sidecarconfig.ProtocolA2A
				c.Backend.A2A = sidecarconfig.A2A{Version: "0.3", SessionAPI: api}
			})
			gateway.Store(s.Gateway)
			answer := post(t, s.URL+"/", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"1","role":"user","parts":[{"kind":"text","text":"Hi"}]}}}`)
			if !strings.HasPrefix(answer, "200 ") || !strings.Contains(answer, "done") {
				t.Fatal(answer)
			}
			want, caller := "404 ", ""
			if api != "" {
				want = "201 "
				caller = "system:anonymous"
			}
			if got := during.Load().(string); !strings.HasPrefix(got, want) || user.Load() != caller {
				t.Errorf("during the turn of %q: %s, want %s of %q", user.Load(), got, want, caller)
			}
			if got := post(t, s.Gateway+"/api/tasks", `{"id":"t1","context_id":"c"}`); !strings.HasPrefix(got, "404 ") {
				t.Errorf("after the turn: %s", got)
			}
		})
	}
}

// post sends a JSON body, and returns the status and the response.
func post(t *testing.T, url, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return ""
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := sidecartest.Plain(t).Do(r)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("%d %s", response.StatusCode, text)
}
