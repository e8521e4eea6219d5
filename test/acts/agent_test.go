// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acts

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
)

// agent is the agent of the suite: the first word of a message selects what it does. It is safe for concurrent use.
type agent struct {
	// defective makes the agent answer everything with a completed task. It is set before the first request.
	defective bool

	mu sync.Mutex
	// released is closed when long-running turns may end.
	released chan struct{}
	open     bool
}

func newAgent() *agent { return &agent{released: make(chan struct{}), open: true} }

// hold makes the long-running turns that begin from now on wait for release.
func (a *agent) hold() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.open {
		a.released = make(chan struct{})
		a.open = true
	}
}

// release lets long-running turns end.
func (a *agent) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open {
		close(a.released)
		a.open = false
	}
}

func (a *agent) held() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.released
}

// Events of the Events protocol.
const (
	completed = `{"kind":"status-update","status":{"state":"completed"}}`
	working   = `{"kind":"status-update","status":{"state":"working"}}`
	asks      = `{"kind":"status-update","status":{"state":"input-required","message":{"role":"agent","parts":[{"kind":"text","text":"And?"}]}}}`
	needsAuth = `{"kind":"status-update","status":{"state":"auth-required","message":{"role":"agent","parts":[{"kind":"text","text":"Who are you?"}]}}}`
	failed    = `{"kind":"status-update","status":{"state":"failed","message":{"role":"agent","parts":[{"kind":"text","text":"It broke"}]}}}`
)

func artifact(part string) string {
	return `{"kind":"artifact-update","artifact":{"artifactId":"a","name":"answer","parts":[` + part + `]}}`
}

func chunk(text string) string {
	return `{"kind":"artifact-update","append":true,"artifact":{"artifactId":"a","parts":[{"kind":"text","text":"` + text + `"}]}}`
}

// answers has the events of each behavior that needs no other rule.
var answers = map[string][]string{
	"tck-complete-task":     {artifact(`{"kind":"text","text":"done"}`), completed},
	"tck-task-failure":      {failed},
	"tck-auth-required":     {needsAuth},
	"tck-stream-basic":      {working, artifact(`{"kind":"text","text":"streamed"}`), completed},
	"tck-stream-chunked":    {working, chunk("one "), chunk("two "), chunk("three"), completed},
	"tck-artifact-text":     {artifact(`{"kind":"text","text":"Hello"}`), completed},
	"tck-artifact-data":     {artifact(`{"kind":"data","data":{"n":1}}`), completed},
	"tck-artifact-file":     {artifact(`{"kind":"file","file":{"bytes":"aGk=","name":"h.txt","mimeType":"text/plain"}}`), completed},
	"tck-artifact-file-url": {artifact(`{"kind":"file","file":{"uri":"https://example.com/f","name":"f","mimeType":"text/html"}}`), completed},
	"tck-multi-turn":        {asks},
}

// ServeHTTP implements http.Handler.
func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var turn struct {
		Message struct {
			Parts []struct {
				Text string `json:"text"`
			} `json:"parts"`
		} `json:"message"`
		Task json.RawMessage `json:"task"`
	}
	if err := json.NewDecoder(r.Body).Decode(&turn); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	said := ""
	for _, p := range turn.Message.Parts {
		said += p.Text
	}
	behavior, _, _ := strings.Cut(said, " ")
	if behavior == "tck-message-response" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"message","role":"agent","parts":[{"kind":"text","text":"Hello"}]}`)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	say := func(events ...string) {
		for _, e := range events {
			_, _ = io.WriteString(w, e+"\n")
			_ = http.NewResponseController(w).Flush()
		}
	}
	switch {
	case a.defective:
		say(answers["tck-complete-task"]...)
	case turn.Task != nil && said != "done":
		say(asks)
	case turn.Task != nil:
		say(completed)
	case behavior == "tck-cancel":
		say(working)
		<-r.Context().Done()
	case behavior == "tck-long-running":
		say(working)
		select {
		case <-a.held():
			say(completed)
		case <-r.Context().Done():
		}
	case answers[behavior] != nil:
		say(answers[behavior]...)
	default:
		say(answers["tck-complete-task"]...)
	}
}
