// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/events"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// responseTest is a response of an agent with the events and the outcome of its turn.
type responseTest struct {
	agent   http.HandlerFunc
	options events.Options
	want    string
	outcome string
}

func check(t *testing.T, tests map[string]responseTest) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, outcome := run(t, newAgent(t, tt.options, tt.agent))
			if got != tt.want || outcome != tt.outcome {
				t.Errorf("Run() = %q, %q\n  want %q, %q", got, outcome, tt.want, tt.outcome)
			}
		})
	}
}

func TestTextResponseIsAnArtifact(t *testing.T) {
	check(t, map[string]responseTest{
		"of known length": {agent: respondsWith("text/plain", "hello"), want: "turn-1=hello/last", outcome: "whole"},
		"with a charset":  {agent: respondsWith("text/plain; charset=UTF-8", "hello"), want: "turn-1=hello/last", outcome: "whole"},
		"empty":           {agent: respondsWith("text/plain", ""), want: "", outcome: "whole"},
		"compressed": {
			agent: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				respondsWith("text/plain", "\x1f\x8b\x08")(w, r)
			},
			outcome: "failed: The agent's answer is compressed, which the sidecar did not accept",
		},
		"too long": {
			agent: streamsPieces("text/plain", strings.Repeat("x", 4096), strings.Repeat("x", 4096)), options: events.Options{Limits: stream.Limits{MaxAnswer: 1000}},
			outcome: "failed: The agent's answer exceeds 1000 bytes",
		},
	})
}

func TestTextIsEmittedAsItArrives(t *testing.T) {
	// The agent sends the next chunk only after the backend has emitted the previous one.
	next := make(chan struct{}, 1)
	b := newAgent(t, events.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for _, chunk := range []string{"a", "b", "c"} {
			_, _ = w.Write([]byte(chunk))
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})
	h := &emitted{each: func(e *a2a.Event) {
		if !e.Artifact.LastChunk {
			next <- struct{}{}
		}
	}}
	err := b.Run(t.Context(), newTurn(), h.emit)
	if got, want := h.String(), "turn-1=a turn-1+b turn-1+c turn-1+/last"; got != want || err != nil {
		t.Errorf("Run() = %q, %v, want %q", got, err, want)
	}
	for i := range h.events {
		if !h.events[i].Artifact.JoinText {
			t.Errorf("chunk %d does not join", i)
		}
	}
}

// TestTextIsValidUTF8 checks that a character that is split between chunks is emitted as a
// whole, and that a byte of invalid UTF-8 becomes U+FFFD.
func TestTextIsValidUTF8(t *testing.T) {
	text := "aä€😀z"
	for at := 1; at < len(text); at++ {
		b := newAgent(t, events.Options{}, streamsPieces("text/plain", text[:at], text[at:]))
		h := &emitted{}
		if err := b.Run(t.Context(), newTurn(), h.emit); err != nil {
			t.Fatal(err)
		}
		got := ""
		for i := range h.events {
			chunk := parts(h.events[i].Artifact.Artifact.Parts)
			if strings.ContainsRune(chunk, '\uFFFD') {
				t.Errorf("split at %d: chunk %q", at, chunk)
			}
			got += chunk
		}
		if got != text {
			t.Errorf("split at %d: %q", at, got)
		}
	}
	check(t, map[string]responseTest{
		"invalid byte":      {agent: respondsWith("text/plain", "a\xffb"), want: "turn-1=a\uFFFDb/last", outcome: "whole"},
		"character cut off": {agent: respondsWith("text/plain", "a\xe2\x82"), want: "turn-1=a\uFFFD\uFFFD/last", outcome: "whole"},
	})
}

func TestJSONResponseIsAnEventOrData(t *testing.T) {
	check(t, map[string]responseTest{
		"message": {
			agent: respondsWith("application/json", `{"kind":"message","messageId":"x","role":"agent","parts":[{"kind":"text","text":"hi"}]}`),
			want:  "message:hi", outcome: "whole",
		},
		"message of 1.0": {
			agent: respondsWith("application/json", `{"message":{"messageId":"x","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}`),
			want:  "message:hi", outcome: "whole",
		},
		"message in the format of OpenAI": {
			agent: respondsWith("application/json", `{"kind":"message","role":"assistant","content":"hi"}`),
			want:  "message:hi", outcome: "whole",
		},
		"event": {
			agent: respondsWith("application/json", `{"kind":"status-update","status":{"state":"rejected"}}`),
			want:  "status:rejected", outcome: "ended",
		},
		"part":                  {agent: respondsWith("application/json", `{"text":"hi"}`), want: "turn-1=hi", outcome: "whole"},
		"object":                {agent: respondsWith("application/json", `{ "answer": [42, "x"] }`), want: `turn-1=data{"answer":[42,"x"]}/last`, outcome: "whole"},
		"object of some kind":   {agent: respondsWith("application/json", `{"kind":"cat"}`), want: `turn-1=data{"kind":"cat"}/last`, outcome: "whole"},
		"object with a text":    {agent: respondsWith("application/json", `{"text":"hi","score":1}`), want: `turn-1=data{"text":"hi","score":1}/last`, outcome: "whole"},
		"object with a message": {agent: respondsWith("application/json", `{"message":"hi"}`), want: `turn-1=data{"message":"hi"}/last`, outcome: "whole"},
		"array":                 {agent: respondsWith("application/json", `[1, 2]`), want: `turn-1=data[1,2]/last`, outcome: "whole"},
		"null":                  {agent: respondsWith("application/json; charset=utf-8", `null`), want: ``, outcome: "whole"},
		"empty":                 {agent: respondsWith("application/json", " \n"), outcome: "whole"},
		"broken": {
			agent:   respondsWith("application/json", `{"a":`),
			outcome: "failed: The agent's answer is not JSON: Invalid JSON payload at byte 5; received: {\"a\":",
		},
		"invalid message": {
			agent:   respondsWith("application/json", `{"kind":"message","role":7}`),
			outcome: "failed: The agent's answer is not an event: role: must be a string; received: {\"kind\":\"message\",\"role\":7}",
		},
		"too long": {
			agent: respondsWith("application/json", `"`+strings.Repeat("x", 1000)+`"`), options: events.Options{Limits: stream.Limits{MaxEvent: 1000}},
			outcome: "failed: The agent's answer exceeds 1000 bytes; only text and events may be longer",
		},
	})
}

func TestResponseOfAnotherMediaTypeIsAFile(t *testing.T) {
	named := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="a.png"`)
		respondsWith("image/png", "\x89PNG")(w, r)
	}
	untyped := func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		_, _ = w.Write([]byte("x"))
	}
	check(t, map[string]responseTest{
		"with a name":           {agent: named, want: "turn-1=raw[image/png a.png]\x89PNG/last", outcome: "whole"},
		"with a charset":        {agent: respondsWith("text/html; charset=utf-8", "<p>"), want: "turn-1=raw[text/html; charset=utf-8 ]<p>/last", outcome: "whole"},
		"without a type":        {agent: untyped, want: "turn-1=raw[application/octet-stream ]x/last", outcome: "whole"},
		"empty":                 {agent: respondsWith("image/png", ""), outcome: "whole"},
		"longer than the limit": {agent: respondsWith("image/png", "12345"), options: events.Options{Limits: stream.Limits{MaxEvent: 4}}, outcome: "failed: The agent's answer exceeds 4 bytes; only text and events may be longer"},
	})
}

func TestEmptyResponseCompletesTheTurn(t *testing.T) {
	for _, status := range []int{200, 201, 202, 204} {
		b := newAgent(t, events.Options{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if output, outcome := run(t, b); output != "" || outcome != "whole" {
			t.Errorf("%d: Run() = %q, %q", status, output, outcome)
		}
	}
}

// TestTablesNeedNoMoreMemoryThanText answers with a large table, which stays text, and with as many messages.
func TestTablesNeedNoMoreMemoryThanText(t *testing.T) {
	table := `[` + strings.Repeat(`{"id":1,"v":2},`, 30_000) + `{}]`
	for name, tt := range map[string]struct {
		body   string
		isRead bool
	}{
		"data":     {table, true},
		"part":     {`{"kind":"data","data":{"rows":` + table + `}}`, true},
		"messages": {`{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"history":` + table + `}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newAgent(t, events.Options{}, respondsWith("application/json", tt.body))
			turn := newTurn()
			turn.Reserve = stream.AtMost(8 << 20)
			err := b.Run(t.Context(), turn, (&emitted{}).emit)
			if isRefused := err != nil && strings.Contains(err.Error(), "is the limit"); isRefused == tt.isRead || tt.isRead && err != nil {
				t.Errorf("Run() = %v", err)
			}
		})
	}
}
