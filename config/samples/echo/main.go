// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command echo is a complete A2A agent: it answers every message with its text, word by word. The sidecar does
// the rest.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	server := &http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), Handler: http.HandlerFunc(answer), ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.ListenAndServe())
}

// answer reads a turn as JSON, and answers with text/plain. A flush sends a word to the caller at once.
func answer(w http.ResponseWriter, r *http.Request) {
	var turn struct {
		Message struct {
			Parts []struct {
				Text string `json:"text"`
			} `json:"parts"`
		} `json:"message"`
	}
	if err := json.NewDecoder(r.Body).Decode(&turn); err != nil {
		http.Error(w, "the turn is not JSON", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, part := range turn.Message.Parts {
		for _, word := range strings.SplitAfterN(part.Text, " ", 16) {
			_, _ = io.WriteString(w, word)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	}
}
