// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command agent is the agent behind every server of a benchmark. It caches its answers, so that they cost little
// CPU time. Under /ready it answers in A2A, for proxies that relay an A2A server. Under /sink it receives push
// notifications, and traces by OTLP.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/bench/script"
)

func main() {
	process.Serve(func() http.Handler {
		gate := make(chan struct{})
		open := sync.OnceFunc(func() { close(gate) })
		mux := http.NewServeMux()
		mux.Handle("/", &agent{events, gate, &sync.Map{}})
		mux.Handle("/ready", &agent{ready, gate, &sync.Map{}})
		mux.HandleFunc("/open", func(http.ResponseWriter, *http.Request) { open() })
		var sunk atomic.Int64
		sink := func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				sunk.Add(1)
			}
		}
		mux.HandleFunc("/sink", sink)
		mux.HandleFunc("/sink/v1/traces", sink)
		mux.HandleFunc("/v1/chat/completions", complete)
		mux.Handle("/mcp", tools())
		mux.HandleFunc("/sunk", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, sunk.Load()) })
		return mux
	})
}

// form holds the templates of answers in one protocol.
type form struct {
	message, stream          string // content types
	direct                   string // a message with a text
	beginning, chunk, ending string // the events of a task
	// task is the answer to a request without a stream.
	task string
}

// events is the Events protocol between a sidecar and its agent.
var events = form{
	message: "application/json", stream: "application/x-ndjson",
	direct: `{"kind":"message","role":"agent","parts":[{"kind":"text","text":"%s"}]}`,
	chunk:  `{"text":"%s"}` + "\n",
	ending: `{"kind":"status-update","status":{"state":"completed"}}` + "\n",
}

const (
	ids    = `"taskId":"0198c2f4-0000-7000-8000-000000000000","contextId":"0198c2f3-0000-7000-8000-000000000000"`
	result = `{"jsonrpc":"2.0","id":1,"result":`
)

// ready is A2A 1.0 over JSON-RPC.
var ready = form{
	message: "application/json", stream: "text/event-stream",
	direct:    result + `{"message":{"messageId":"0198c2f5-0000-7000-8000-000000000000","role":"ROLE_AGENT","parts":[{"text":"%s"}]}}}`,
	beginning: "data: " + result + `{"task":{"id":"0198c2f4-0000-7000-8000-000000000000","contextId":"0198c2f3-0000-7000-8000-000000000000","status":{"state":"TASK_STATE_WORKING"}}}}` + "\n\n",
	chunk:     "data: " + result + `{"artifactUpdate":{` + ids + `,"artifact":{"artifactId":"a","parts":[{"text":"%s"}]},"append":true}}}` + "\n\n",
	ending:    "data: " + result + `{"statusUpdate":{` + ids + `,"status":{"state":"TASK_STATE_COMPLETED"}}}}` + "\n\n",
	task:      result + `{"task":{"id":"0198c2f4-0000-7000-8000-000000000000","contextId":"0198c2f3-0000-7000-8000-000000000000","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"%s"}]}]}}}`,
}

type agent struct {
	form
	gate <-chan struct{}
	made *sync.Map // caches the answers, which are strings, by script and method
}

func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s, err := script.Find(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	blocking := a.task != "" && strings.Contains(string(body), `"SendMessage"`)
	switch {
	case s.Message || blocking:
		w.Header().Set("Content-Type", a.message)
	default:
		w.Header().Set("Content-Type", a.stream)
	}
	if s.Paced() {
		_ = a.pace(r.Context(), w, s)
		return
	}
	key := fmt.Sprint(s, blocking)
	text, found := a.made.Load(key)
	if !found {
		text, _ = a.made.LoadOrStore(key, a.make(s, blocking))
	}
	_, _ = io.WriteString(w, text.(string))
}

// make returns a whole answer.
func (a *agent) make(s script.Script, blocking bool) string {
	switch {
	case s.Message:
		return fmt.Sprintf(a.direct, strings.Repeat("x", s.Size))
	case blocking:
		return fmt.Sprintf(a.task, strings.Repeat("x", s.Size*s.Chunks))
	}
	return a.beginning + strings.Repeat(fmt.Sprintf(a.chunk, strings.Repeat("x", s.Size)), s.Chunks) + a.ending
}

func (a *agent) pace(ctx context.Context, w http.ResponseWriter, s script.Script) error {
	before, after, _ := strings.Cut(a.chunk, "%s")
	out := http.NewResponseController(w)
	if _, err := io.WriteString(w, a.beginning); err != nil {
		return err
	}
	err := s.Play(ctx, a.gate, func(text string) error {
		if _, err := io.WriteString(w, before+text+after); err != nil {
			return err
		}
		return out.Flush()
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, a.ending)
	return err
}
