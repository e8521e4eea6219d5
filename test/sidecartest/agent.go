// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecartest

import (
	"encoding/json"
	"io"
	"net/http"
)

// TextAgent is an agent that answers with a text in two chunks.
func TextAgent(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "Hello ")
	_ = http.NewResponseController(w).Flush()
	_, _ = io.WriteString(w, "world")
}

// HeldAgent returns an agent that sends one event, and sends the last one when proceed is closed
// or has an element. The agent stops waiting when its client disconnects.
func HeldAgent(proceed <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, `{"text":"one "}`+"\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-proceed:
			_, _ = io.WriteString(w, `{"text":"two"}`+"\n")
		case <-r.Context().Done():
		}
	}
}

// AskingAgent is an agent that asks for input before it answers.
func AskingAgent(w http.ResponseWriter, r *http.Request) {
	var turn struct {
		Task json.RawMessage `json:"task"`
	}
	_ = json.NewDecoder(r.Body).Decode(&turn)
	w.Header().Set("Content-Type", "application/x-ndjson")
	if turn.Task == nil {
		_, _ = io.WriteString(w, `{"kind":"status-update","status":{"state":"input-required","message":{"role":"agent","parts":[{"kind":"text","text":"Which?"}]}}}`+"\n")
		return
	}
	_, _ = io.WriteString(w, `{"text":"That one"}`+"\n")
}

// NDJSONAgent returns an agent that answers with NDJSON events, one on each line.
func NDJSONAgent(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		for _, line := range lines {
			_, _ = io.WriteString(w, line+"\n")
		}
	}
}
