// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command agent is the agent of the stream checker. It answers a message as NDJSON with the chunks that the script in the
// message describes. It stores no state between turns, so the checker may kill it at any time. GET /running/TOKEN answers the number of
// turns that run for a task.
package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

func main() {
	process.Serve(func() http.Handler { return &agent{held: map[string]chan script.Script{}, running: map[string]int{}} })
}

type agent struct {
	mu sync.Mutex
	// held maps the token of a task to the turn that waits for the client's answer.
	held map[string]chan script.Script
	// running maps the token of a task to the number of its turns that run.
	running map[string]int
}

const question = `{"kind":"status-update","status":{"state":"input-required",` +
	`"message":{"kind":"message","role":"agent","messageId":"","parts":[{"kind":"text","text":"And then?"}]}},"final":true}` + "\n"

func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if token, asked := strings.CutPrefix(r.URL.Path, script.RunningPath); asked {
		a.mu.Lock()
		defer a.mu.Unlock()
		_, _ = io.WriteString(w, strconv.Itoa(a.running[token]))
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var turn struct {
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(body, &turn); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s, err := script.Find(turn.Message)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if r.Header.Get("A2A-Turn") == "input" && a.answer(s) {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	a.count(s, 1)
	defer a.count(s, -1)
	a.play(r.Context(), w, s)
}

func (a *agent) count(s script.Script, by int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running[s.Token] += by
	if a.running[s.Token] == 0 {
		delete(a.running, s.Token)
	}
}

// play writes a turn, and the following turns of the task while the script keeps the connection open.
func (a *agent) play(ctx context.Context, w http.ResponseWriter, s script.Script) {
	for {
		if say(ctx, w, s) != nil || s.Turn == s.Turns {
			return
		}
		answer := a.wait(s)
		_, err := io.WriteString(w, question)
		if err != nil || !s.Holds || http.NewResponseController(w).Flush() != nil {
			a.forget(s)
			return
		}
		select {
		case s = <-answer:
		case <-ctx.Done():
			a.forget(s)
			return
		}
	}
}

// say writes the chunks of a turn. It sometimes writes several chunks at once, like an agent that is faster than its
// network.
func say(ctx context.Context, w http.ResponseWriter, s script.Script) error {
	out := http.NewResponseController(w)
	for i := range s.Chunks {
		number := s.First() + i
		if _, err := io.WriteString(w, `{"text":"`+s.Chunk(number)+`"}`+"\n"); err != nil {
			return err
		}
		if number%7 == 3 {
			continue
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if s.Every == 0 {
			continue
		}
		select {
		case <-time.After(s.Every):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return out.Flush()
}

// wait registers the turn as waiting if its script keeps the connection open, and returns the channel of the
// next turn. For any other script, it returns nil.
func (a *agent) wait(s script.Script) <-chan script.Script {
	if !s.Holds {
		return nil
	}
	answer := make(chan script.Script, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held[s.Token] = answer
	return answer
}

func (a *agent) forget(s script.Script) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.held, s.Token)
}

// answer delivers the next turn to the waiting turn of the same task, and reports whether there is one.
func (a *agent) answer(s script.Script) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	waiting := a.held[s.Token]
	delete(a.held, s.Token)
	if waiting == nil {
		return false
	}
	waiting <- s
	return true
}
