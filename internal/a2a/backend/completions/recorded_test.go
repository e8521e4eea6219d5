// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// events returns an event stream with the data of events.
func events(all ...string) string {
	var text strings.Builder
	for _, each := range all {
		text.WriteString("data: " + each + "\n\n")
	}
	return text.String()
}

// recorded has streams in the forms of common servers.
var recorded = map[string]string{
	"vLLM": events(
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":null},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null}`,
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen","choices":[{"index":0,"delta":{"content":"Hello"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`,
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen","choices":[{"index":0,"delta":{"content":", wörld"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`,
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen","choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"stop","stop_reason":null,"token_ids":null}]}`,
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen","choices":[],"usage":{"prompt_tokens":9,"total_tokens":12,"completion_tokens":3}}`,
		`[DONE]`),
	"vLLM, reasoning": events(
		`{"id":"chatcmpl-2","object":"chat.completion.chunk","model":"r1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`,
		`{"id":"chatcmpl-2","object":"chat.completion.chunk","model":"r1","choices":[{"index":0,"delta":{"reasoning_content":"Let me see"},"logprobs":null,"finish_reason":null}]}`,
		`{"id":"chatcmpl-2","object":"chat.completion.chunk","model":"r1","choices":[{"index":0,"delta":{"content":"Four"},"logprobs":null,"finish_reason":"stop"}]}`,
		`[DONE]`),
	"vLLM, tools": events(
		`{"id":"chatcmpl-3","object":"chat.completion.chunk","model":"q","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
		`{"id":"chatcmpl-3","object":"chat.completion.chunk","model":"q","choices":[{"index":0,"delta":{"tool_calls":[{"id":"call_1","type":"function","index":0,"function":{"name":"look","arguments":""}}]},"finish_reason":null}]}`,
		`{"id":"chatcmpl-3","object":"chat.completion.chunk","model":"q","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]},"finish_reason":null}]}`,
		`{"id":"chatcmpl-3","object":"chat.completion.chunk","model":"q","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":null}]}`,
		`{"id":"chatcmpl-3","object":"chat.completion.chunk","model":"q","choices":[{"index":0,"delta":{"content":""},"finish_reason":"tool_calls"}]}`,
		`[DONE]`),
	"Ollama": events(
		`{"id":"chatcmpl-4","object":"chat.completion.chunk","created":1,"model":"qwen2.5:0.5b","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}`,
		`{"id":"chatcmpl-4","object":"chat.completion.chunk","created":1,"model":"qwen2.5:0.5b","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":" there"},"finish_reason":null}]}`,
		`{"id":"chatcmpl-4","object":"chat.completion.chunk","created":1,"model":"qwen2.5:0.5b","system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}`,
		`{"id":"chatcmpl-4","object":"chat.completion.chunk","created":1,"model":"qwen2.5:0.5b","system_fingerprint":"fp_ollama","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`,
		`[DONE]`),
	"llama.cpp": events(
		`{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1,"id":"chatcmpl-5","model":"gpt-3.5-turbo","system_fingerprint":"b1","object":"chat.completion.chunk"}`,
		`{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Yes"}}],"created":1,"id":"chatcmpl-5","model":"gpt-3.5-turbo","system_fingerprint":"b1","object":"chat.completion.chunk"}`,
		`{"choices":[{"finish_reason":"length","index":0,"delta":{}}],"created":1,"id":"chatcmpl-5","model":"gpt-3.5-turbo","system_fingerprint":"b1","object":"chat.completion.chunk"}`,
		`{"choices":[],"created":1,"id":"chatcmpl-5","model":"gpt-3.5-turbo","system_fingerprint":"b1","object":"chat.completion.chunk","usage":{"completion_tokens":1,"prompt_tokens":2,"total_tokens":3},"timings":{"prompt_n":2}}`,
		`[DONE]`),
	"OpenAI": ": keep-alive\r\n\r\n" + strings.ReplaceAll(events(
		`{"id":"chatcmpl-6","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"default","system_fingerprint":"fp","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"Xy"}`,
		`{"id":"chatcmpl-6","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"default","system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":"A \"quoted\" \u00e9\ud83d\ude00"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"Z"}`,
		`{"id":"chatcmpl-6","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"default","system_fingerprint":"fp","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}`,
		`{"id":"chatcmpl-6","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"default","system_fingerprint":"fp","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
		`[DONE]`), "\n", "\r\n"),
	"OpenAI, a refusal": events(
		`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","refusal":"I can"},"finish_reason":null}]}`,
		`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"refusal":"not."},"finish_reason":null}]}`,
		`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		`[DONE]`),
	"an error in the middle": events(
		`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"}}]}`,
		`{"error":{"message":"out of memory","code":500}}`,
		`[DONE]`),
}

// memoryTransport responds to each request with the same body.
type memoryTransport struct {
	body  []byte
	whole bool
	bytes bool
}

func (m memoryTransport) RoundTrip(*http.Request) (*http.Response, error) {
	var body io.Reader = bytes.NewReader(m.body)
	if m.bytes {
		body = iotest.OneByteReader(body)
	}
	kind := sse
	if m.whole {
		kind = "application/json"
	}
	return &http.Response{StatusCode: http.StatusOK, ProtoMajor: 2, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(body), ContentLength: -1}, nil
}

// runResult is the outcome of a turn.
type runResult struct {
	ended, completed bool
	text             string
	calls            string
	failure          string
}

func (m memoryTransport) run(t *testing.T) (got runResult) {
	t.Helper()
	key := func() string { return "" }
	b, err := newCaller(options{Options: completions.Options{URL: "http://model", Model: "m", Transport: m, Key: key, RefreshKey: key, Limits: stream.Limits{MaxEvent: 64 << 10}}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	err = b.Run(context.Background(), newTurn(), func(all []a2a.Event) error {
		for i := range all {
			if u := all[i].Artifact; u != nil {
				for j := range u.Artifact.Parts {
					got.text += u.Artifact.Parts[j].Text
					got.calls += string(u.Artifact.Parts[j].Data)
				}
			}
			if s := all[i].Status; s != nil {
				got.ended, got.completed = true, s.Status.State == a2a.StateCompleted
				if s.Status.Message != nil {
					got.failure = s.Status.Message.Parts[0].Text
				}
				return backend.ErrTurnEnded
			}
		}
		return nil
	})
	if failure, ok := errors.AsType[*backend.TurnError](err); ok {
		got.ended, got.failure = true, failure.Reason
	}
	return got
}

// expected decodes a valid stream without the code of the product. It returns the text of
// the answer and the arguments of all tool calls.
func expected(body []byte) (text, arguments string) {
	normal := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(bytes.TrimPrefix(body, []byte("\uFEFF"))))
	lines := bufio.NewScanner(strings.NewReader(normal))
	lines.Buffer(nil, 1<<20)
	var event []string
	take := func() bool {
		joined := strings.TrimSpace(strings.Join(event, "\n"))
		event = nil
		if joined == "[DONE]" {
			return false
		}
		var chunk struct {
			Choices []struct {
				Index   int
				Delta   map[string]any
				Message map[string]any
			}
		}
		if json.Unmarshal([]byte(strings.ToValidUTF8(joined, "\uFFFD")), &chunk) != nil {
			return true
		}
		for _, c := range chunk.Choices {
			if c.Index != 0 {
				continue
			}
			output := []map[string]any{c.Delta}
			if c.Delta == nil {
				output[0] = c.Message // in a chunk, message repeats the deltas
			}
			for _, m := range output {
				for _, name := range []string{"content", "refusal"} {
					if s, ok := m[name].(string); ok {
						text += s
					}
				}
				all, _ := m["tool_calls"].([]any)
				for _, each := range all {
					one, _ := each.(map[string]any)
					f, _ := one["function"].(map[string]any)
					s, _ := f["arguments"].(string)
					arguments += s
				}
			}
		}
		return true
	}
	for lines.Scan() {
		line := lines.Text()
		if value, ok := strings.CutPrefix(line, "data:"); ok {
			event = append(event, strings.TrimPrefix(value, " "))
		} else if line == "" && event != nil && !take() {
			return text, arguments
		}
	}
	if event != nil {
		take()
	}
	return text, arguments
}

// checkResult compares the outcome of a turn with the content of the stream.
func checkResult(t *testing.T, what string, body []byte, got runResult) {
	t.Helper()
	switch {
	case !got.ended:
		t.Fatalf("%s: the turn has no end\n%s", what, body)
	case !utf8.ValidString(got.text + got.calls + got.failure):
		t.Fatalf("%s: not UTF-8: %+v", what, got)
	case !got.completed && got.failure == "":
		t.Fatalf("%s: fails without a reason\n%s", what, body)
	case !got.completed:
		return
	}
	text, arguments := expected(body)
	if got.text != text {
		t.Fatalf("%s: completed with %q, the server said %q\n%s", what, got.text, text, body)
	}
	var parsed struct {
		ToolCalls []struct{ Arguments string }
	}
	if got.calls != "" {
		if err := json.Unmarshal([]byte(got.calls), &parsed); err != nil {
			t.Fatalf("%s: calls %q: %v", what, got.calls, err)
		}
	}
	length := 0
	for _, c := range parsed.ToolCalls {
		length += len(c.Arguments)
	}
	if length != len(arguments) {
		t.Fatalf("%s: completed with calls %s, the server said %q\n%s", what, got.calls, arguments, body)
	}
}

// TestRecordedStreams checks that each stream has the same outcome in one piece and byte by
// byte.
func TestRecordedStreams(t *testing.T) {
	want := map[string]runResult{
		"vLLM":                   {ended: true, completed: true, text: "Hello, wörld"},
		"vLLM, reasoning":        {ended: true, completed: true, text: "Four"},
		"vLLM, tools":            {ended: true, completed: true, calls: `{"toolCalls":[{"id":"call_1","name":"look","arguments":"{\"a\":1}"}]}`},
		"Ollama":                 {ended: true, completed: true, text: "Hi there"},
		"llama.cpp":              {ended: true, completed: true, text: "Yes"},
		"OpenAI":                 {ended: true, completed: true, text: "A \"quoted\" é😀"},
		"OpenAI, a refusal":      {ended: true, completed: true, text: "I cannot."},
		"an error in the middle": {ended: true, text: "x", failure: `The agent reported an error: {"message":"out of memory","code":500}`},
	}
	for name, text := range recorded {
		for _, slow := range []bool{false, true} {
			if got := (memoryTransport{body: []byte(text), bytes: slow}).run(t); got != want[name] {
				t.Errorf("%s: %+v, want %+v", name, got, want[name])
			}
		}
	}
}

// TestCorruptedStreamLosesNoOutput corrupts each stream at every position. It checks that
// the turn has all output of the server, or fails with a reason.
func TestCorruptedStreamLosesNoOutput(t *testing.T) {
	runs, completed := 0, 0
	attempt := func(what string, body []byte) {
		t.Helper()
		got := memoryTransport{body: body}.run(t)
		checkResult(t, what, body, got)
		if runs++; got.completed {
			completed++
		}
	}
	for name, text := range recorded {
		whole := memoryTransport{body: []byte(text)}.run(t)
		for at := range text {
			cut := []byte(text[:at])
			// A cut stream must never result in a complete but shorter answer.
			if got := (memoryTransport{body: cut}).run(t); got.completed && (got.text != whole.text || got.calls != whole.calls) {
				t.Fatalf("%s, cut off at %d: completed with %q %s", name, at, got.text, got.calls)
			}
			for _, with := range []byte{'X', '"', '\n', 0xff} {
				body := []byte(text)
				body[at] = with
				attempt(name+", one byte", body)
			}
			attempt(name+", a byte less", append([]byte(text[:at]), text[at+1:]...))
		}
		lines := strings.SplitAfter(text, "\n\n")
		for i := range lines {
			without := strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "")
			attempt(name+", an event less", []byte(without))
			twice := strings.Join(append(append([]string{}, lines[:i+1]...), lines[i:]...), "")
			attempt(name+", an event twice", []byte(twice))
		}
	}
	t.Logf("%d damaged streams, %d of them completed with what the server said, the others failed with a reason", runs, completed)
}

// FuzzResponse checks that, for any response of a server, the turn has all output or fails
// with a reason.
func FuzzResponse(f *testing.F) {
	for _, text := range recorded {
		f.Add([]byte(text), false)
	}
	f.Add([]byte(completion(`{"role":"assistant","content":"Hi"}`, "stop")), true)
	f.Add([]byte(completion(`{"content":[{"type":"text","text":"a"},{"type":"thinking","thinking":"b"}]}`, "stop")), true)
	f.Add([]byte(completion(`{"content":null,"function_call":{"name":"f","arguments":"{}"}}`, "function_call")), true)
	f.Fuzz(func(t *testing.T, body []byte, whole bool) {
		got := memoryTransport{body: body, whole: whole}.run(t)
		if whole || bytes.Contains(body, []byte("arguments")) || bytes.Contains(body, []byte("content\":[")) || bytes.Contains(body, []byte("content\": [")) {
			// The function expected decodes only streams of plain text.
			if !got.ended || !got.completed && got.failure == "" || !utf8.ValidString(got.text+got.calls+got.failure) {
				t.Fatalf("%+v", got)
			}
			return
		}
		if len(body) < 32<<10 && utf8.Valid(body) {
			checkResult(t, "fuzz", body, got)
		}
	})
}
