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
	"testing"
	"time"
)

// wordDelay is the time between two words of the model. It gives the proxy time to
// cut a connection while an answer is written.
const wordDelay = 10 * time.Millisecond

// modelKey is the only key that the model accepts.
const modelKey = "sk-gallery-secret"

// model is a stub of a language model server. It serves OpenAI's chat completions,
// streamed or whole. The last command in the last message determines the answer:
//
//	#count N   N words, w1 to wN
//	#gate      "one ", and "two three" after release
//	#wait      "one ", and nothing more until the caller disconnects
//	#fail      status 400, with a text that no client may see
//	#break     "one ", and the end of the connection
//	#recall    the texts of the user's earlier messages
//	#book      a call of the tool book_table; so does "Book a table"
//
// The model repeats the result of a tool, and answers any other message with a
// greeting.
type model struct {
	*httptest.Server
	t *testing.T
	// held receives the calls that the model holds at #gate and #wait.
	held chan *heldCall
}

// heldCall is a call that the model does not finish yet.
type heldCall struct {
	// release is closed to let a call at #gate continue.
	release chan struct{}
	// ended is closed when the caller has disconnected.
	ended <-chan struct{}
}

// completion holds the members of a request that the model reads.
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

// text returns the content of message i, which is a string or a list of parts.
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

// has reports whether the request offers a tool.
func (c *completion) has(tool string) bool {
	return slices.ContainsFunc(c.Tools, func(t struct{ Function struct{ Name string } }) bool { return t.Function.Name == tool })
}

// startModel starts a model that ends with the test.
func startModel(t *testing.T) *model {
	t.Helper()
	m := &model{t: t, held: make(chan *heldCall, 8)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"stub","object":"model","created":0,"owned_by":"tests"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	m.Server = httptest.NewServer(mux)
	t.Cleanup(m.Close)
	return m
}

// nextHeldCall waits for a call that the model holds.
func (m *model) nextHeldCall(t *testing.T) *heldCall {
	t.Helper()
	select {
	case c := <-m.held:
		return c
	case <-time.After(30 * time.Second):
		t.Fatal("the program does not call the model")
	}
	return nil
}

// command finds the commands of a message.
var command = regexp.MustCompile(`#(\w+)(?: (\d+))?|Book a table`)

// complete serves chat completions.
func (m *model) complete(w http.ResponseWriter, r *http.Request) {
	var request completion
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the connection was cut
	}
	if err := json.Unmarshal(body, &request); err != nil || len(request.Messages) == 0 {
		m.t.Errorf("the program sends the model a request that cannot be read: %v", err)
		refuse(w, http.StatusBadRequest, "cannot be read")
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+modelKey {
		refuse(w, http.StatusUnauthorized, "Incorrect API key provided: "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		return
	}
	last := len(request.Messages) - 1
	text := request.text(last)
	a := &answer{w: w, request: &request}
	if request.Messages[last].Role == "tool" {
		a.finish("The tool says: " + text)
		return
	}
	commands := command.FindAllStringSubmatch(text, -1)
	if len(commands) == 0 {
		a.finish("Good evening to you")
		return
	}
	name, number := cmp.Or(commands[len(commands)-1][1], "book"), commands[len(commands)-1][2]
	held := &heldCall{release: make(chan struct{}), ended: r.Context().Done()}
	switch name {
	case "count":
		n, _ := strconv.Atoi(number)
		a.finish(strings.Join(numbered(n), " "))
	case "gate":
		a.write("one ")
		m.held <- held
		select {
		case <-held.release:
			a.finish("two three")
		case <-held.ended:
		}
	case "wait":
		a.write("one ")
		m.held <- held
		<-held.ended
	case "fail":
		refuse(w, http.StatusBadRequest, "the reason of the model, with "+modelKey)
	case "break":
		a.write("one ")
		panic(http.ErrAbortHandler)
	case "recall":
		a.finish("You said: " + strings.Join(earlier(&request), " | "))
	case "book":
		if !request.has("book_table") {
			m.t.Errorf("the program does not offer the tool book_table")
		}
		a.call("book_table", `{"place":"Luigi","people":4}`)
		a.end("tool_calls")
	default:
		m.t.Errorf("the model has no command #%s", name)
	}
}

// earlier returns the texts of the user's messages before the last one.
func earlier(request *completion) []string {
	var texts []string
	for i, message := range request.Messages[:len(request.Messages)-1] {
		if message.Role == "user" {
			texts = append(texts, request.text(i))
		}
	}
	// Some frameworks send the conversation as one message.
	before, _, _ := strings.Cut(request.text(len(request.Messages)-1), "#recall")
	return append(texts, before)
}

// write sends a value as JSON.
func write(w io.Writer, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(text)
}

// numbered returns the words w1 to wN.
func numbered(n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = "w" + strconv.Itoa(i+1)
	}
	return words
}

// refuse answers with an error of the API.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	write(w, map[string]any{"error": map[string]any{"message": text, "type": "invalid_request_error", "code": nil, "param": nil}})
}

// answer is the response to one request. If it is not streamed, end sends all of it.
type answer struct {
	w       http.ResponseWriter
	request *completion
	text    strings.Builder
	calls   []any
	// begun is true once the headers of a stream are set.
	begun bool
}

// write adds a text to the message.
func (a *answer) write(text string) {
	a.text.WriteString(text)
	a.delta(map[string]any{"role": "assistant", "content": text}, nil)
}

// finish writes the rest of an answer, word by word, and ends it.
func (a *answer) finish(text string) {
	for _, word := range strings.SplitAfter(text, " ") {
		a.write(word)
		time.Sleep(wordDelay)
	}
	a.end("stop")
}

// call adds a call of a tool. Its arguments are streamed in pieces.
func (a *answer) call(tool, arguments string) {
	whole := map[string]any{"index": 0, "id": fmt.Sprintf("call_%d", time.Now().UnixNano()), "type": "function", "function": map[string]any{"name": tool, "arguments": arguments}}
	a.calls = append(a.calls, whole)
	first := map[string]any{"index": 0, "id": whole["id"], "type": "function", "function": map[string]any{"name": tool, "arguments": ""}}
	a.delta(map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{first}}, nil)
	for piece := range slices.Chunk([]byte(arguments), 7) {
		a.delta(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "function": map[string]any{"arguments": string(piece)}}}}, nil)
	}
}

// end ends the answer with a finish reason.
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

// delta streams one part of the message.
func (a *answer) delta(delta map[string]any, reason *string) {
	if a.request.Stream {
		a.event(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}})
	}
}

// event streams one event.
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
