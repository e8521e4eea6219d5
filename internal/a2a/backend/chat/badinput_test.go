// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/chat"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

func data(json string) string { return "data: " + json + "\n\n" }

// finish is a chunk that ends the answer for a reason.
func finish(reason string) string {
	return data(`{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`)
}

func message(json, reason string) string {
	return `{"object":"chat.completion","choices":[{"index":0,"message":` + json + `,"finish_reason":"` + reason + `"}]}`
}

// calls are that many calls of tools.
func toolCalls(n int) string {
	return strings.TrimSuffix(strings.Repeat(`{"id":"c"},`, n), ",")
}

// byBytes sends an answer one byte at a time.
func byBytes(contentType, text string) http.HandlerFunc {
	return response(contentType, strings.Split(text, "")...)
}

// TestBadAnswers: what a server sends that is wrong, unusual or nothing at all.
// No answer is lost in silence: a turn ends with all its parts, or it fails with
// what was not understood.
func TestBadAnswers(t *testing.T) {
	const ended = "ended"
	tests := map[string]struct {
		model   http.HandlerFunc
		limits  stream.Limits
		said    string
		outcome string
		// unrecognized is whether the metric counts it.
		unrecognized bool
	}{
		"invalid UTF-8 in a stream": {
			model: response(sse, delta("a\xff\xfeb"), stop, done),
			said:  "turn-1=a\uFFFDb/last completed" + finished, outcome: ended,
		},
		"invalid UTF-8 in a body": {
			model:   response("application/json", message("{\"content\":\"a\xffb\"}", "stop")),
			outcome: "failed: The agent's answer is not JSON: Invalid JSON payload at byte 73; received: " + message("{\"content\":\"a\uFFFDb\"}", "stop"), unrecognized: true,
		},
		"UTF-16": {
			model:   response(sse, "\xff\xfed\x00a\x00t\x00a\x00:\x00"),
			outcome: "failed: The agent's answer has in line 1 no field of an event stream (data, event, id, retry); received: \uFFFD\uFFFDd a t a :", unrecognized: true,
		},
		"tool calls only": {
			model: response(sse, data(`{"choices":[{"delta":{"content":null,"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}`), finish("tool_calls"), done),
			said:  `turn-1={"toolCalls":[{"id":"c","name":"f","arguments":"{}"}]}/last completed{"a2a-operator.dev/finishReason":"tool_calls"}`, outcome: ended,
		},
		"tool calls that share an index": {
			model: response(sse, data(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"g","arguments":"[]"}}]}}]}`), finish("stop"), done),
			said:  `turn-1={"toolCalls":[{"id":"a","name":"f","arguments":"{}"},{"id":"b","name":"g","arguments":"[]"}]}/last completed` + finished, outcome: ended,
		},
		"a function call of the older API": {
			model: response("application/json", message(`{"content":null,"function_call":{"name":"f","arguments":"{}"}}`, "function_call")),
			said:  `turn-1={"toolCalls":[{"id":"","name":"f","arguments":"{}"}]}/last completed{"a2a-operator.dev/finishReason":"function_call"}`, outcome: ended,
		},
		"too many tool calls": {
			model: response(sse, data(`{"choices":[{"delta":{"tool_calls":[`+toolCalls(129)+`]}}]}`), finish("tool_calls"), done),
			// Without an index each has its position.
			outcome: "failed: The agent's answer has more than 128 tool calls",
		},
		"tool calls that are announced and missing": {
			model: response(sse, finish("tool_calls"), done), outcome: `failed: The model announced tool calls and made none (finish_reason "tool_calls")`,
		},
		"usage only": {
			model: response(sse, data(`{"choices":[],"usage":{"total_tokens":3}}`), done), outcome: "failed: The agent's answer ended before the model had finished",
		},
		"a mark only":  {model: response(sse, done), outcome: "failed: The agent's answer ended before the model had finished"},
		"nothing":      {model: response(sse), outcome: "failed: The agent's answer ended before the model had finished"},
		"an empty 200": {model: response("application/json"), outcome: "failed: The agent's answer is not JSON: Invalid JSON payload at byte 0; received: nothing", unrecognized: true},
		"an error in a stream": {
			model: response(sse, delta("x"), data(`{"error":{"message":"out of memory","type":"server_error","code":500}}`), done),
			said:  "turn-1=x", outcome: `failed: The agent reported an error: {"message":"out of memory","type":"server_error","code":500}`,
		},
		"an error in a stream, in the older form": {
			model:   response(sse, data(`{"object":"error","message":"too long","code":40303}`), done),
			outcome: `failed: The agent reported an error: {"object":"error","message":"too long","code":40303}`,
		},
		"an error in a field of the stream": {
			model: response(sse, delta("x"), `error: {"code":500,"message":"slot"}`+"\n\n"),
			said:  "turn-1=x", outcome: `failed: The agent's answer has in line 3 no field of an event stream (data, event, id, retry); received: error: {"code":500,"message":"slot"}`, unrecognized: true,
		},
		"an error in a body": {
			model: response("application/json", `{"error":{"message":"no such model"}}`), outcome: `failed: The agent reported an error: {"message":"no such model"}`,
		},
		"an error beside an answer": {
			model:   response("application/json", strings.Replace(message(`{"content":"x"}`, "stop"), "{", `{"error":"late",`, 1)),
			outcome: `failed: The agent reported an error: "late"`,
		},
		"no error": {
			model: response(sse, data(`{"error":null,"choices":[{"delta":{"content":"x"}}]}`), data(`{"error":"","choices":[{"delta":{"content":"y"},"finish_reason":"stop"}]}`)),
			said:  "turn-1=x turn-1+y/last completed" + finished, outcome: ended,
		},
		"an error as the reason to finish": {
			model: response(sse, delta("x"), finish("error"), done),
			said:  "turn-1=x", outcome: `failed: The agent ended its answer because of an error (finish_reason "error")`,
		},
		"no mark at the end": {
			model: response(sse, delta("x"), stop), said: "turn-1=x/last completed" + finished, outcome: ended,
		},
		"a page": {
			model:   response("text/html; charset=utf-8", "<!DOCTYPE html>\n<html><title>Sign in</title>"),
			outcome: "failed: The agent's answer is neither text/event-stream nor application/json; received: <!DOCTYPE html> <html><title>Sign in</title>", unrecognized: true,
		},
		"a page as a stream": {
			model:   response(sse, "<html>\n</html>\n"),
			outcome: "failed: The agent's answer has in line 1 no field of an event stream (data, event, id, retry); received: <html>", unrecognized: true,
		},
		"JSON as a stream": {
			model:   response(sse, message(`{"content":"x"}`, "stop")),
			outcome: "failed: The agent's answer has in line 1 no field of an event stream (data, event, id, retry); received: " + message(`{"content":"x"}`, "stop"), unrecognized: true,
		},
		"a stream as JSON": {
			model:   response("application/json", delta("x")),
			outcome: "failed: The agent's answer is not JSON: Invalid JSON payload at byte 0; received: " + strings.TrimSpace(delta("x")), unrecognized: true,
		},
		"no type": {
			model:   response("", delta("x")),
			outcome: "failed: The agent's answer is neither text/event-stream nor application/json; received: " + strings.TrimSpace(delta("x")), unrecognized: true,
		},
		"a connection that closes in the middle of a chunk": {
			model: func(w http.ResponseWriter, r *http.Request) {
				response(sse, delta("x"), `data: {"choices":[{"delta":{"con`)(w, r)
				panic(http.ErrAbortHandler)
			},
			said: "turn-1=x", outcome: "failed: The agent's answer broke off",
		},
		"a byte at a time": {
			model: byBytes(sse, delta("x")+stop+done), said: "turn-1=x/last completed" + finished, outcome: ended,
		},
		"a byte at a time, without end": {
			model: func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					response(sse, " ")(w, r)
					time.Sleep(time.Millisecond)
				}
			},
			limits: stream.Limits{Turn: 300 * time.Millisecond}, outcome: "failed: The agent did not finish within 300ms",
		},
		"an object of another kind": {
			model:   response(sse, data(`{"model":"m","message":{"role":"assistant","content":"hi"},"done":false}`)),
			outcome: `failed: The agent's event in line 1 is not a completion: it has no choices, usage or error; received: {"model":"m","message":{"role":"assistant","content":"hi"},"done":false}`, unrecognized: true,
		},
		"an array": {
			model:   response("application/json", "[]"),
			outcome: "failed: The agent's answer is not a completion: must be an object; received: []", unrecognized: true,
		},
		"an answer of the older API": {
			model:   response(sse, data(`{"object":"text_completion","choices":[{"index":0,"text":"hi","finish_reason":"stop"}]}`), done),
			outcome: `failed: The agent's answer has no content that the sidecar recognizes; received: {"object":"text_completion","choices":[{"index":0,"text":"hi","finish_reason":"stop"}]}`, unrecognized: true,
		},
		"content of another name": {
			model:   response("application/json", message(`{"role":"assistant","answer":"hi"}`, "stop")),
			outcome: "failed: The agent's answer has no content that the sidecar recognizes; received: " + message(`{"role":"assistant","answer":"hi"}`, "stop"), unrecognized: true,
		},
		"content of another name in the middle": {
			model: response(sse, delta("x"), data(`{"choices":[{"delta":{"answer":"y"}}]}`), stop, done),
			said:  "turn-1=x", outcome: `failed: The agent's event in line 3 has content other than text and tool calls (answer); received: {"choices":[{"delta":{"answer":"y"}}]}`, unrecognized: true,
		},
		"a choice of another kind": {
			model: response(sse, delta("x"), data(`{"choices":[{"index":0,"output":"y"}]}`), stop, done),
			said:  "turn-1=x", outcome: `failed: The agent's event in line 3 has content other than text and tool calls (a choice without delta, message and finish_reason); received: {"choices":[{"index":0,"output":"y"}]}`, unrecognized: true,
		},
		"a call of another kind": {
			model:   response(sse, data(`{"choices":[{"delta":{"tool_calls":[{"id":"c","type":"custom","custom":{"name":"f","input":"x"}}]}}]}`), finish("tool_calls"), done),
			outcome: `failed: The agent's event in line 1 has content other than text and tool calls (custom in a tool call); received: {"choices":[{"delta":{"tool_calls":[{"id":"c","type":"custom","custom":{"name":"f","input":"x"}}]}}]}`, unrecognized: true,
		},
		"an addition in a chunk of its own": {
			model: response(sse, delta("x"), data(`{"choices":[{"delta":{"annotations":[{"a":1}]}}]}`), stop, done),
			said:  "turn-1=x/last completed" + finished, outcome: ended,
		},
		"an addition to an answer": {
			model: response("application/json", message(`{"role":"assistant","content":"hi","annotations":[{"a":1}],"token_ids":[1]}`, "stop")),
			said:  "turn-1=hi/last completed" + finished, outcome: ended,
		},
		"another choice only": {
			model:   response(sse, data(`{"choices":[{"index":1,"delta":{"content":"hi"}}]}`), stop, done),
			outcome: `failed: The agent's answer has no content that the sidecar recognizes; received: {"choices":[{"index":1,"delta":{"content":"hi"}}]}`, unrecognized: true,
		},
		"sound": {
			model:   response("application/json", message(`{"content":null,"audio":{"data":"AAAA"}}`, "stop")),
			outcome: "failed: The agent's answer has content other than text and tool calls (audio); received: " + message(`{"content":null,"audio":{"data":"AAAA"}}`, "stop"), unrecognized: true,
		},
		"an image among the parts": {
			model: response(sse, delta("x"), data(`{"choices":[{"delta":{"content":[{"type":"image_url","image_url":{}}]}}]}`), stop),
			said:  "turn-1=x", outcome: `failed: The agent's event in line 3 has content other than text and tool calls (image_url); received: {"choices":[{"delta":{"content":[{"type":"image_url","image_url":{}}]}}]}`, unrecognized: true,
		},
		"reasoning, then an answer": {
			model: response(sse, data(`{"choices":[{"delta":{"reasoning_content":"hm"}}]}`), delta("x"), stop, done),
			said:  "turn-1=x/last completed" + finished, outcome: ended,
		},
		"reasoning among the parts": {
			model: response("application/json", message(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"x"}]}`, "stop")),
			said:  "turn-1=x/last completed" + finished, outcome: ended,
		},
		"reasoning only": {
			model: response(sse, data(`{"choices":[{"delta":{"reasoning":"hm"}}]}`), finish("length"), done), outcome: `failed: The model gave its reasoning and no answer (finish_reason "length")`,
		},
		"no room for an answer": {
			model: response(sse, finish("length"), done), outcome: `failed: The model finished without an answer (finish_reason "length")`,
		},
		"a refusal": {
			model: response(sse, data(`{"choices":[{"delta":{"refusal":"I "}}]}`), data(`{"choices":[{"delta":{"refusal":"cannot."}}]}`), stop, done),
			said:  "turn-1=I  turn-1+cannot./last completed" + finished, outcome: ended,
		},
		"a chunk without delta, of a filter that works beside the model": {
			model: response(sse, delta("x"), data(`{"id":"","model":"","choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{"check_offset":1},"content_filter_results":{"hate":{"filtered":false}}}]}`), stop, done),
			said:  "turn-1=x/last completed" + finished, outcome: ended,
		},
		"a delta that is null": {
			model: response(sse, delta("x"), data(`{"choices":[{"index":0,"delta":null,"finish_reason":null}]}`), stop, done),
			said:  "turn-1=x/last completed" + finished, outcome: ended,
		},
		"chunks with all that was said so far beside what is new": {
			model: response(sse, data(`{"choices":[{"index":0,"finish_reason":null,"message":{"role":"assistant","content":"He"},"delta":{"role":"assistant","content":"He"}}]}`),
				data(`{"choices":[{"index":0,"finish_reason":null,"message":{"role":"assistant","content":"Hello"},"delta":{"content":"llo"}}]}`),
				data(`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello"},"delta":{"role":"assistant","content":""}}]}`), done),
			said: "turn-1=He turn-1+llo/last completed" + finished, outcome: ended,
		},
		"a completion with an empty delta beside the message": {
			model: response("application/json", `{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"Hello"},"delta":{"role":"assistant","content":""}}]}`),
			said:  "turn-1=Hello/last completed" + finished, outcome: ended,
		},
		"a stream whose answer is not in the deltas": {
			model:   response(sse, data(`{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"y"},"delta":{}}]}`), done),
			outcome: `failed: The agent's answer has no content that the sidecar recognizes; received: {"choices":[{"index":0,"finish_reason":"stop","message":{"content":"y"},"delta":{}}]}`, unrecognized: true,
		},
		"tools that the server has run itself": {
			model: response(sse, data(`{"choices":[{"index":0,"delta":{"executed_tools":[{"type":"search"}]}}]}`), data(`{"choices":[{"index":0,"delta":{"reasoning_text":"hm"}}]}`), delta("x"), stop, done),
			said:  "turn-1=x/last completed" + finished, outcome: ended,
		},
		"an unknown reason to finish": {
			model: response(sse, delta("x"), finish("eos"), done),
			said:  `turn-1=x/last completed{"a2a-operator.dev/finishReason":"eos"}`, outcome: ended,
		},
		"content of another type": {
			model:   response(sse, data(`{"choices":[{"delta":{"content":{"text":"x"}}}]}`)),
			outcome: `failed: The agent's event in line 1 is not a completion: choices[0].delta.content: must be a string; received: {"choices":[{"delta":{"content":{"text":"x"}}}]}`, unrecognized: true,
		},
		"a long chunk that is not understood": {
			model:   response(sse, data(`{"x":"`+strings.Repeat("y", 1<<20)+`"}`)),
			outcome: `failed: The agent's event in line 1 is not a completion: it has no choices, usage or error; received: {"x":"` + strings.Repeat("y", 191) + "...", unrecognized: true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := model(t, named(chat.Options{Limits: tt.limits}), tt.model)
			var failure *backend.TurnError
			said, outcome := run(t, b, turn(), &failure)
			if said != tt.said || outcome != tt.outcome {
				t.Errorf("Run() said\n%s, %s\nwant\n%s, %s", said, outcome, tt.said, tt.outcome)
			}
			if got := failure != nil && failure.Unrecognized; got != tt.unrecognized {
				t.Errorf("unrecognized = %t, want %t", got, tt.unrecognized)
			}
		})
	}
}

// TestChunkOf64MiB costs a bounded amount of memory.
func TestChunkOf64MiB(t *testing.T) {
	const size, most = 64 << 20, 24 << 20
	b := model(t, named(chat.Options{}), func(w http.ResponseWriter, _ *http.Request) {
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
	said, outcome := run(t, b, turn())
	runtime.ReadMemStats(&after)
	if want := "failed: The agent's event in line 1 exceeds 2621440 bytes"; said != "" || outcome != want {
		t.Errorf("Run() = %.100q, %s, want %s", said, outcome, want)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > most {
		t.Errorf("%d bytes were allocated, want at most %d", grown, most)
	}
}

// TestSecretsInAnswers: the API key that a server repeats is nowhere in what the
// turn says, however the server cuts and wraps it.
func TestSecretsInAnswers(t *testing.T) {
	const key = "sk-canary-0123456789abcdef"
	quote := `{"message":"bad key ` + key + `"}`
	answers := map[string]http.HandlerFunc{
		"text":           response(sse, delta("It is "+key+"."), stop, done),
		"two pieces":     response(sse, delta("It is "+key[:9]), delta(key[9:]+"."), stop, done),
		"many pieces":    response(sse, letters("It is "+key+" and "+key), stop, done),
		"twice in a row": response(sse, delta(key+key[:4]), delta(key[4:]), stop, done),
		"an end cut off": response(sse, delta("It is "+key[:20]), stop, done),
		"a broken stream": func(w http.ResponseWriter, r *http.Request) {
			response(sse, delta("It is "+key[:20]))(w, r)
			panic(http.ErrAbortHandler)
		},
		"a body":            response("application/json", message(`{"content":"`+key+`"}`, "stop")),
		"a call":            response(sse, data(`{"choices":[{"delta":{"tool_calls":[{"id":"`+key+`","function":{"name":"`+key+`","arguments":"{\"k\":\"`+key+`\"}"}}]}}]}`), finish("tool_calls"), done),
		"model and reason":  response(sse, data(`{"model":"`+key+`","usage":{"`+key+`":"`+key+`"},"choices":[{"delta":{"content":"x"},"finish_reason":"`+key+`"}]}`), done),
		"an error":          response(sse, data(`{"error":`+quote+`}`)),
		"an error's text":   response("application/json", `{"error":"`+key+`"}`),
		"another object":    response(sse, data(quote)),
		"another field":     response(sse, key+": "+key+"\n\n"),
		"a page":            response("text/html", "<p>"+key+"</p>"),
		"a long page":       response("text/html", strings.Repeat("x", 180)+key),
		"no JSON":           response(sse, "data: "+key+"\n\n"),
		"sound":             response("application/json", message(`{"audio":{"`+key+`":1}}`, "stop")),
		"a kind of part":    response("application/json", message(`{"content":[{"type":"`+key+`"}]}`, "stop")),
		"an odd answer":     response("application/json", message(`{"`+key+`":"x"}`, "stop")),
		"an empty answer":   response(sse, finish(key), done),
		"a status":          func(w http.ResponseWriter, _ *http.Request) { http.Error(w, key, http.StatusInternalServerError) },
		"a refusal":         func(w http.ResponseWriter, _ *http.Request) { http.Error(w, key, http.StatusUnauthorized) },
		"a rejection":       func(w http.ResponseWriter, _ *http.Request) { http.Error(w, key, http.StatusBadRequest) },
		"an odd type":       response(key, key),
		"the list of model": nil,
	}
	for name, h := range answers {
		t.Run(name, func(t *testing.T) {
			o := chat.Options{Model: "m", Key: func() string { return key }}
			if h == nil {
				o.Model, h = "", response("application/json", `{"data":"`+key+`"}`)
			}
			var failure *backend.TurnError
			said, outcome := run(t, model(t, o, h), turn(), &failure)
			all := strings.Join(strings.Fields(strings.NewReplacer("turn-1+", "", "turn-1=", "").Replace(said)), "") + outcome
			if failure != nil {
				all += failure.Error()
			}
			// A fragment of the key would help to guess the rest.
			for n := 0; n+12 <= len(key); n++ {
				if strings.Contains(all, key[n:n+12]) {
					t.Fatalf("Run() = %s, %s tells of the key", said, outcome)
				}
			}
			if name == "many pieces" && said != "" && !strings.Contains(all, "Itis[redacted]and[redacted]") {
				t.Errorf("Run() = %s, %s", said, outcome)
			}
		})
	}
}

// letters are chunks of one letter each.
func letters(text string) string {
	var all strings.Builder
	for _, r := range text {
		all.WriteString(delta(string(r)))
	}
	return all.String()
}

// A short key is one that nobody means to keep secret, and may be a word of an
// answer.
func TestShortKeysAreNoSecrets(t *testing.T) {
	b := model(t, named(chat.Options{Key: func() string { return "ollama" }}), response(sse, delta("I run on olla"), delta("ma."), stop, done))
	if said, outcome := run(t, b, turn()); said != "turn-1=I run on olla turn-1+ma./last completed"+finished || outcome != "ended" {
		t.Errorf("Run() = %s, %s", said, outcome)
	}
}
