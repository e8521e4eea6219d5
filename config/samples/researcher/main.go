// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command researcher is an A2A agent that answers with events: it streams an artifact, asks for missing details,
// and calls another agent, which it finds in the registry.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	r := &researcher{
		gateway: os.Getenv("A2A_GATEWAY_URL"),
		client:  &http.Client{Timeout: time.Minute},
	}
	server := &http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), Handler: r, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.ListenAndServe())
}

type researcher struct {
	// gateway is the base URL of the sidecar's gateway.
	gateway string
	client  *http.Client
}

// turn holds the members of a turn that this agent reads.
type turn struct {
	Message message `json:"message"`
	// Task is set when the message continues a task.
	Task *struct {
		History []message `json:"history"`
	} `json:"task"`
}

type message struct {
	Kind  string `json:"kind,omitempty"`
	Role  string `json:"role"`
	ID    string `json:"messageId,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

func (m message) text() string {
	var texts []string
	for _, p := range m.Parts {
		texts = append(texts, p.Text)
	}
	return strings.TrimSpace(strings.Join(texts, " "))
}

// ServeHTTP answers one turn with a stream of events, one JSON object a line.
func (a *researcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var t turn
	if err := json.NewDecoder(r.Body).Decode(&t); err != nil {
		http.Error(w, "the turn is not JSON", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := &stream{w: w}
	topic, depth := understand(&t)
	switch {
	case topic == "":
		out.status("input-required", "What shall I look into?")
	case depth == "":
		out.status("input-required", "How deep shall I go into "+topic+": brief or detailed?")
	default:
		a.report(r.Context(), r.Header, out, topic, depth)
	}
}

// understand returns the topic and the depth of the report, each "" if it is not known. The topic is the first
// message of the caller. Any message of the caller can name the depth. If a message continues a task, the agent has
// already asked for the depth. The depth then defaults to brief, so that the agent does not ask again.
func understand(t *turn) (topic, depth string) {
	said := []string{t.Message.text()}
	asked := t.Task != nil
	if asked {
		said = nil
		for _, m := range t.Task.History {
			if m.Role == "user" {
				said = append(said, m.text())
			}
		}
		said = append(said, t.Message.text())
	}
	topic, everything := said[0], strings.ToLower(strings.Join(said, " "))
	switch {
	case strings.Contains(everything, "detail"), strings.Contains(everything, "deep"):
		depth = "detailed"
	case strings.Contains(everything, "brief"), strings.Contains(everything, "short"), asked:
		depth = "brief"
	}
	return topic, depth
}

// questions returns the questions that the report answers.
func questions(topic, depth string) []string {
	if depth == "brief" {
		return []string{"What is to be said about: " + topic}
	}
	return []string{
		"What is to be said about: " + topic,
		"How did it begin: " + topic,
		"What comes next: " + topic,
	}
}

func (a *researcher) report(ctx context.Context, turn http.Header, out *stream, topic, depth string) {
	out.status("working", "Looking for an agent with the skill echo")
	helper, err := a.find(ctx, turn, "echo")
	if err != nil {
		out.status("failed", "No helper: "+err.Error())
		return
	}
	out.finding("A " + depth + " report, with the help of " + helper.Namespace + "/" + helper.Name + " (skill echo)\n")
	for _, question := range questions(topic, depth) {
		answer, err := a.ask(ctx, turn, helper, question)
		if err != nil {
			out.status("failed", helper.Name+" did not help: "+err.Error())
			return
		}
		out.finding("- " + helper.Name + " says: " + answer + "\n")
	}
	out.status("completed", "")
}

// stream writes events, and flushes each, so that the caller receives it at once.
type stream struct {
	w     http.ResponseWriter
	begun bool
}

func (s *stream) emit(event map[string]any) {
	if err := json.NewEncoder(s.w).Encode(event); err != nil {
		return // the caller cancelled
	}
	_ = http.NewResponseController(s.w).Flush()
}

// status changes the state of the task. The sidecar adds ids and times.
func (s *stream) status(state, text string) {
	status := map[string]any{"state": state}
	if text != "" {
		status["message"] = message{Kind: "message", Role: "agent", Parts: []part{{Kind: "text", Text: text}}}
	}
	s.emit(map[string]any{"kind": "status-update", "status": status})
}

// finding adds text to the artifact "findings".
func (s *stream) finding(text string) {
	s.emit(map[string]any{
		"kind":   "artifact-update",
		"append": s.begun,
		"artifact": map[string]any{
			"artifactId": "findings", "name": "Findings", "parts": []part{{Kind: "text", Text: text}},
		},
	})
	s.begun = true
}
