// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
)

func newMessage(role a2a.Role, parts ...a2a.Part) *a2a.Message {
	return &a2a.Message{Role: role, Parts: parts}
}

func TestRequest(t *testing.T) {
	image := a2a.Part{Content: a2a.ContentRaw, Raw: []byte("png"), MediaType: "image/PNG"}
	link := a2a.Part{Content: a2a.ContentURL, URL: "https://x/y.jpg", MediaType: "image/jpeg"}
	data := a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`{"a":1}`)}
	file := a2a.Part{Content: a2a.ContentRaw, Raw: []byte("pdf"), MediaType: "application/pdf"}
	text := a2a.TextPart
	const head = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[`
	tests := map[string]struct {
		options  options
		history  []*a2a.Message
		parts    []a2a.Part
		messages string
	}{
		"text": {parts: []a2a.Part{text("hi \"you\"")}, messages: `{"role":"user","content":"hi \"you\""}`},
		"prompt": {
			options: options{SystemPrompt: "Be brief."}, parts: []a2a.Part{text("hi")},
			messages: `{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}`,
		},
		"history": {
			history: []*a2a.Message{newMessage(a2a.RoleUser, text("one")), newMessage(a2a.RoleAgent, text("two"))}, parts: []a2a.Part{text("three")},
			messages: `{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"three"}`,
		},
		"neighbours of one role": {
			history: []*a2a.Message{newMessage(a2a.RoleAgent, text("a")), newMessage(a2a.RoleAgent, text("b")), newMessage(a2a.RoleUser, text("c"))},
			parts:   []a2a.Part{text("d")}, messages: `{"role":"assistant","content":"a\nb"},{"role":"user","content":"c\nd"}`,
		},
		"parts of the history that are not text": {
			history: []*a2a.Message{newMessage(a2a.RoleAgent, image), newMessage(a2a.RoleUser, file, text("see"))},
			parts:   []a2a.Part{text("hi")}, messages: `{"role":"user","content":"see\nhi"}`,
		},
		"data": {parts: []a2a.Part{text("read"), data}, messages: `{"role":"user","content":"read\n{\"a\":1}"}`},
		"images": {
			parts: []a2a.Part{text("look"), image, link},
			messages: `{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},` +
				`{"type":"image_url","image_url":{"url":"https://x/y.jpg"}}]}`,
		},
		"an image alone": {parts: []a2a.Part{link}, messages: `{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/y.jpg"}}]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got *http.Request
			var body string
			tt.options.CheckFile = func(string) error { return nil }
			b := newModel(t, withModel(tt.options), func(w http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				got, body = r, string(raw)
				respondsWith(sse, stop)(w, r)
			})
			turn := newTurn(tt.parts...)
			turn.History, turn.Trace.Parent = tt.history, "00-1-2-01"
			if _, outcome := run(t, b, turn); outcome != "ended" {
				t.Fatalf("Run() = %s", outcome)
			}
			if diff := cmp.Diff(head+tt.messages+"]}", body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if got.URL.Path != "/v1/chat/completions" || got.Header.Get("Traceparent") != "00-1-2-01" || got.Header.Get("A2a-Task-Id") != "t1" {
				t.Errorf("%s %v", got.URL, got.Header)
			}
		})
	}
}

func TestUnsupportedPartsAreRejected(t *testing.T) {
	b := newModel(t, withModel(options{}), func(http.ResponseWriter, *http.Request) { t.Error("the model was called") })
	const (
		refused    = "rejected: The agent rejected the message: message.parts[1]: "
		refusedURL = "has a URL that the model server would fetch, which spec.model.fileHosts does not allow: send the bytes of the file"
	)
	tests := map[string]struct {
		part a2a.Part
		want string
	}{
		"file":                 {a2a.Part{Content: a2a.ContentRaw, Raw: []byte("x"), MediaType: "application/pdf"}, "is a file; this agent reads text, data and images"},
		"file without a type":  {a2a.Part{Content: a2a.ContentURL, URL: "https://x"}, "is a file; this agent reads text, data and images"},
		"image on the server":  {a2a.Part{Content: a2a.ContentURL, URL: "file:///etc/passwd", MediaType: "image/png"}, refusedURL},
		"image without scheme": {a2a.Part{Content: a2a.ContentURL, URL: "x.png", MediaType: "image/png"}, refusedURL},
		"image by its URL":     {a2a.Part{Content: a2a.ContentURL, URL: "http://169.254.169.254/", MediaType: "image/png"}, refusedURL},
		"audio by its URL":     {a2a.Part{Content: a2a.ContentURL, URL: "https://x/a.wav", MediaType: "audio/wav"}, "is a file; this agent reads text, data and images"},
	}
	for name, tt := range tests {
		if _, outcome := run(t, b, newTurn(a2a.TextPart("x"), tt.part)); outcome != refused+tt.want {
			t.Errorf("%s: Run() = %s", name, outcome)
		}
	}
}

func TestModelIsDiscovered(t *testing.T) {
	tests := map[string]struct {
		path, models, requested string
		want                    string
	}{
		"first":             {models: `{"object":"list","data":[{"id":"a","x":1},{"id":"b"}]}`, requested: "/v1/models", want: "ended"},
		"another path":      {path: "/api/v3/chat/completions", models: `{"data":[{"id":"a"}]}`, requested: "/api/v3/models", want: "ended"},
		"unusual path":      {path: "/complete", models: `{"data":[{"id":"a"}]}`, requested: "/v1/models", want: "ended"},
		"none":              {models: `{"data":[]}`, requested: "/v1/models", want: "failed: The agent has no model; name the model in spec.model.name"},
		"not a list":        {models: `{"data":{}}`, requested: "/v1/models", want: "failed: The agent's list of models is not a list: data: must be an array; name the model in spec.model.name; received: " + `{"data":{}}`},
		"no list of models": {requested: "/v1/models", want: "failed: The agent does not list its models; name the model in spec.model.name"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var requested []string
			b := newModel(t, options{Options: completions.Options{URL: tt.path}}, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					if requested = append(requested, r.URL.Path); tt.models == "" {
						http.NotFound(w, r)
						return
					}
					respondsWith("application/json", tt.models)(w, r)
					return
				}
				if body, _ := io.ReadAll(r.Body); !strings.HasPrefix(string(body), `{"model":"a",`) {
					t.Errorf("body = %s", body)
				}
				respondsWith(sse, stop)(w, r)
			})
			for range 2 {
				if _, outcome := run(t, b, newTurn()); outcome != tt.want {
					t.Errorf("Run() = %s, want %s", outcome, tt.want)
				}
			}
			want := []string{tt.requested}
			if tt.want != "ended" {
				want = append(want, tt.requested)
			}
			if diff := cmp.Diff(want, requested); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorStatus(t *testing.T) {
	for status, want := range map[int]string{
		400: "rejected: The agent rejected the message: 400 Bad Request",
		404: "failed: The model server has no such model, or serves no completions at this path: 404 Not Found; see spec.model",
		500: "failed: The agent answered 500 Internal Server Error",
	} {
		b := newModel(t, withModel(options{}), func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret", status) })
		if _, outcome := run(t, b, newTurn()); outcome != want {
			t.Errorf("%d: Run() = %s, want %s", status, outcome, want)
		}
	}
}

// TestRefusedConfiguration reports the refusals whose cause is the configuration of the agent, and no others.
func TestRefusedConfiguration(t *testing.T) {
	tools := []completions.Tool{{Name: "look", Parameters: a2a.Object(`{}`)}}
	for name, tt := range map[string]struct {
		status int
		body   string
		tools  []completions.Tool
		want   string
	}{
		"no such model":       {http.StatusNotFound, `{"error":"model 'm' not found"}`, nil, "has no such model"},
		"no tools":            {http.StatusBadRequest, `{"error":{"message":"m does not support tools"}}`, tools, "does not accept the tools"},
		"another bad request": {http.StatusBadRequest, `{"error":{"message":"invalid image"}}`, tools, ""},
		"no tools to refuse":  {http.StatusBadRequest, `{"error":{"message":"no such tool"}}`, nil, ""},
		"overloaded":          {http.StatusInternalServerError, `tools`, tools, ""},
	} {
		t.Run(name, func(t *testing.T) {
			refused := ""
			b := newModel(t, withModel(options{Options: completions.Options{Refused: func(reason string) { refused = reason }}}), func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, tt.body, tt.status)
			})
			request := &completions.Request{Tools: tt.tools}
			_, err := b.Complete(t.Context(), newTurn(), request, completions.Output{Text: func([]byte) {}, Flush: func() error { return nil }})
			failure, isFailure := errors.AsType[*backend.TurnError](err)
			if !isFailure || (refused != "") != (tt.want != "") || !strings.Contains(refused, tt.want) || tt.want != "" && failure.Reason != refused {
				t.Errorf("error %v, refused %q, want %q", err, refused, tt.want)
			}
			if isAway := errors.Is(err, completions.ErrUnavailable); isAway != (tt.status == http.StatusInternalServerError) {
				t.Errorf("%v: unavailable %v", err, isAway)
			}
		})
	}
}

// A server repeats a request that it refuses. The text of a client must not make it look like a refusal of the agent's tools.
func TestTextOfAClientRefusesNoTools(t *testing.T) {
	refused := ""
	status := http.StatusOK
	b := newModel(t, withModel(options{Options: completions.Options{Refused: func(reason string) { refused = reason }}}), func(w http.ResponseWriter, r *http.Request) {
		if status != http.StatusOK {
			http.Error(w, `{"error":{"message":"invalid image of type image/tool"}}`, status)
			return
		}
		respondsWith("application/json", `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`)(w, r)
	})
	ask := func() error {
		request := &completions.Request{Tools: []completions.Tool{{Name: "look", Parameters: a2a.Object(`{}`)}}}
		_, err := b.Complete(t.Context(), newTurn(), request, completions.Output{Text: func([]byte) {}, Flush: func() error { return nil }})
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	status = http.StatusBadRequest
	if err := ask(); err == nil || refused != "" {
		t.Errorf("error %v, refused %q, want an error of this turn only", err, refused)
	}
	// The server has lost the model, and has another one, which takes no tools.
	status = http.StatusNotFound
	_ = ask()
	status = http.StatusBadRequest
	if err := ask(); err == nil || !strings.Contains(refused, "does not accept the tools") {
		t.Errorf("error %v, refused %q, want a refusal of the tools", err, refused)
	}
}

// TestModelIsDiscoveredAgainAfterAnError tests a server that has replaced its model.
func TestModelIsDiscoveredAgainAfterAnError(t *testing.T) {
	var lists atomic.Int32
	b := newModel(t, options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			lists.Add(1)
			respondsWith("application/json", `{"data":[{"id":"a"}]}`)(w, r)
			return
		}
		http.NotFound(w, r)
	})
	for range 2 {
		run(t, b, newTurn())
	}
	if lists.Load() != 2 {
		t.Errorf("the list of models was requested %d times, want 2", lists.Load())
	}
}

func TestBusyServerIsRetried(t *testing.T) {
	var calls atomic.Int32
	b := newModel(t, withModel(options{}), func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) < 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		respondsWith(sse, stop)(w, r)
	})
	if _, outcome := run(t, b, newTurn()); outcome != "ended" {
		t.Errorf("Run() = %s", outcome)
	}
}

var _ backend.Backend = (*caller)(nil)
