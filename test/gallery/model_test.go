// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gallery

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// modelKey is the only key that the model takes.
const modelKey = "sk-gallery-secret"

// model is a language model server without weights. It speaks OpenAI's chat
// completions, streamed or whole. What it answers is decided by the last word
// with a # in the last message:
//
//	#count N   N words, w1 to wN
//	#gate      "one ", and after release "two three"
//	#wait      "one ", and then nothing until the caller leaves
//	#fail      status 400, with a text that no client may see
//	#break     "one ", and then the connection ends
//	#recall    what the user said in earlier messages
//	#book      a call of the tool book_table; so does "Book a table"
//
// The result of a tool is repeated, and everything else is greeted.
type model struct {
	*httptest.Server
	t *testing.T

	mu sync.Mutex
	// waiting gets a call at #gate and #wait.
	waiting chan *call
	// sent are the answers that were sent to the end.
	sent []string
}

// call is a request that the model holds.
type call struct {
	// release lets #gate go on.
	release chan struct{}
	// left is closed when the caller has gone.
	left <-chan struct{}
}

// completion is a request, as far as the model looks.
type completion struct {
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
	Tools []struct{ Function struct{ Name string } }

	Stream        bool
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// text is the content of message i, which is a string or a list of parts.
func (c *completion) text(i int) string {
	var text string
	if json.Unmarshal(c.Messages[i].Content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(c.Messages[i].Content, &parts)
	for _, part := range parts {
		text += part.Text
	}
	return text
}

func (c *completion) has(tool string) bool {
	return slices.ContainsFunc(c.Tools, func(t struct{ Function struct{ Name string } }) bool { return t.Function.Name == tool })
}

func startModel(t *testing.T) *model {
	t.Helper()
	m := &model{t: t, waiting: make(chan *call, 8)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"stub","object":"model","created":0,"owned_by":"tests"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	m.Server = httptest.NewServer(mux)
	t.Cleanup(m.Close)
	return m
}

// await returns the call that the model holds next.
func (m *model) await(t *testing.T) *call {
	t.Helper()
	select {
	case c := <-m.waiting:
		return c
	case <-time.After(30 * time.Second):
		t.Fatal("the model is not called")
	}
	return nil
}

var order = regexp.MustCompile(`#(\w+)(?: (\d+))?|Book a table`)

func (m *model) complete(w http.ResponseWriter, r *http.Request) {
	var request completion
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the connection was cut
	}
	if err := json.Unmarshal(body, &request); err != nil || len(request.Messages) == 0 {
		m.t.Errorf("the model is asked badly: %v", err)
		refuse(w, http.StatusBadRequest, "cannot be read")
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+modelKey {
		refuse(w, http.StatusUnauthorized, "Incorrect API key provided: "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		return
	}
	last := len(request.Messages) - 1
	said := request.text(last)
	a := &answer{w: w, request: &request}
	if request.Messages[last].Role == "tool" {
		m.finish(a, "The tool says: "+said)
		return
	}
	orders := order.FindAllStringSubmatch(said, -1)
	if len(orders) == 0 {
		m.finish(a, "Good evening to you")
		return
	}
	what, number := cmp.Or(orders[len(orders)-1][1], "book"), orders[len(orders)-1][2]
	c := &call{release: make(chan struct{}), left: r.Context().Done()}
	switch what {
	case "count":
		n, _ := strconv.Atoi(number)
		m.finish(a, strings.Join(numbered(n), " "))
	case "gate":
		a.say("one ")
		m.waiting <- c
		select {
		case <-c.release:
			m.finish(a, "two three")
		case <-c.left:
		}
	case "wait":
		a.say("one ")
		m.waiting <- c
		<-c.left
	case "fail":
		refuse(w, http.StatusBadRequest, "the model's own words, with "+modelKey)
	case "break":
		a.say("one ")
		panic(http.ErrAbortHandler)
	case "recall":
		m.finish(a, "You said: "+strings.Join(m.earlier(&request), " | "))
	case "book":
		if !request.has("book_table") {
			m.t.Errorf("the model gets no tool book_table")
		}
		a.call("book_table", `{"place":"Luigi","people":4}`)
		a.end("tool_calls")
	default:
		m.t.Errorf("the model does not know #%s", what)
	}
}

// earlier are what the user said before the last message.
func (m *model) earlier(request *completion) []string {
	var said []string
	for i, message := range request.Messages[:len(request.Messages)-1] {
		if message.Role == "user" {
			said = append(said, request.text(i))
		}
	}
	// Some frameworks put the conversation into one message.
	before, _, _ := strings.Cut(request.text(len(request.Messages)-1), "#recall")
	return append(said, before)
}

// write sends a value that can be encoded.
func write(w io.Writer, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(text)
}

func numbered(n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = "w" + strconv.Itoa(i+1)
	}
	return words
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	write(w, map[string]any{"error": map[string]any{"message": text, "type": "invalid_request_error", "code": nil, "param": nil}})
}

// finish says the rest of an answer, and that it is complete.
func (m *model) finish(a *answer, text string) {
	for _, word := range strings.SplitAfter(text, " ") {
		a.say(word)
	}
	a.end("stop")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent = append(m.sent, a.text.String())
}

// answer is one completion. Whole ones are written at their end.
type answer struct {
	w       http.ResponseWriter
	request *completion
	text    strings.Builder
	calls   []any
	begun   bool
}

func (a *answer) say(text string) {
	a.text.WriteString(text)
	a.delta(map[string]any{"role": "assistant", "content": text}, nil)
}

// call asks for a tool; the arguments are streamed in pieces.
func (a *answer) call(tool, arguments string) {
	whole := map[string]any{"index": 0, "id": fmt.Sprintf("call_%d", time.Now().UnixNano()), "type": "function", "function": map[string]any{"name": tool, "arguments": arguments}}
	a.calls = append(a.calls, whole)
	first := map[string]any{"index": 0, "id": whole["id"], "type": "function", "function": map[string]any{"name": tool, "arguments": ""}}
	a.delta(map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{first}}, nil)
	for piece := range slices.Chunk([]byte(arguments), 7) {
		a.delta(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "function": map[string]any{"arguments": string(piece)}}}}, nil)
	}
}

func (a *answer) end(reason string) {
	usage := map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
	if a.request.Stream {
		a.delta(map[string]any{}, &reason)
		if a.request.StreamOptions.IncludeUsage {
			a.event(map[string]any{"choices": []any{}, "usage": usage})
		}
		_, _ = io.WriteString(a.w, "data: [DONE]\n\n")
		return
	}
	message := map[string]any{"role": "assistant", "content": a.text.String()}
	if a.calls != nil {
		message = map[string]any{"role": "assistant", "content": nil, "tool_calls": a.calls}
	}
	a.w.Header().Set("Content-Type", "application/json")
	write(a.w, map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "stub", "usage": usage,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": reason}},
	})
}

func (a *answer) delta(delta map[string]any, reason *string) {
	if a.request.Stream {
		a.event(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}})
	}
}

func (a *answer) event(event map[string]any) {
	if !a.begun {
		a.w.Header().Set("Content-Type", "text/event-stream")
		a.begun = true
	}
	event["id"], event["object"], event["created"], event["model"] = "chatcmpl-1", "chat.completion.chunk", 1, "stub"
	text, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(a.w, "data: %s\n\n", text)
	_ = http.NewResponseController(a.w).Flush()
}
