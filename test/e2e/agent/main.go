// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command agent is the agent of the end-to-end tests. The text of a message selects its behaviour:
//
//	stream 20 50ms   20 chunks, one every 50 ms
//	garbage          an NDJSON answer that is not JSON
//	crash            one chunk, then the process exits with status 3
//	parts            an artifact with the other parts of the message
//	ask              a question; the next message is the text of the answer
//	call team/echo   the response of another agent, which it calls through the gateway with the text after the name
//	list team/echo   the tasks of another agent, which it lists through the gateway
//	file PATH        the content of a file in the container
//	anything else    is the text of the answer
//
// With A2A_TEST_DEAF it runs and does not listen. With A2A_TEST_START_AFTER, such as 12s, it listens after this time. With A2A_TEST_EXIT it exits with this status. With A2A_TEST_CARD it serves an Agent Card with this name.
// With A2A_TEST_MODEL it is a model server and an MCP server at port 8080. With A2A_TEST_TOKEN_KEYS, the URL of the keys of the registry, it is
// also an MCP server at /callers/mcp that requires tokens of the registry for A2A_TEST_TOKEN_AUDIENCE.
package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
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
	if status, err := strconv.Atoi(os.Getenv("A2A_TEST_EXIT")); err == nil {
		os.Exit(status)
	}
	if delay, err := time.ParseDuration(os.Getenv("A2A_TEST_START_AFTER")); err == nil {
		time.Sleep(delay)
	}
	server := &http.Server{
		Addr:              "127.0.0.1:" + os.Getenv("PORT"),
		Handler:           handler(),
		ReadHeaderTimeout: 5 * time.Second,
	}
	if os.Getenv("A2A_TEST_MODEL") != "" {
		server.Addr = ":8080"
		server.Handler = models()
	}
	log.Fatal(server.ListenAndServe())
}

func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", turn)
	if name := os.Getenv("A2A_TEST_CARD"); name != "" {
		mux.HandleFunc("GET /.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{
				"name": name, "description": "Has a card of its own.", "version": "1", "protocolVersion": "0.3.0", "url": "http://127.0.0.1/", "capabilities": map[string]any{},
				"skills": []any{map[string]any{"id": "say", "name": "Say", "description": "Says something.", "tags": []string{"text"}}},
			})
		})
	}
	return mux
}

func turn(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Message struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"message"`
	}
	var first struct {
		Text string `json:"text"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Message.Parts) == 0 || json.Unmarshal(in.Message.Parts[0], &first) != nil {
		http.Error(w, "expected a turn with a message", http.StatusBadRequest)
		return
	}
	text := first.Text
	var n int
	var every, agent, file string
	other, said, _ := strings.Cut(strings.TrimPrefix(text, "call "), " ")
	switch {
	case scan(text, "file %s", &file):
		content, err := os.ReadFile(file)
		if err != nil {
			content = []byte(err.Error())
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(content)
	case strings.HasPrefix(text, "call "):
		part := map[string]any{"text": cmp.Or(said, "called")}
		call(w, r, other, "SendMessage", map[string]any{"message": map[string]any{"messageId": rand.Text(), "role": "ROLE_USER", "parts": []any{part}}})
	case scan(text, "list %s", &agent):
		call(w, r, agent, "ListTasks", map[string]any{})
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
	case text == "parts":
		event(w, map[string]any{"kind": "artifact-update", "artifact": map[string]any{"artifactId": "parts", "parts": in.Message.Parts[1:]}})
		event(w, status("completed", nil))
	case text == "ask":
		event(w, status("input-required", map[string]any{"role": "agent", "parts": []any{map[string]any{"kind": "text", "text": "Which one?"}}}))
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprint(w, strings.TrimSpace(text))
	}
}

// call calls another agent through the gateway, in the trace and for the task of the turn, and answers with the JSON of its response.
func call(w http.ResponseWriter, r *http.Request, agent, method string, params map[string]any) {
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, os.Getenv("A2A_GATEWAY_URL")+"/agents/"+agent+"/", bytes.NewReader(message))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("A2A-Version", "1.0")
	for _, name := range []string{"Traceparent", "Tracestate", "Baggage", "A2A-Task-Id"} {
		if value := r.Header.Get(name); value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.Copy(w, response.Body)
}

// event writes a line of an event stream.
func event(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		log.Print(err) // the sidecar has disconnected
	}
}

func status(state string, message any) map[string]any {
	out := map[string]any{"state": state}
	if message != nil {
		out["message"] = message
	}
	return map[string]any{"kind": "status-update", "status": out}
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
