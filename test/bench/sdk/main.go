// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command sdk is the official Go server of A2A: in front of the agent of a benchmark or, without one, as the
// agent.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/bench/script"
)

func main() {
	agent := flag.String("agent", "", "`URL` of the agent; empty to answer itself")
	process.Serve(func() http.Handler {
		gate := make(chan struct{})
		open := sync.OnceFunc(func() { close(gate) })
		e := &executor{agent: *agent, gate: gate, client: &http.Client{
			Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 12, DisableCompression: true},
		}}
		mux := http.NewServeMux()
		mux.Handle("/", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(e, a2asrv.WithLogger(slog.New(slog.DiscardHandler)))))
		mux.HandleFunc("/open", func(http.ResponseWriter, *http.Request) { open() })
		return mux
	})
}

type executor struct {
	agent  string
	gate   <-chan struct{}
	client *http.Client
}

// Cancel implements a2asrv.AgentExecutor.
func (e *executor) Cancel(_ context.Context, turn *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(turn, a2a.TaskStateCanceled, nil), nil)
	}
}

// Execute implements a2asrv.AgentExecutor.
func (e *executor) Execute(ctx context.Context, turn *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		a := &answer{turn: turn, yield: yield}
		text := turn.Message.Parts[0].Text()
		s, err := script.Find([]byte(text))
		switch {
		case err != nil:
		case e.agent != "":
			err = e.ask(ctx, text, a)
		case s.Message:
			a.message(strings.Repeat("x", s.Size))
		default:
			err = s.Play(ctx, e.gate, a.chunk)
		}
		if err == nil {
			err = a.end()
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// ask calls the agent as a sidecar does, and relays its answer.
func (e *executor) ask(ctx context.Context, text string, a *answer) error {
	type part struct {
		Text string `json:"text"`
	}
	body, err := json.Marshal(map[string]any{"message": map[string]any{"role": "user", "parts": []part{{text}}}})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.agent, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.Header.Get("Content-Type") == "application/json" {
		var said struct {
			Parts []part `json:"parts"`
		}
		if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
			return err
		}
		a.message(said.Parts[0].Text)
		return nil
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			part
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return err
		}
		if event.Kind != "" {
			break // the agent has completed the task
		}
		if err := a.chunk(event.Text); err != nil {
			return err
		}
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return lines.Err()
}

// answer collects the events of one turn.
type answer struct {
	turn     *a2asrv.ExecutorContext
	yield    func(a2a.Event, error) bool
	artifact a2a.ArtifactID
	direct   bool
}

func (a *answer) message(text string) {
	a.direct = true
	a.yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text)), nil)
}

func (a *answer) chunk(text string) error {
	if a.artifact == "" {
		first := a2a.NewArtifactEvent(a.turn, a2a.NewTextPart(text))
		a.artifact = first.Artifact.ID
		return a.say(a2a.NewSubmittedTask(a.turn, a.turn.Message), first)
	}
	return a.say(a2a.NewArtifactUpdateEvent(a.turn, a.artifact, a2a.NewTextPart(text)))
}

func (a *answer) end() error {
	if a.direct {
		return nil
	}
	return a.say(a2a.NewStatusUpdateEvent(a.turn, a2a.TaskStateCompleted, nil))
}

func (a *answer) say(events ...a2a.Event) error {
	for _, event := range events {
		if !a.yield(event, nil) {
			return fmt.Errorf("yield %T: the reader has stopped", event)
		}
	}
	return nil
}
