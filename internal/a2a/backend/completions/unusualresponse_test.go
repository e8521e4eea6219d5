// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

func sseEvent(json string) string { return "data: " + json + "\n\n" }

// finishChunk returns the chunk with a finish reason.
func finishChunk(reason string) string {
	return sseEvent(`{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`)
}

func completion(json, reason string) string {
	return `{"object":"chat.completion","choices":[{"index":0,"message":` + json + `,"finish_reason":"` + reason + `"}]}`
}

// toolCalls returns n tool calls.
func toolCalls(n int) string {
	return strings.TrimSuffix(strings.Repeat(`{"id":"c"},`, n), ",")
}

// respondsByteByByte sends a response one byte at a time.
func respondsByteByByte(contentType, text string) http.HandlerFunc {
	return respondsWith(contentType, strings.Split(text, "")...)
}

// TestUnusualResponses tests responses that are wrong, unusual or empty. A turn must end
// with all output of the server, or fail with a reason that names the part that was not
// understood.
func TestUnusualResponses(t *testing.T) {
	const ended = "ended"
	tests := map[string]struct {
		model   http.HandlerFunc
		limits  stream.Limits
		output  string
		outcome string
		// unrecognized is true if the failure counts as unrecognized in metrics.
		unrecognized bool
	}{
		"invalid UTF-8 in a stream": {
			model:  respondsWith(sse, textChunk("a\xff\xfeb"), stop, done),
			output: "turn-1=a\uFFFDb/last completed" + finished, outcome: ended,
		},
		"invalid UTF-8 in a body": {
			model:   respondsWith("application/json", completion("{\"content\":\"a\xffb\"}", "stop")),
			outcome: "failed: The agent's answer is not JSON: Invalid JSON payload at byte 73; received: " + completion("{\"content\":\"a\uFFFDb\"}", "stop"), unrecognized: true,
		},
		"UTF-16": {
			model:   respondsWith(sse, "\xff\xfed\x00a\x00t\x00a\x00:\x00"),
			outcome: "failed: Line 1 of the agent's answer is not a field of an event stream (data, event, id, retry); received: \uFFFD\uFFFDd a t a :", unrecognized: true,
		},
		"tool calls only": {
			model:  respondsWith(sse, sseEvent(`{"choices":[{"delta":{"content":null,"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}`), finishChunk("tool_calls"), done),
			output: `turn-1={"toolCalls":[{"id":"c","name":"f","arguments":"{}"}]}/last completed{"a2a-operator.dev/finishReason":"tool_calls"}`, outcome: ended,
		},
		"tool calls that share an index": {
			model:  respondsWith(sse, sseEvent(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"g","arguments":"[]"}}]}}]}`), finishChunk("stop"), done),
			output: `turn-1={"toolCalls":[{"id":"a","name":"f","arguments":"{}"},{"id":"b","name":"g","arguments":"[]"}]}/last completed` + finished, outcome: ended,
		},
		"a function call of the older API": {
			model:  respondsWith("application/json", completion(`{"content":null,"function_call":{"name":"f","arguments":"{}"}}`, "function_call")),
			output: `turn-1={"toolCalls":[{"id":"","name":"f","arguments":"{}"}]}/last completed{"a2a-operator.dev/finishReason":"function_call"}`, outcome: ended,
		},
		"too many tool calls": {
			model: respondsWith(sse, sseEvent(`{"choices":[{"delta":{"tool_calls":[`+toolCalls(129)+`]}}]}`), finishChunk("tool_calls"), done),
			// A tool call without an index has its position as the index.
			outcome: "failed: The agent's answer has more than 128 tool calls",
		},
		"tool calls that are announced and missing": {
			model: respondsWith(sse, finishChunk("tool_calls"), done), outcome: `failed: The model announced tool calls and made none (finish_reason "tool_calls")`,
		},
		"usage only": {
			model: respondsWith(sse, sseEvent(`{"choices":[],"usage":{"total_tokens":3}}`), done), outcome: "failed: The agent's answer ended before the model had finished",
		},
		"the final marker only": {model: respondsWith(sse, done), outcome: "failed: The agent's answer ended before the model had finished"},
		"nothing":               {model: respondsWith(sse), outcome: "failed: The agent's answer ended before the model had finished"},
		"an empty 200":          {model: respondsWith("application/json"), outcome: "failed: The agent's answer is not JSON: Invalid JSON payload at byte 0; received: nothing", unrecognized: true},
		"an error in a stream": {
			model:  respondsWith(sse, textChunk("x"), sseEvent(`{"error":{"message":"out of memory","type":"server_error","code":500}}`), done),
			output: "turn-1=x", outcome: `failed: The agent reported an error: {"message":"out of memory","type":"server_error","code":500}`,
		},
		"an error in a stream, in the older form": {
			model:   respondsWith(sse, sseEvent(`{"object":"error","message":"too long","code":40303}`), done),
			outcome: `failed: The agent reported an error: {"object":"error","message":"too long","code":40303}`,
		},
		"an error in a field of the stream": {
			model:  respondsWith(sse, textChunk("x"), `error: {"code":500,"message":"slot"}`+"\n\n"),
			output: "turn-1=x", outcome: `failed: Line 3 of the agent's answer is not a field of an event stream (data, event, id, retry); received: error: {"code":500,"message":"slot"}`, unrecognized: true,
		},
		"an error in a body": {
			model: respondsWith("application/json", `{"error":{"message":"no such model"}}`), outcome: `failed: The agent reported an error: {"message":"no such model"}`,
		},
		"an error beside an answer": {
			model:   respondsWith("application/json", strings.Replace(completion(`{"content":"x"}`, "stop"), "{", `{"error":"late",`, 1)),
			outcome: `failed: The agent reported an error: "late"`,
		},
		"no error": {
			model:  respondsWith(sse, sseEvent(`{"error":null,"choices":[{"delta":{"content":"x"}}]}`), sseEvent(`{"error":"","choices":[{"delta":{"content":"y"},"finish_reason":"stop"}]}`)),
			output: "turn-1=x turn-1+y/last completed" + finished, outcome: ended,
		},
		"an error as the reason to finish": {
			model:  respondsWith(sse, textChunk("x"), finishChunk("error"), done),
			output: "turn-1=x", outcome: `failed: The agent ended its answer because of an error (finish_reason "error")`,
		},
		"no mark at the end": {
			model: respondsWith(sse, textChunk("x"), stop), output: "turn-1=x/last completed" + finished, outcome: ended,
		},
		"a page": {
			model:   respondsWith("text/html; charset=utf-8", "<!DOCTYPE html>\n<html><title>Sign in</title>"),
			outcome: "failed: The agent's answer is neither text/event-stream nor application/json; received: <!DOCTYPE html> <html><title>Sign in</title>", unrecognized: true,
		},
		"a page as a stream": {
			model:   respondsWith(sse, "<html>\n</html>\n"),
			outcome: "failed: Line 1 of the agent's answer is not a field of an event stream (data, event, id, retry); received: <html>", unrecognized: true,
		},
		"JSON as a stream": {
			model:   respondsWith(sse, completion(`{"content":"x"}`, "stop")),
			outcome: "failed: Line 1 of the agent's answer is not a field of an event stream (data, event, id, retry); received: " + completion(`{"content":"x"}`, "stop"), unrecognized: true,
		},
		"a stream as JSON": {
			model:   respondsWith("application/json", textChunk("x")),
			outcome: "failed: The agent's answer is not JSON: Invalid JSON payload at byte 0; received: " + strings.TrimSpace(textChunk("x")), unrecognized: true,
		},
		"no type": {
			model:   respondsWith("", textChunk("x")),
			outcome: "failed: The agent's answer is neither text/event-stream nor application/json; received: " + strings.TrimSpace(textChunk("x")), unrecognized: true,
		},
		"a connection that closes in the middle of a chunk": {
			model: func(w http.ResponseWriter, r *http.Request) {
				respondsWith(sse, textChunk("x"), `data: {"choices":[{"delta":{"con`)(w, r)
				panic(http.ErrAbortHandler)
			},
			output: "turn-1=x", outcome: "failed: The agent's answer broke off",
		},
		"a byte at a time": {
			model: respondsByteByByte(sse, textChunk("x")+stop+done), output: "turn-1=x/last completed" + finished, outcome: ended,
		},
		"a byte at a time, without end": {
			model: func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					respondsWith(sse, " ")(w, r)
					time.Sleep(time.Millisecond)
				}
			},
			limits: stream.Limits{Turn: 300 * time.Millisecond}, outcome: "failed: The agent did not finish within 300ms",
		},
		"an object of another kind": {
			model:   respondsWith(sse, sseEvent(`{"model":"m","message":{"role":"assistant","content":"hi"},"done":false}`)),
			outcome: `failed: The agent's event in line 1 is not a completion: it has no choices, usage or error; received: {"model":"m","message":{"role":"assistant","content":"hi"},"done":false}`, unrecognized: true,
		},
		"an array": {
			model:   respondsWith("application/json", "[]"),
			outcome: "failed: The agent's answer is not a completion: must be an object; received: []", unrecognized: true,
		},
		"an answer of the older API": {
			model:   respondsWith(sse, sseEvent(`{"object":"text_completion","choices":[{"index":0,"text":"hi","finish_reason":"stop"}]}`), done),
			outcome: `failed: The agent's answer has no content that the sidecar recognizes; received: {"object":"text_completion","choices":[{"index":0,"text":"hi","finish_reason":"stop"}]}`, unrecognized: true,
		},
		"content of another name": {
			model:   respondsWith("application/json", completion(`{"role":"assistant","answer":"hi"}`, "stop")),
			outcome: "failed: The agent's answer has no content that the sidecar recognizes; received: " + completion(`{"role":"assistant","answer":"hi"}`, "stop"), unrecognized: true,
		},
		"content of another name in the middle": {
			model:  respondsWith(sse, textChunk("x"), sseEvent(`{"choices":[{"delta":{"answer":"y"}}]}`), stop, done),
			output: "turn-1=x", outcome: `failed: The agent's event in line 3 has content other than text and tool calls (answer); received: {"choices":[{"delta":{"answer":"y"}}]}`, unrecognized: true,
		},
		"a choice of another kind": {
			model:  respondsWith(sse, textChunk("x"), sseEvent(`{"choices":[{"index":0,"output":"y"}]}`), stop, done),
			output: "turn-1=x", outcome: `failed: The agent's event in line 3 has content other than text and tool calls (a choice without delta, message and finish_reason); received: {"choices":[{"index":0,"output":"y"}]}`, unrecognized: true,
		},
		"a call of another kind": {
			model:   respondsWith(sse, sseEvent(`{"choices":[{"delta":{"tool_calls":[{"id":"c","type":"custom","custom":{"name":"f","input":"x"}}]}}]}`), finishChunk("tool_calls"), done),
			outcome: `failed: The agent's event in line 1 has content other than text and tool calls (custom in a tool call); received: {"choices":[{"delta":{"tool_calls":[{"id":"c","type":"custom","custom":{"name":"f","input":"x"}}]}}]}`, unrecognized: true,
		},
		"an addition in a chunk of its own": {
			model:  respondsWith(sse, textChunk("x"), sseEvent(`{"choices":[{"delta":{"annotations":[{"a":1}]}}]}`), stop, done),
			output: "turn-1=x/last completed" + finished, outcome: ended,
		},
		"an addition to an answer": {
			model:  respondsWith("application/json", completion(`{"role":"assistant","content":"hi","annotations":[{"a":1}],"token_ids":[1]}`, "stop")),
			output: "turn-1=hi/last completed" + finished, outcome: ended,
		},
		"only a choice with another index": {
			model:   respondsWith(sse, sseEvent(`{"choices":[{"index":1,"delta":{"content":"hi"}}]}`), stop, done),
			outcome: `failed: The agent's answer has no content that the sidecar recognizes; received: {"choices":[{"index":1,"delta":{"content":"hi"}}]}`, unrecognized: true,
		},
		"sound": {
			model:   respondsWith("application/json", completion(`{"content":null,"audio":{"data":"AAAA"}}`, "stop")),
			outcome: "failed: The agent's answer has content other than text and tool calls (audio); received: " + completion(`{"content":null,"audio":{"data":"AAAA"}}`, "stop"), unrecognized: true,
		},
		"an image among the parts": {
			model:  respondsWith(sse, textChunk("x"), sseEvent(`{"choices":[{"delta":{"content":[{"type":"image_url","image_url":{}}]}}]}`), stop),
			output: "turn-1=x", outcome: `failed: The agent's event in line 3 has content other than text and tool calls (image_url); received: {"choices":[{"delta":{"content":[{"type":"image_url","image_url":{}}]}}]}`, unrecognized: true,
		},
		"reasoning, then an answer": {
			model:  respondsWith(sse, sseEvent(`{"choices":[{"delta":{"reasoning_content":"hm"}}]}`), textChunk("x"), stop, done),
			output: "turn-1=x/last completed" + finished, outcome: ended,
		},
		"reasoning among the parts": {
			model:  respondsWith("application/json", completion(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"x"}]}`, "stop")),
			output: "turn-1=x/last completed" + finished, outcome: ended,
		},
		"reasoning only": {
			model: respondsWith(sse, sseEvent(`{"choices":[{"delta":{"reasoning":"hm"}}]}`), finishChunk("length"), done), outcome: `failed: The model gave its reasoning and no answer (finish_reason "length")`,
		},
		"no room for an answer": {
			model: respondsWith(sse, finishChunk("length"), done), outcome: `failed: The model finished without an answer (finish_reason "length")`,
		},
		"a refusal": {
			model:  respondsWith(sse, sseEvent(`{"choices":[{"delta":{"refusal":"I "}}]}`), sseEvent(`{"choices":[{"delta":{"refusal":"cannot."}}]}`), stop, done),
			output: "turn-1=I  turn-1+cannot./last completed" + finished, outcome: ended,
		},
		"a chunk without delta, of a filter that works beside the model": {
			model:  respondsWith(sse, textChunk("x"), sseEvent(`{"id":"","model":"","choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{"check_offset":1},"content_filter_results":{"hate":{"filtered":false}}}]}`), stop, done),
			output: "turn-1=x/last completed" + finished, outcome: ended,
		},
		"a delta that is null": {
			model:  respondsWith(sse, textChunk("x"), sseEvent(`{"choices":[{"index":0,"delta":null,"finish_reason":null}]}`), stop, done),
			output: "turn-1=x/last completed" + finished, outcome: ended,
		},
		"chunks with the whole text so far beside the new text": {
			model: respondsWith(sse, sseEvent(`{"choices":[{"index":0,"finish_reason":null,"message":{"role":"assistant","content":"He"},"delta":{"role":"assistant","content":"He"}}]}`),
				sseEvent(`{"choices":[{"index":0,"finish_reason":null,"message":{"role":"assistant","content":"Hello"},"delta":{"content":"llo"}}]}`),
				sseEvent(`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello"},"delta":{"role":"assistant","content":""}}]}`), done),
			output: "turn-1=He turn-1+llo/last completed" + finished, outcome: ended,
		},
		"a completion with an empty delta beside the message": {
			model:  respondsWith("application/json", `{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"Hello"},"delta":{"role":"assistant","content":""}}]}`),
			output: "turn-1=Hello/last completed" + finished, outcome: ended,
		},
		"a stream whose answer is not in the deltas": {
			model:   respondsWith(sse, sseEvent(`{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"y"},"delta":{}}]}`), done),
			outcome: `failed: The agent's answer has no content that the sidecar recognizes; received: {"choices":[{"index":0,"finish_reason":"stop","message":{"content":"y"},"delta":{}}]}`, unrecognized: true,
		},
		"tools that the server has run itself": {
			model:  respondsWith(sse, sseEvent(`{"choices":[{"index":0,"delta":{"executed_tools":[{"type":"search"}]}}]}`), sseEvent(`{"choices":[{"index":0,"delta":{"reasoning_text":"hm"}}]}`), textChunk("x"), stop, done),
			output: "turn-1=x/last completed" + finished, outcome: ended,
		},
		"an unknown reason to finish": {
			model:  respondsWith(sse, textChunk("x"), finishChunk("eos"), done),
			output: `turn-1=x/last completed{"a2a-operator.dev/finishReason":"eos"}`, outcome: ended,
		},
		"content of another type": {
			model:   respondsWith(sse, sseEvent(`{"choices":[{"delta":{"content":{"text":"x"}}}]}`)),
			outcome: `failed: The agent's event in line 1 is not a completion: choices[0].delta.content: must be a string; received: {"choices":[{"delta":{"content":{"text":"x"}}}]}`, unrecognized: true,
		},
		"a long chunk that is not understood": {
			model:   respondsWith(sse, sseEvent(`{"x":"`+strings.Repeat("y", 1<<20)+`"}`)),
			outcome: `failed: The agent's event in line 1 is not a completion: it has no choices, usage or error; received: {"x":"` + strings.Repeat("y", 191) + "...", unrecognized: true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newModel(t, withModel(options{Options: completions.Options{Limits: tt.limits}}), tt.model)
			var failure *backend.TurnError
			output, outcome := run(t, b, newTurn(), &failure)
			if output != tt.output || outcome != tt.outcome {
				t.Errorf("Run() said\n%s, %s\nwant\n%s, %s", output, outcome, tt.output, tt.outcome)
			}
			if got := failure != nil && failure.Unrecognized; got != tt.unrecognized {
				t.Errorf("unrecognized = %t, want %t", got, tt.unrecognized)
			}
		})
	}
}

// TestLongChunkIsReadUpToTheEventLimit checks that a chunk of 64 MiB uses bounded memory.
func TestLongChunkIsReadUpToTheEventLimit(t *testing.T) {
	const size, most = 64 << 20, 24 << 20
	b := newModel(t, withModel(options{}), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", sse)
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"`)
		piece := strings.Repeat("x", 1<<20)
		for range size >> 20 {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	output, outcome := run(t, b, newTurn())
	runtime.ReadMemStats(&after)
	if want := "failed: The agent's event in line 1 exceeds 2621440 bytes"; output != "" || outcome != want {
		t.Errorf("Run() = %.100q, %s, want %s", output, outcome, want)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > most {
		t.Errorf("%d bytes were allocated, want at most %d", grown, most)
	}
}

// TestAPIKeyIsRedactedInResponses checks that no output of the turn contains the API key if
// the server repeats it, however the server splits and encodes the key.
func TestAPIKeyIsRedactedInResponses(t *testing.T) {
	const key = "sk-canary-0123456789abcdef"
	quote := `{"message":"bad key ` + key + `"}`
	answers := map[string]http.HandlerFunc{
		"text":           respondsWith(sse, textChunk("It is "+key+"."), stop, done),
		"two pieces":     respondsWith(sse, textChunk("It is "+key[:9]), textChunk(key[9:]+"."), stop, done),
		"many pieces":    respondsWith(sse, oneLetterChunks("It is "+key+" and "+key), stop, done),
		"twice in a row": respondsWith(sse, textChunk(key+key[:4]), textChunk(key[4:]), stop, done),
		"an end cut off": respondsWith(sse, textChunk("It is "+key[:20]), stop, done),
		"a broken stream": func(w http.ResponseWriter, r *http.Request) {
			respondsWith(sse, textChunk("It is "+key[:20]))(w, r)
			panic(http.ErrAbortHandler)
		},
		"a body":            respondsWith("application/json", completion(`{"content":"`+key+`"}`, "stop")),
		"a call":            respondsWith(sse, sseEvent(`{"choices":[{"delta":{"tool_calls":[{"id":"`+key+`","function":{"name":"`+key+`","arguments":"{\"k\":\"`+key+`\"}"}}]}}]}`), finishChunk("tool_calls"), done),
		"model and reason":  respondsWith(sse, sseEvent(`{"model":"`+key+`","usage":{"`+key+`":"`+key+`"},"choices":[{"delta":{"content":"x"},"finish_reason":"`+key+`"}]}`), done),
		"an error":          respondsWith(sse, sseEvent(`{"error":`+quote+`}`)),
		"an error's text":   respondsWith("application/json", `{"error":"`+key+`"}`),
		"another object":    respondsWith(sse, sseEvent(quote)),
		"another field":     respondsWith(sse, key+": "+key+"\n\n"),
		"a page":            respondsWith("text/html", "<p>"+key+"</p>"),
		"a long page":       respondsWith("text/html", strings.Repeat("x", 180)+key),
		"no JSON":           respondsWith(sse, "data: "+key+"\n\n"),
		"sound":             respondsWith("application/json", completion(`{"audio":{"`+key+`":1}}`, "stop")),
		"a kind of part":    respondsWith("application/json", completion(`{"content":[{"type":"`+key+`"}]}`, "stop")),
		"an odd answer":     respondsWith("application/json", completion(`{"`+key+`":"x"}`, "stop")),
		"an empty answer":   respondsWith(sse, finishChunk(key), done),
		"a status":          func(w http.ResponseWriter, _ *http.Request) { http.Error(w, key, http.StatusInternalServerError) },
		"a refusal":         func(w http.ResponseWriter, _ *http.Request) { http.Error(w, key, http.StatusUnauthorized) },
		"a rejection":       func(w http.ResponseWriter, _ *http.Request) { http.Error(w, key, http.StatusBadRequest) },
		"an odd type":       respondsWith(key, key),
		"the list of model": nil,
	}
	for name, h := range answers {
		t.Run(name, func(t *testing.T) {
			o := options{Options: completions.Options{Model: "m", Key: func() string { return key }}}
			if h == nil {
				o.Model, h = "", respondsWith("application/json", `{"data":"`+key+`"}`)
			}
			var failure *backend.TurnError
			output, outcome := run(t, newModel(t, o, h), newTurn(), &failure)
			all := strings.Join(strings.Fields(strings.NewReplacer("turn-1+", "", "turn-1=", "").Replace(output)), "") + outcome
			if failure != nil {
				all += failure.Error()
			}
			// A fragment of the key would make the rest easier to guess.
			for n := 0; n+12 <= len(key); n++ {
				if strings.Contains(all, key[n:n+12]) {
					t.Fatalf("Run() = %s, %s tells of the key", output, outcome)
				}
			}
			if name == "many pieces" && output != "" && !strings.Contains(all, "Itis[redacted]and[redacted]") {
				t.Errorf("Run() = %s, %s", output, outcome)
			}
		})
	}
}

// oneLetterChunks returns one chunk for each letter.
func oneLetterChunks(text string) string {
	var all strings.Builder
	for _, r := range text {
		all.WriteString(textChunk(string(r)))
	}
	return all.String()
}

// TestShortAPIKeyIsNotRedacted checks that a short key is not replaced: it is a
// placeholder, and may be a word of an answer.
func TestShortAPIKeyIsNotRedacted(t *testing.T) {
	b := newModel(t, withModel(options{Options: completions.Options{Key: func() string { return "ollama" }}}), respondsWith(sse, textChunk("I run on olla"), textChunk("ma."), stop, done))
	if output, outcome := run(t, b, newTurn()); output != "turn-1=I run on olla turn-1+ma./last completed"+finished || outcome != "ended" {
		t.Errorf("Run() = %s, %s", output, outcome)
	}
}
