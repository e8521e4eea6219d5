// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/events"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

const (
	ndjson = "application/x-ndjson"
	sse    = "text/event-stream"
)

func lines(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func TestEachLineIsAnEvent(t *testing.T) {
	check(t, map[string]responseTest{
		"of 0.3": {
			agent: respondsWith(ndjson, lines(
				`{"kind":"task","id":"x","contextId":"y","status":{"state":"started"}}`,
				`{"kind":"status-update","taskId":"x","contextId":"y","status":{"state":"working","message":{"role":"assistant","content":"thinking"}},"final":false}`,
				`{"kind":"artifact-update","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"x"}]},"append":true,"lastChunk":true}`,
				`{"kind":"status-update","status":{"state":"completed"},"final":true}`,
			)),
			want: "task:submitted status:working(thinking) a+x/last status:completed", outcome: "ended",
		},
		"of 1.0": {
			agent: respondsWith(ndjson, lines(
				`{"task":{"id":"x","status":{"state":"TASK_STATE_SUBMITTED"}}}`,
				`{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}`,
				`{"artifact_update":{"artifact":{"artifactId":"a","parts":[{"url":"http://x","mediaType":"image/png"}]},"last_chunk":true}}`,
				`{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`,
			)),
			want: "task:submitted status:working a=url[image/png]http://x/last status:input-required", outcome: "whole",
		},
		"of both": {
			agent: respondsWith(ndjson, lines(
				`{"kind":"artifact-update","artifact":{"artifactId":"a","parts":[{"raw":"aGk=","mediaType":"x/y","filename":"f"}]}}`,
				`{"artifactUpdate":{"kind":"artifact-update","artifact":{"artifactId":"b","parts":[{"kind":"file","file":{"uri":"http://x","mimeType":"image/png"}}]}}}`,
				`{"taskId":"x","status":{"state":"TASK_STATE_WORKING"}}`,
				`{"artifact":{"artifactId":"c","parts":[{"text":"x"}]}}`,
			)),
			want: "a=raw[x/y f]hi b=url[image/png]http://x status:working c=x", outcome: "whole",
		},
		"parts alone": {
			agent: respondsWith(ndjson, lines(
				`{"text":"a"}`, `{"text": "b"}`, `{"text":"\u00fc\"<"}`, `{"kind":"text","text":"c"}`,
				`{"data":{"k":[1,2]}}`, `{"raw":"aGk=","mediaType":"x/y","filename":"f"}`, `{"text":"d","id":7}`,
			)),
			want: `turn-1=a turn-1+b turn-1+ü"< turn-1+c turn-1+data{"k":[1,2]} turn-1+raw[x/y f]hi turn-1+d`, outcome: "whole",
		},
		"message first": {
			agent: respondsWith(ndjson, lines(`{"kind":"message","parts":[{"kind":"text","text":"hi"}]}`, `{"text":"ignored"}`)),
			want:  "message:hi turn-1=ignored", outcome: "whole",
		},
		"skipped": {
			agent: respondsWith(ndjson, lines(
				``, `  `, "\r", `[DONE]`, `{"kind":"internal:x"}`, `{"text":"a"}`+"\r", ` {"text":"b"} `,
			)),
			want: "turn-1=a turn-1+b", outcome: "whole",
		},
		"without a last newline": {agent: respondsWith(ndjson, `{"text":"a"}`+"\n"+`{"text":"b"}`), want: "turn-1=a turn-1+b", outcome: "whole"},
		"nothing, announced":     {agent: respondsWith(ndjson, ""), outcome: "whole"},
		"nothing":                {agent: streamsPieces(ndjson, "\n", "\n"), outcome: noEvent},
		"[DONE] alone":           {agent: streamsPieces(ndjson, "[DONE]\n"), outcome: "whole"},
		"internal alone":         {agent: streamsPieces(ndjson, `{"kind":"internal:x"}`, "\n"), outcome: "whole"},
		"split anywhere": {
			agent: streamsPieces(ndjson, `{"te`, `xt":"ä`, "\xe2\x82", "\xac\"}", "\n"),
			want:  "turn-1=ä€", outcome: "whole",
		},
	})
}

func TestServerSentEventsAreEvents(t *testing.T) {
	check(t, map[string]responseTest{
		"one data line each": {
			agent: respondsWith(sse, "data: {\"text\":\"a\"}\n\ndata:{\"text\":\"b\"}\n\n"),
			want:  "turn-1=a turn-1+b", outcome: "whole",
		},
		"with all features of server-sent events": {
			agent: respondsWith(sse, "\uFEFF: hello\r\nid: 7\r\nevent: x\r\nretry: 1\r\ndata: {\"text\":\r\ndata: \"a\"}\r\n\r\ndata\n\ndata:\n\ndata: [DONE]\n\n"),
			want:  "turn-1=a", outcome: "whole",
		},
		"nothing but comments":            {agent: streamsPieces(sse, ": hello\n\n", "event: x\n\n", "data:\n\n"), outcome: noEvent},
		"without a blank line at the end": {agent: respondsWith(sse, "data: {\"text\":\"a\"}\n"), want: "turn-1=a", outcome: "whole"},
		"with a terminal event": {
			agent: respondsWith(sse, "data: {\"kind\":\"status-update\",\"status\":{\"state\":\"completed\"}}\n\ndata: {\"text\":\"ignored\"}\n\n"),
			want:  "status:completed", outcome: "ended",
		},
		"position counts lines of the body": {
			agent: respondsWith(sse, ": hi\n\ndata: {\"text\":\"a\"}\n\ndata: oops\n\n"),
			want:  "turn-1=a", outcome: "failed: The agent's event in line 5 is not JSON: Invalid JSON payload at byte 0; received: oops",
		},
	})
}

func TestInvalidJSONFailsWithItsPosition(t *testing.T) {
	check(t, map[string]responseTest{
		"no JSON": {
			agent: respondsWith(ndjson, lines(`{"text":"a"}`, ``, `{"text":`, `{"text":"b"}`)),
			want:  "turn-1=a", outcome: "failed: The agent's event in line 3 is not JSON: Invalid JSON payload at byte 8; received: {\"text\":",
		},
		"two values": {
			agent:   respondsWith(ndjson, lines(`{"kind":"cat"}{"kind":"dog"}`)),
			outcome: "failed: The agent's event in line 1 is not JSON: data after the end of the JSON value; received: {\"kind\":\"cat\"}{\"kind\":\"dog\"}",
		},
		"no UTF-8": {
			agent:   respondsWith(ndjson, "{\"text\":\"\xff\"}\n"),
			outcome: "failed: The agent's event in line 1 is not JSON: Invalid JSON payload at byte 9; received: {\"text\":\"\uFFFD\"}",
		},
		"no state": {
			agent:   respondsWith(ndjson, lines(`{"kind":"status-update","status":{"state":"asleep"}}`)),
			outcome: "failed: The agent's event in line 1 is not an event: status.state: must be a task state; received: {\"kind\":\"status-update\",\"status\":{\"state\":\"asleep\"}}",
		},
		"no parts": {
			agent:   respondsWith(ndjson, lines(`{"kind":"artifact-update","artifact":{"prts":[{"text":"x"}]},"lastChunk":true}`)),
			outcome: `failed: The agent's event in line 1 is not an event: artifact.parts: is required; received: {"kind":"artifact-update","artifact":{"prts":[{"text":"x"}]},"lastChunk":true}`,
		},
		"status without a state": {
			agent:   respondsWith(ndjson, lines(`{"kind":"status-update","status":{"stte":"failed"}}`)),
			outcome: `failed: The agent's event in line 1 is not an event: status.state: is required; received: {"kind":"status-update","status":{"stte":"failed"}}`,
		},
		"no end": {
			agent: streamsPieces(ndjson, "\n", strings.Repeat("x", 100<<10)), options: events.Options{Limits: stream.Limits{MaxEvent: 10 << 10}},
			outcome: "failed: The agent's event in line 2 exceeds 10240 bytes",
		},
		"too long, with an end": {
			agent: respondsWith(ndjson, strings.Repeat(" ", 10)+`"`+strings.Repeat("x", 11<<10)+"\"\n"), options: events.Options{Limits: stream.Limits{MaxEvent: 10 << 10}},
			outcome: "failed: The agent's event in line 1 exceeds 10240 bytes",
		},
		"too long in many data fields": {
			agent: respondsWith(sse, strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 20)), options: events.Options{Limits: stream.Limits{MaxEvent: 10 << 10}},
			outcome: "failed: The agent's event in line 1 exceeds 10240 bytes",
		},
	})
}

// TestMediaTypesOfJSONLines tests the media types of JSON lines. FastAPI and others use
// application/jsonl.
func TestMediaTypesOfJSONLines(t *testing.T) {
	for _, name := range []string{"application/jsonl", "application/x-jsonlines", "application/jsonlines", "application/ndjson"} {
		check(t, map[string]responseTest{name: {
			agent: respondsWith(name, lines(`{"text":"a"}`, `{"text":"b"}`)),
			want:  "turn-1=a turn-1+b", outcome: "whole",
		}})
	}
}

// noEvent is the outcome of a stream without an event. Web frameworks send such a stream
// after an exception in a generator.
const noEvent = "failed: The agent's event stream ended without an event; an agent that has nothing to say ends with a status-update of state completed"

// TestUnknownEventFailsTheTurn checks that a turn with an unknown event fails, because a
// lost answer must not look like a success.
func TestUnknownEventFailsTheTurn(t *testing.T) {
	const why = "is not an event: it is neither of a known kind nor a part; received: "
	for _, line := range []string{
		`{"kind":"cat"}`, `{"foo":1}`, `7`, `"x"`, `null`, `[]`, `{"message":"x"}`, `{"kind":7}`, `{}`, `{"metadata":{}}`,
		`{"kind":"Internal:x"}`, `{"type":"artifact","text2":"a"}`, `[{"text":"a"}]`,
	} {
		check(t, map[string]responseTest{
			"NDJSON " + line: {
				agent: respondsWith(ndjson, lines(`{"text":"a"}`, line, `{"text":"b"}`)),
				want:  "turn-1=a", outcome: "failed: The agent's event in line 2 " + why + line,
			},
			"SSE " + line: {
				agent: respondsWith(sse, "data: {\"text\":\"a\"}\n\nevent: x\ndata: "+line+"\n\n"),
				want:  "turn-1=a", outcome: "failed: The agent's event in line 4 " + why + line,
			},
		})
	}
	const fields = " of the agent's answer is not a field of an event stream (data, event, id, retry); received: "
	for _, line := range []string{`datax: {"text":"b"}`, `Data: {"text":"b"}`, `{"text":"b"}`, ` data: {"text":"b"}`, `<html>`} {
		check(t, map[string]responseTest{"no field " + line: {
			agent: respondsWith(sse, "data: {\"text\":\"a\"}\n\n"+line+"\n\n"),
			want:  "turn-1=a", outcome: "failed: Line 3" + fields + strings.TrimSpace(line),
		}})
	}
}

func TestInternalEventsAreCountedOnly(t *testing.T) {
	var kinds []string
	o := events.Options{Internal: func(kind string) { kinds = append(kinds, kind) }}
	b := newAgent(t, o, respondsWith(ndjson, lines(
		`{"kind":"internal:llm-call","iteration":1}`, `{"iteration":1,"kind":"internal:checkpoint"}`, `{"text":"a"}`)))
	if output, outcome := run(t, b); output != "turn-1=a" || outcome != "whole" {
		t.Errorf("Run() = %q, %q", output, outcome)
	}
	if diff := cmp.Diff([]string{"internal:llm-call", "internal:checkpoint"}, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

func TestReasonInMetadataBecomesTheMessage(t *testing.T) {
	failed := func(status, metadata string) string {
		return lines(`{"kind":"status-update","status":` + status + `,"metadata":` + metadata + `}`)
	}
	check(t, map[string]responseTest{
		"failed": {
			agent: respondsWith(ndjson, failed(`{"state":"failed"}`, `{"error":"Connection\u0000 timeout"}`)),
			want:  "status:failed(Connection  timeout)", outcome: "ended",
		},
		"failed with a message": {
			agent: respondsWith(ndjson, failed(`{"state":"failed","message":{"content":"mine"}}`, `{"error":"x"}`)),
			want:  "status:failed(mine)", outcome: "ended",
		},
		"completed": {agent: respondsWith(ndjson, failed(`{"state":"completed"}`, `{"error":"x"}`)), want: "status:completed", outcome: "ended"},
		"no text":   {agent: respondsWith(ndjson, failed(`{"state":"failed"}`, `{"error":{"code":1}}`)), want: "status:failed", outcome: "ended"},
		"long": {
			agent: respondsWith(ndjson, failed(`{"state":"failed"}`, `{"error":"`+strings.Repeat("ä", 600)+`"}`)),
			want:  "status:failed(" + strings.Repeat("ä", 512) + ")", outcome: "ended",
		},
	})
}

func TestNonFinalInputRequiredIsAPause(t *testing.T) {
	check(t, map[string]responseTest{
		"final ends the run": {
			agent: respondsWith(ndjson, lines(`{"kind":"status-update","status":{"state":"input-required"},"final":true}`)),
			want:  "status:input-required", outcome: "whole",
		},
		"not final pauses the run": {
			agent: respondsWith(ndjson, lines(`{"kind":"status-update","status":{"state":"input-required"},"final":false}`)),
			want:  "status:input-required/paused", outcome: "whole",
		},
	})
}
