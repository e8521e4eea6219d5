// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
)

// Cards that say what is not so: the agent is called where it was configured to
// be, and nothing else is.
func TestCardsThatLie(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a foreign server was asked for %s", r.URL)
	}))
	defer elsewhere.Close()
	const hello03 = `{"jsonrpc":"2.0","id":"1","result":{"kind":"message","parts":[{"kind":"text","text":"Hello"}]}}`
	interfaces := func(url, version string) string {
		return `{"supportedInterfaces":[{"url":"` + url + `","protocolBinding":"JSONRPC","protocolVersion":"` + version + `"}],"capabilities":{"streaming":true}}`
	}
	for name, tt := range map[string]struct {
		card    string
		handler http.HandlerFunc // of the card, instead of it
		said    string
		want    string
	}{
		"a foreign address":          {card: interfaces(elsewhere.URL+"/rpc", "0.3"), said: "message:Hello", want: "ended"},
		"a relative address":         {card: interfaces("/rpc", "0.3"), said: "message:Hello", want: "ended"},
		"an address with a password": {card: interfaces("http://a:b@elsewhere.example/rpc?x=y#z", "0.3"), said: "message:Hello", want: "ended"},
		"a path with dots":           {card: interfaces("/a/../rpc", "0.3"), want: "failed: The agent answered 307 Temporary Redirect"},
		"no address":                 {card: interfaces(":", "0.3"), want: "failed: The agent's card has an interface whose URL cannot be read"},
		"a version that is newer":    {card: interfaces("/rpc", "1.0"), want: "failed: The agent does not speak A2A 1.0 over JSONRPC, which its card offers"},
		"a version that is older":    {card: interfaces("/rpc", "0.1"), said: "message:Hello", want: "ended"},
		"streaming":                  {card: interfaces("/rpc", "0.3"), said: "message:Hello", want: "ended"},
		"a page":                     {card: "<html><title>Sign in</title>", want: "failed: The agent's card is not JSON: Invalid JSON payload at byte 0; received: <html><title>Sign in</title>"},
		"10 MB": {
			handler: func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, strings.Repeat(" ", 10<<20))
			},
			want: "failed: The agent's card exceeds 1048576 bytes",
		},
		"a redirect": {
			handler: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere.URL, http.StatusFound)
			},
			want: "failed: The agent serves no card: GET /.well-known/agent-card.json was answered 302 Found; " +
				"set backend.a2a.cardPath and backend.a2a.query to where the card is, or backend.a2a.version to use no card",
		},
		"half, and then nothing": {
			handler: func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"supported`)
				_ = http.NewResponseController(w).Flush()
				panic(abort)
			},
			want: "failed: The agent's answer broke off",
		},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, r *http.Request) {
				if tt.handler != nil {
					tt.handler(w, r)
					return
				}
				_, _ = io.WriteString(w, tt.card)
			})
			// It speaks 0.3, and does not stream.
			mux.HandleFunc("POST /rpc", func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"message/send"`) {
					_, _ = io.WriteString(w, hello03)
					return
				}
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32601}}`)
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			b, err := upstream.New(upstream.Options{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if h, outcome := run(t, b, turn()); h.String() != tt.said || outcome != tt.want {
				t.Errorf("Run() = %q, %s\nwant %q, %s", h, outcome, tt.said, tt.want)
			}
		})
	}
}

func TestDuplicateArtifacts(t *testing.T) {
	artifact := func(id, text string) string {
		return frame(`{"kind":"artifact-update","taskId":"a","artifact":{"artifactId":"` + id + `","parts":[{"kind":"text","text":"` + text + `"}]}}`)
	}
	whole := frame(`{"kind":"task","id":"a","status":{"state":"completed"},"artifacts":[` +
		`{"artifactId":"x","parts":[{"kind":"text","text":"1"}]},{"artifactId":"x","parts":[{"kind":"text","text":"2"}]},{"artifactId":"y","parts":[{"kind":"text","text":"3"}]}]}`)
	index := func(text string) string {
		return frame(`{"artifact":{"index":0,"parts":[{"type":"text","text":"` + text + `"}]}}`)
	}
	for name, tt := range map[string]struct{ version, stream, said string }{
		"the later one replaces it": {"0.3", artifact("x", "1") + artifact("x", "2") + update("a", "completed"), "working =1 =2 completed"},
		"in one task":               {"0.3", whole, "working =2 =3 completed"},
		"the same index in 0.1":     {"0.1", index("1") + index("2") + frame(`{"status":{"state":"completed"},"final":true}`), "working =1 =2 completed"},
	} {
		b := raw(t, tt.version, upstream.Options{}, frames("text/event-stream", tt.stream))
		if h, outcome := run(t, b, turn()); h.String() != tt.said || outcome != "ended" {
			t.Errorf("%s: Run() = %q, %s, want %q", name, h, outcome, tt.said)
		}
	}
}

// slowly sends an endless stream byte by byte, until its client is gone.
func slowly(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; r.Context().Err() == nil; i++ {
			_, _ = w.Write([]byte{text[i%len(text)]})
			_ = http.NewResponseController(w).Flush()
			ctx, stop := context.WithTimeout(r.Context(), 5*time.Millisecond)
			<-ctx.Done()
			stop()
		}
	}
}

// An agent that sends a byte now and then is never silent: the turn bounds it.
func TestSlowAgent(t *testing.T) {
	for name, text := range map[string]string{"comments": ": \n\n", "one line": "x"} {
		b := raw(t, "0.3", upstream.Options{Limits: stream.Limits{Turn: 300 * time.Millisecond}}, slowly("data: {"+text))
		if name == "comments" {
			b = raw(t, "0.3", upstream.Options{Limits: stream.Limits{Turn: 300 * time.Millisecond}}, slowly(text))
		}
		if h, outcome := run(t, b, turn()); h.String() != "" || outcome != "failed: The agent did not finish within 300ms" {
			t.Errorf("%s: Run() = %q, %s", name, h, outcome)
		}
	}
}

// A line of 64 MB is read up to the bound of an event, and no further.
func TestLongLine(t *testing.T) {
	var sent atomic.Int64
	b := raw(t, "0.3", upstream.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: ")
		piece := strings.Repeat("x", 64<<10)
		for range 1024 {
			n, err := io.WriteString(w, piece)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	const limit = 4 << 20
	if _, outcome := run(t, b, turn()); outcome != fmt.Sprintf("failed: The agent's event in line 1 exceeds %d bytes", limit) {
		t.Errorf("Run() = %s", outcome)
	}
	if n := sent.Load(); n > 6*limit {
		t.Errorf("the agent could send %d bytes", n)
	}
}
