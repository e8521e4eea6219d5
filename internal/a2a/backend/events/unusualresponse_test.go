// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/events"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// respondsByteByByte returns a handler that flushes each byte of a response.
func respondsByteByByte(contentType, body string) http.HandlerFunc {
	return streamsPieces(contentType, strings.Split(body, "")...)
}

// respondsEndlessLine returns a handler that sends 64 MB without a line end, or less if the
// client disconnects.
func respondsEndlessLine(contentType, begin string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		text := []byte(begin + strings.Repeat("x", 1<<20))
		for range 64 {
			if _, err := w.Write(text); err != nil {
				return
			}
		}
	}
}

func TestUnusualResponses(t *testing.T) {
	const (
		done    = `{"kind":"status-update","status":{"state":"completed"}}`
		failed  = `{"kind":"status-update","status":{"state":"failed"}}`
		working = `{"kind":"status-update","taskId":"other","contextId":"theirs","status":{"state":"working"}}`
	)
	small := events.Options{Limits: stream.Limits{MaxEvent: 64, MaxAnswer: 200}}
	check(t, map[string]responseTest{
		"two terminal events":         {agent: respondsWith(ndjson, lines(done, failed)), want: "status:completed", outcome: "ended"},
		"two terminal events, apart":  {agent: streamsPieces(ndjson, lines(done), lines(failed)), want: "status:completed", outcome: "ended"},
		"two terminal events, failed": {agent: respondsWith(ndjson, lines(failed, done, `{"text":"late"}`)), want: "status:failed", outcome: "ended"},
		"a message after the end":     {agent: respondsWith(sse, "data: "+done+"\n\ndata: {\"kind\":\"message\",\"parts\":[{\"kind\":\"text\",\"text\":\"x\"}]}\n\n"), want: "status:completed", outcome: "ended"},
		"bytes one by one":            {agent: respondsByteByByte(ndjson, lines(`{"text":"ä€"}`, done)), options: small, want: "turn-1=ä€ status:completed", outcome: "ended"},
		"events, bytes one by one":    {agent: respondsByteByByte(sse, ": hi\r\n\r\ndata: {\"text\":\r\ndata: \"a\"}\r\n\r\n"), options: small, want: "turn-1=a", outcome: "whole"},
		"an event over the limit, bytes one by one": {
			agent: respondsByteByByte(ndjson, lines(`{"text":"a"}`, `{"text":"`+strings.Repeat("x", 64)+`"}`)), options: small,
			want: "turn-1=a", outcome: "failed: The agent's event in line 2 exceeds 64 bytes",
		},
		"an answer over the limit, bytes one by one": {
			agent: respondsByteByByte(ndjson, strings.Repeat(`{"kind":"internal:x"}`+"\n", 20)), options: small,
			outcome: "failed: The agent's answer exceeds 200 bytes",
		},
		// The engine replaces the ids that the agent sends by the ids of the turn.
		"other tasks": {
			agent: respondsWith(ndjson, lines(working, `{"kind":"artifact-update","taskId":"other","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"x"}]}}`, done)),
			want:  "status:working a=x status:completed", outcome: "ended",
		},
		"a line of 64 MB":   {agent: respondsEndlessLine(ndjson, `{"text":"`), outcome: "failed: The agent's event in line 1 exceeds 2621440 bytes"},
		"an event of 64 MB": {agent: respondsEndlessLine(sse, "data: "), outcome: "failed: The agent's event in line 1 exceeds 2621440 bytes"},
		"lines of 64 MB": {
			agent: respondsEndlessLine(sse, "\ndata: "), options: events.Options{Limits: stream.Limits{MaxEvent: 8 << 20}},
			outcome: "failed: The agent's event in line 2 exceeds 8388608 bytes",
		},
	})
}

// TestLongLineTakesBoundedMemory checks that the used memory is a small multiple of the
// event limit, whatever the length of the line.
func TestLongLineTakesBoundedMemory(t *testing.T) {
	const limit = 1 << 20
	b := newAgent(t, events.Options{Limits: stream.Limits{MaxEvent: limit}}, respondsEndlessLine(ndjson, `{"text":"`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	output, outcome := run(t, b)
	runtime.ReadMemStats(&after)
	if output != "" || outcome != "failed: The agent's event in line 1 exceeds 1048576 bytes" {
		t.Errorf("Run() = %q, %s", output, outcome)
	}
	// TotalAlloc includes the allocations of the agent in this test.
	if got := after.TotalAlloc - before.TotalAlloc; got > 16*limit {
		t.Errorf("allocated %d bytes for a line of 64 MB with a limit of %d", got, limit)
	}
}
