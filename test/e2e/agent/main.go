// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command agent is the agent of the end-to-end tests. The text of a message selects its behaviour:
//
//	stream 20 50ms   20 chunks, one every 50 ms
//	garbage          an NDJSON answer that is not JSON
//	crash            one chunk, then the process exits with status 3
//	anything else    is the text of the answer
//
// With A2A_TEST_DEAF it runs and does not listen.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if os.Getenv("A2A_TEST_DEAF") != "" {
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		<-stop
		return
	}
	server := &http.Server{
		Addr:              "127.0.0.1:" + os.Getenv("PORT"),
		Handler:           http.HandlerFunc(turn),
		ReadHeaderTimeout: 5 * time.Second,
	}
	log.Fatal(server.ListenAndServe())
}

func turn(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Message struct {
			Parts []struct {
				Text string `json:"text"`
			} `json:"parts"`
		} `json:"message"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Message.Parts) == 0 {
		http.Error(w, "expected a turn with a message", http.StatusBadRequest)
		return
	}
	text := in.Message.Parts[0].Text
	var n int
	var every string
	switch {
	case scan(text, "stream %d %s", &n, &every):
		stream(w, r, n, every)
	case text == "garbage":
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = fmt.Fprintln(w, "this is not JSON")
	case text == "crash":
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = fmt.Fprintln(w, `{"text":"about to crash"}`)
		_ = http.NewResponseController(w).Flush()
		os.Exit(3)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprint(w, strings.TrimSpace(text))
	}
}

func scan(text, format string, into ...any) bool {
	n, err := fmt.Sscanf(text, format, into...)
	return err == nil && n == len(into)
}

func stream(w http.ResponseWriter, r *http.Request, n int, every string) {
	pause, err := time.ParseDuration(every)
	if err != nil {
		http.Error(w, "the pause is not a duration", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(w)
	for i := range n {
		if _, err := fmt.Fprintf(w, "{\"text\":\"chunk-%d \"}\n", i); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
			return
		}
	}
}
