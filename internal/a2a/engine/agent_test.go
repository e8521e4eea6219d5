// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/events"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// serve runs an agent behind the Events backend, the engine and the memory store.
func serve(t *testing.T, agent http.HandlerFunc) *engine.Engine {
	t.Helper()
	server := httptest.NewServer(agent)
	t.Cleanup(server.Close)
	b, err := events.New(events.Options{URL: server.URL, Internal: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	e, err := engine.New(engine.Options{Store: memory.New(memory.Options{}), Backend: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Drain(t.Context()); err != nil && t.Context().Err() == nil {
			t.Errorf("Drain() error = %v", err)
		}
	})
	return e
}

// Each agent is a complete handler that answers a whole turn.
func TestAgents(t *testing.T) {
	tests := map[string]struct {
		contentType string
		body        string
		want        string
	}{
		"text": {
			contentType: "text/plain; charset=utf-8",
			body:        "Grüße",
			want:        "task:submitted status:working artifact:turn-1=Grüße/last status:completed",
		},
		"lines of events": {
			contentType: "application/x-ndjson",
			body: `{"kind":"status-update","status":{"state":"working"}}` + "\n" +
				`{"text":"a"}` + "\n\n" + `{"text":"b"}` + "\n" +
				`{"kind":"status-update","status":{"state":"completed"},"final":true}` + "\n",
			want: "task:submitted status:working artifact:turn-1=a artifact:turn-1+b status:completed",
		},
		"a message of the client in a status": {
			contentType: "application/x-ndjson",
			body: `{"kind":"status-update","status":{"state":"submitted","message":{"kind":"message","role":"user","messageId":"m1","parts":[{"kind":"text","text":"hi"}]}}}` + "\n" +
				`{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}}}` + "\n" +
				`{"kind":"task","id":"t","status":{"state":"completed","message":{"kind":"message","role":"user","messageId":"m0","parts":[{"kind":"text","text":"hi"}]}}}` + "\n",
			want: "task:submitted status:working status:completed",
		},
		"a message without parts in a status": {
			contentType: "application/x-ndjson",
			body: `{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","message":{"messageId":"a1","role":"ROLE_AGENT"}}}}` + "\n" +
				`{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED"}}}` + "\n",
			want: "task:submitted status:working status:completed",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				_, _ = io.WriteString(w, tt.body)
			})
			stream, err := e.Stream(t.Context(), newRequest("m1", "hi"))
			if err != nil {
				t.Fatalf("Stream() error = %v", err)
			}
			defer stream.Close()
			if got := strings.Join(readAll(t, stream), " "); got != tt.want {
				t.Errorf("stream = %q, want %q", got, tt.want)
			}
		})
	}
}

// readAll reads a stream to its end.
func readAll(t *testing.T, s a2a.Stream) []string {
	t.Helper()
	var all []string
	for {
		records, err := s.Next(t.Context())
		for _, r := range records {
			all = append(all, summary(&r.Event))
		}
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("Next() error = %v after %q", err, all)
		}
	}
}

// The handler keeps the stream of the first request open while its run waits for input. The
// second request delivers the client's answer to this run.
func TestAgentWithAPausedRun(t *testing.T) {
	answers := make(chan string, 1)
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("A2A-Turn") == "input" {
			body, _ := io.ReadAll(r.Body)
			_, after, _ := strings.Cut(string(body), `"text":"`)
			word, _, _ := strings.Cut(after, `"`)
			answers <- word
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		write := func(event string) {
			_, _ = io.WriteString(w, "data: "+event+"\n\n")
			_ = http.NewResponseController(w).Flush()
		}
		write(`{"kind":"status-update","status":{"state":"input-required","message":{"role":"agent","content":"which?"}},"final":false}`)
		word := <-answers
		write(`{"kind":"status-update","status":{"state":"working"},"final":false}`)
		write(`{"text":"` + word + `"}`)
	})
	first, err := e.Stream(t.Context(), newRequest("m1", "hi"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	records, err := first.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	task := records[0].Task.ID
	got := []string{summary(&records[0].Event)}
	for len(got) < 2 {
		for _, r := range records[1:] {
			got = append(got, summary(&r.Event))
		}
		if len(got) < 2 {
			if records, err = first.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			records = append([]*a2a.Record{nil}, records...)
		}
	}
	event, err := e.Send(t.Context(), withTask(newRequest("m2", "that"), task))
	if err != nil || event.Task.Status.State != a2a.StateCompleted || text(event.Task.Artifacts[0].Parts) != "that" {
		t.Errorf("Send() = %+v, %v", event.Task, err)
	}
	got = append(got, readAll(t, first)...)
	const want = "task:submitted status:input-required(which?)/paused status:working status:working artifact:turn-1=that status:completed"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("stream = %q\n    want %q", s, want)
	}
}

// The question has the form that agents of 0.3 use. The answer has no task id: it refers to
// the task (ReferenceTasks) and names the question.
func TestWire13_AgentRequestsASecret(t *testing.T) {
	answers := make(chan string, 1)
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("A2A-Turn") == "input" {
			body, _ := io.ReadAll(r.Body)
			answers <- string(body)
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		write := func(event string) {
			_, _ = io.WriteString(w, event+"\n")
			_ = http.NewResponseController(w).Flush()
		}
		write(`{"kind":"status-update","status":{"state":"input-required","message":{"role":"agent","parts":[{"kind":"text","text":"key?"}],` +
			`"inputRequest":{"kind":"text","prompt":"key?","sensitive":true,"requestId":"input-1"}}},"final":false}`)
		if strings.Contains(<-answers, "secret-key") {
			write(`{"text":"thanks"}`)
		}
	})
	first, err := e.Stream(t.Context(), newRequest("m1", "hi"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	var got []string
	var task string
	for len(got) < 2 {
		records, err := first.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			got = append(got, summary(&r.Event))
			if r.Task != nil {
				task = r.Task.ID
			}
		}
	}
	second, err := e.Stream(t.Context(), answerByReference("m2", task, "input-1", "secret-key"))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	got = append(got, readAll(t, first)...)
	const want = "task:submitted status:input-required(key?)/paused status:working artifact:turn-1=thanks status:completed"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("first stream = %q\n    want %q", s, want)
	}
	const mirrored = "task:working artifact:turn-1=thanks status:completed"
	if s := strings.Join(readAll(t, second), " "); s != mirrored {
		t.Errorf("second stream = %q\n    want %q", s, mirrored)
	}
	whole, err := e.Get(t.Context(), &a2a.GetRequest{Owner: "owner", TaskID: task})
	if err != nil {
		t.Fatal(err)
	}
	if s := historyText(whole.History); strings.Contains(s, "secret") || !strings.Contains(s, `"toolUseId":"input-1"`) {
		t.Errorf("history = %s", s)
	}
}

func TestCancelClosesTheRequestToTheAgent(t *testing.T) {
	closed := make(chan struct{})
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "a")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(closed)
	})
	stream, err := e.Stream(t.Context(), newRequest("m1", "hi"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	records, err := stream.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	task, err := e.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: records[0].Task.ID})
	if err != nil || task.Status.State != a2a.StateCanceled {
		t.Errorf("Cancel() = %v, %v", task, err)
	}
	<-closed
	if got := readAll(t, stream); got[len(got)-1] != "status:canceled" {
		t.Errorf("stream ends with %q", got)
	}
}

// If the stream breaks while the agent waits for input, the task stays paused.
func TestBrokenStreamLeavesATaskPaused(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, `{"kind":"status-update","status":{"state":"input-required"}}`+"\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	event, err := e.Send(t.Context(), newRequest("m1", "hi"))
	if err != nil || event.Task.Status.State != a2a.StateInputRequired {
		t.Fatalf("Send() = %+v, %v", event.Task, err)
	}
	if err := e.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	task, err := e.Get(t.Context(), &a2a.GetRequest{Owner: "owner", TaskID: event.Task.ID})
	if err != nil || task.Status.State != a2a.StateInputRequired {
		t.Errorf("Get() = %+v, %v", task, err)
	}
}
