// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

const (
	sse      = "text/event-stream"
	finished = `{"a2a-operator.dev/finishReason":"stop"}`
	stop     = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	done     = "data: [DONE]\n\n"
)

func textChunk(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}` + "\n\n"
}

func TestResponses(t *testing.T) {
	smiley := textChunk("\U0001F600")
	tests := map[string]struct {
		model   http.HandlerFunc
		options options
		output  string
		outcome string
	}{
		"chunks": {
			model:  respondsWith(sse, textChunk("He"), textChunk("llo"), stop, done),
			output: "turn-1=He turn-1+llo/last completed" + finished, outcome: "ended",
		},
		"all at once": {
			model:  respondsWith(sse, textChunk("He")+textChunk("llo")+stop+done),
			output: "turn-1=He turn-1+llo/last completed" + finished, outcome: "ended",
		},
		"a role first, usage last": {
			model: respondsWith(sse, `data: {"model":"qwen","choices":[{"delta":{"role":"assistant","content":""}}]}`+"\n\n"+textChunk("x")+stop+
				`data: {"model":"qwen","choices":[],"usage":{"prompt_tokens":3, "completion_tokens":1}}`+"\n\n"+done),
			output: `turn-1=x/last completed{"a2a-operator.dev/finishReason":"stop","a2a-operator.dev/model":"qwen",` +
				`"a2a-operator.dev/usage":{"prompt_tokens":3,"completion_tokens":1}}`, outcome: "ended",
		},
		"keep-alives, CRLF and no mark at the end": {
			model: respondsWith(sse, ": PROCESSING\r\n\r\n", "event: message\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\r\n\r\n",
				"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\n"),
			output: "turn-1=x/last completed" + finished, outcome: "ended",
		},
		"a character cut in two by the network": {
			model:  respondsWith(sse, smiley[:len(smiley)-8], smiley[len(smiley)-8:], stop),
			output: "turn-1=\U0001F600/last completed" + finished, outcome: "ended",
		},
		"half a character": {
			model:  respondsWith(sse, textChunk("a\xf0\x9f"), stop, done),
			output: "turn-1=a\uFFFD/last completed" + finished, outcome: "ended",
		},
		"nothing to say": {model: respondsWith(sse, stop, done), output: "completed" + finished, outcome: "ended"},
		"cut short by its length": {
			model:  respondsWith(sse, textChunk("x")+strings.Replace(stop, "stop", "length", 1)+done),
			output: `turn-1=x/last completed{"a2a-operator.dev/finishReason":"length"}`, outcome: "ended",
		},
		"withheld": {
			model: respondsWith(sse, textChunk("x")+strings.Replace(stop, "stop", "content_filter", 1)+done),
			output: `turn-1=x failed(The answer was withheld by a content filter of the agent)` +
				`{"a2a-operator.dev/finishReason":"content_filter"}`, outcome: "ended",
		},
		"calls of tools in pieces": {
			model: respondsWith(sse,
				`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"look","arguments":"{\"a\""}}]}}]}`+"\n\n",
				`data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"see","arguments":{"b":2}}},{"index":0,"function":{"arguments":":1}"}}]}}]}`+"\n\n",
				strings.Replace(stop, "stop", "tool_calls", 1)+done),
			output: `turn-1={"toolCalls":[{"id":"c1","name":"look","arguments":"{\"a\":1}"},{"id":"c2","name":"see","arguments":"{\"b\":2}"}]}/last ` +
				`completed{"a2a-operator.dev/finishReason":"tool_calls"}`, outcome: "ended",
		},
		"a choice with another index": {
			model:  respondsWith(sse, `data: {"choices":[{"index":1,"delta":{"content":"no"}}]}`+"\n\n"+textChunk("yes")+stop+done),
			output: "turn-1=yes/last completed" + finished, outcome: "ended",
		},
		"whole": {
			model:   respondsWith("application/json", `{"id":"x","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","tool_calls":null},"finish_reason":"stop"}],"usage":{"total_tokens":4}}`),
			output:  `turn-1=Hello/last completed{"a2a-operator.dev/finishReason":"stop","a2a-operator.dev/model":"m","a2a-operator.dev/usage":{"total_tokens":4}}`,
			outcome: "ended",
		},
		"whole, in parts": {
			model:  respondsWith("application/json; charset=utf-8", `{"choices":[{"message":{"content":[{"type":"text","text":"He"},{"type":"text","text":"llo"}]},"finish_reason":"stop"}]}`),
			output: "turn-1=Hello/last completed" + finished, outcome: "ended",
		},
		"half a stream": {
			model:  respondsWith(sse, textChunk("x")),
			output: "turn-1=x", outcome: "failed: The agent's answer ended before the model had finished",
		},
		"the final marker without a finish reason": {
			model:  respondsWith(sse, textChunk("x"), done),
			output: "turn-1=x", outcome: "failed: The agent's answer ended before the model had finished",
		},
		"connection that breaks": {
			model: func(w http.ResponseWriter, r *http.Request) {
				respondsWith(sse, textChunk("x"))(w, r)
				panic(http.ErrAbortHandler)
			},
			output: "turn-1=x", outcome: "failed: The agent's answer broke off",
		},
		"error in the stream": {
			model:  respondsWith(sse, textChunk("x"), `data: {"error":{"message":"secret"}}`+"\n\n"),
			output: "turn-1=x", outcome: `failed: The agent reported an error: {"message":"secret"}`,
		},
		"error in place of an answer": {
			model: respondsWith("application/json", `{"error":"secret"}`), outcome: `failed: The agent reported an error: "secret"`,
		},
		"no JSON": {
			model:  respondsWith(sse, textChunk("x"), "data: secret\n\n"),
			output: "turn-1=x", outcome: "failed: The agent's event in line 3 is not JSON: Invalid JSON payload at byte 0; received: secret",
		},
		"duplicate names": {
			model:   respondsWith("application/json", `{"choices":[],"choices":[]}`),
			outcome: "failed: The agent's answer is not JSON: Invalid JSON payload at byte 14; received: " + `{"choices":[],"choices":[]}`,
		},
		"content that is not text": {
			model:   respondsWith("application/json", `{"choices":[{"message":{"content":7}}]}`),
			outcome: "failed: The agent's answer is not a completion: choices[0].message.content: must be a string; received: " + `{"choices":[{"message":{"content":7}}]}`,
		},
		"a page":     {model: respondsWith("text/html", "<html>"), outcome: "failed: The agent's answer is neither text/event-stream nor application/json; received: <html>"},
		"huge event": {model: respondsWith(sse, "data: ", strings.Repeat("x", 40<<10)), options: options{Options: completions.Options{Limits: stream.Limits{MaxEvent: 10 << 10}}}, outcome: "failed: The agent's event in line 1 exceeds 10240 bytes"},
		"endless answer": {
			model: respondsWith(sse, strings.Repeat(": x\n", 1000)), options: options{Options: completions.Options{Limits: stream.Limits{MaxAnswer: 1000}}},
			outcome: "failed: The agent's answer exceeds 1000 bytes",
		},
		"silence": {
			model: func(w http.ResponseWriter, r *http.Request) {
				respondsWith(sse, textChunk("x"))(w, r)
				<-r.Context().Done()
			},
			options: options{Options: completions.Options{Limits: stream.Limits{Idle: 500 * time.Millisecond}}},
			output:  "turn-1=x", outcome: "failed: The agent was silent for 500ms",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			output, outcome := run(t, newModel(t, withModel(tt.options), tt.model), newTurn())
			if output != tt.output || outcome != tt.outcome {
				t.Errorf("Run() said\n%s, %s\nwant\n%s, %s", output, outcome, tt.output, tt.outcome)
			}
		})
	}
}

// TestToolCallsAreBounded checks that the size of all tool calls is at most the limit of an
// event, because they are buffered until the end.
func TestToolCallsAreBounded(t *testing.T) {
	piece := func(name, arguments string) string {
		return `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"` + name + `","arguments":"` + arguments + `"}}]}}]}` + "\n\n"
	}
	long := piece("f", strings.Repeat("x", 900))
	b := newModel(t, withModel(options{Options: completions.Options{Limits: stream.Limits{MaxEvent: 2000}}}), respondsWith(sse, strings.Repeat(long, 4), stop, done))
	const want = "failed: The agent's tool calls exceed 2000 bytes"
	if output, outcome := run(t, b, newTurn()); output != "" || outcome != want {
		t.Errorf("Run() = %q, %s, want %s", output, outcome, want)
	}
}

// TestMetadataIsBounded checks that the metadata omits a long name of a model.
func TestMetadataIsBounded(t *testing.T) {
	long := strings.Repeat("x", 5<<10)
	b := newModel(t, withModel(options{}), respondsWith(sse,
		`data: {"model":"`+long+`","choices":[{"delta":{"content":"x"},"finish_reason":"`+long+`"}]}`+"\n\n", done))
	if output, outcome := run(t, b, newTurn()); output != "turn-1=x/last completed{}" || outcome != "ended" {
		t.Errorf("Run() = %q, %s", output, outcome)
	}
}

// TestEventOfManyPiecesTakesLinearTime checks that no piece is scanned again when the next
// one arrives. Otherwise, four times the pieces would take sixteen times as long.
func TestEventOfManyPiecesTakesLinearTime(t *testing.T) {
	best := func(pieces int) time.Duration {
		least := time.Hour
		for range 3 {
			least = min(least, timeOfPieces(t, pieces))
		}
		return least
	}
	if few, many := best(25_000), best(100_000); many > 10*few+100*time.Millisecond {
		t.Errorf("100,000 pieces took %s, 25,000 %s", many, few)
	}
}

func timeOfPieces(t *testing.T, pieces int) time.Duration {
	t.Helper()
	b := newModel(t, withModel(options{}), respondsWith(sse,
		`data: {"choices":[{"message":{"content":[`+strings.Repeat(`{"text":"0123456789"},`, pieces)+`{"text":"x"}]},"finish_reason":"stop"}]}`+"\n\n", done))
	begin := cpuTime(t)
	output, outcome := run(t, b, newTurn())
	took := cpuTime(t) - begin
	if outcome != "ended" || len(output) < 10*pieces {
		t.Errorf("Run() = %d bytes, %s", len(output), outcome)
	}
	return took
}

// cpuTime returns the processor time of the test process. The wall clock would include the
// load of the machine.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
