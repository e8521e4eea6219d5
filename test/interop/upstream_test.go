// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	oldsdk "github.com/a2aproject/a2a-go/a2a"
	oldsrv "github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	newsdk "github.com/a2aproject/a2a-go/v2/a2a"
	newsrv "github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// upstreams are A2A servers by the interface on their card: servers of the official
// SDKs, and our own sidecar in every version.
var upstreams = map[string]func(t *testing.T) *scenario{
	"sidecar": newScenario,
	"sidecar, 0.1 JSON-RPC": offering(`{"name":"x","url":"http://x/","version":"1","authentication":{"schemes":[]},` +
		`"capabilities":{"streaming":%t},"skills":[]}`),
	"sidecar, 0.3 JSON-RPC":  offering(`{"name":"x","url":"http://x/","protocolVersion":"0.3.0","capabilities":{"streaming":%t},"skills":[]}`),
	"sidecar, 0.3 HTTP+JSON": offering(`{"name":"x","url":"http://x/","preferredTransport":"HTTP+JSON","protocolVersion":"0.3.0","capabilities":{"streaming":%t},"skills":[]}`),
	"sidecar, 1.0 HTTP+JSON": offering(`{"name":"x","supportedInterfaces":[{"url":"http://x/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],` +
		`"capabilities":{"streaming":%t},"skills":[]}`),
	"a2a-go v2.4.0 JSON-RPC": func(t *testing.T) *scenario {
		return official(t, newCard(newsdk.TransportProtocolJSONRPC), func(s *scenario) http.Handler {
			return newsrv.NewJSONRPCHandler(newsrv.NewHandler(newAgent{s}))
		})
	},
	"a2a-go v2.4.0 HTTP+JSON": func(t *testing.T) *scenario {
		return official(t, newCard(newsdk.TransportProtocolHTTPJSON), func(s *scenario) http.Handler {
			return newsrv.NewRESTHandler(newsrv.NewHandler(newAgent{s}))
		})
	},
	"a2a-go v0.3.15 JSON-RPC": func(t *testing.T) *scenario {
		card := oldsrv.NewStaticAgentCardHandler(&oldsdk.AgentCard{
			Name: "x", Version: "1", ProtocolVersion: "0.3.0", URL: "http://elsewhere.example/", PreferredTransport: oldsdk.TransportProtocolJSONRPC,
			Capabilities: oldsdk.AgentCapabilities{Streaming: true},
		})
		return official(t, card, func(s *scenario) http.Handler {
			return oldsrv.NewJSONRPCHandler(oldsrv.NewHandler(oldAgent{s}))
		})
	},
}

// relayed are the operations that the sidecar relays to the agent, or whose results depend on the agent's answers.
var relayed = map[string]bool{
	"send": true, "stream": true, "get": true, "list": true, "cancel": true, "resubscribe": true, "error": true, "input required": true,
}

// notPlayed stands for the result of an operation that the test does not perform.
const notPlayed = "not played"

// playRelayed performs the relayed operations with a client. It compares the results
// with wants, and with the matrix for operations that wants does not have.
func (s *scenario) playRelayed(ctx context.Context, t *testing.T, client sdk, wants map[string]string) {
	t.Helper()
	for _, o := range operations {
		if !relayed[o.name] || wants[o.name] == notPlayed {
			continue
		}
		got, err := s.play(ctx, client, o.name)
		if class := classify(err); class == unknown || class == "" && got != cmp.Or(wants[o.name], o.want) {
			t.Errorf("%s: %q, %v, want %q", o.name, got, err, cmp.Or(wants[o.name], o.want))
		}
	}
}

// TestClientsSeeTheSameBehindAnA2ABackend plays the scenario in front of A2A servers of
// every version.
func TestClientsSeeTheSameBehindAnA2ABackend(t *testing.T) {
	for name, open := range upstreams {
		for _, c := range goClients {
			if c.binding != "JSON-RPC" || c.name == "a2a-go v2.4.0" && c.protocol == "0.3" {
				continue
			}
			t.Run(name+" for "+c.name, func(t *testing.T) {
				s := open(t)
				agent := s.url
				s.url = sidecartest.Start(t, nil, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
					c.Backend = sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolA2A, URL: agent}
				}).URL
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				client, err := c.open(ctx, target{client: sidecartest.Client(t), url: s.url})
				if err != nil {
					t.Fatal(err)
				}
				s.playRelayed(ctx, t, client, nil)
			})
		}
	}
}

// offering returns a function that starts a sidecar whose card is replaced by a card of another version.
func offering(card string) func(t *testing.T) *scenario {
	return func(t *testing.T) *scenario {
		t.Helper()
		s := newScenario(t)
		target, err := url.Parse(s.url)
		if err != nil {
			t.Fatal(err)
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		t.Cleanup(transport.CloseIdleConnections)
		proxy := &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1, Transport: transport,
		}
		mux := http.NewServeMux()
		mux.HandleFunc("/.well-known/agent.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, card, true) })
		mux.HandleFunc("/.well-known/agent-card.json", http.NotFound)
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			// Read the whole body first, because the proxy aborts a response that begins before
			// it has read the whole request.
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			proxy.ServeHTTP(w, r)
		})
		front := httptest.NewServer(mux)
		t.Cleanup(front.Close)
		s.url = front.URL
		return s
	}
}

// official starts a server of an SDK.
func official(t *testing.T, card http.Handler, handler func(*scenario) http.Handler) *scenario {
	t.Helper()
	s := &scenario{release: make(chan struct{})}
	mux := http.NewServeMux()
	mux.Handle("/.well-known/agent-card.json", card)
	mux.Handle("/", handler(s))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func newCard(binding newsdk.TransportProtocol) http.Handler {
	return newsrv.NewStaticAgentCardHandler(&newsdk.AgentCard{
		Name: "x", Version: "1", Capabilities: newsdk.AgentCapabilities{Streaming: true},
		SupportedInterfaces: []*newsdk.AgentInterface{newsdk.NewAgentInterface("http://elsewhere.example", binding)},
	})
}

// newAgent is the agent of a scenario, implemented with the SDK of 1.0.
type newAgent struct{ *scenario }

func (a newAgent) Execute(ctx context.Context, x *newsrv.ExecutorContext) iter.Seq2[newsdk.Event, error] {
	return func(yield func(newsdk.Event, error) bool) {
		status := func(state newsdk.TaskState, says ...*newsdk.Part) {
			var m *newsdk.Message
			if len(says) > 0 {
				m = newsdk.NewMessageForTask(newsdk.MessageRoleAgent, x, says...)
			}
			yield(newsdk.NewStatusUpdateEvent(x, state, m), nil)
		}
		if x.StoredTask == nil && !yield(newsdk.NewSubmittedTask(x, x.Message), nil) {
			return
		}
		said := x.Message.Parts[0].Text()
		if x.StoredTask == nil && said == "ask" {
			status(newsdk.TaskStateInputRequired, newsdk.NewTextPart("Which?"))
			return
		}
		id := newsdk.ArtifactID("")
		for text := range a.answers(ctx, said, x.StoredTask != nil) {
			e := newsdk.NewArtifactEvent(x, newsdk.NewTextPart(text))
			if id != "" {
				e = newsdk.NewArtifactUpdateEvent(x, id, newsdk.NewTextPart(text))
			}
			if id = e.Artifact.ID; !yield(e, nil) {
				return
			}
		}
		if ctx.Err() == nil {
			status(newsdk.TaskStateCompleted)
		}
	}
}

func (newAgent) Cancel(_ context.Context, x *newsrv.ExecutorContext) iter.Seq2[newsdk.Event, error] {
	return func(yield func(newsdk.Event, error) bool) {
		yield(newsdk.NewStatusUpdateEvent(x, newsdk.TaskStateCanceled, nil), nil)
	}
}

// answers yields the texts of the answer to a message, each when the agent sends it.
func (s *scenario) answers(ctx context.Context, heard string, answered bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		switch {
		case numberedParts(heard) != nil:
			for _, part := range numberedParts(heard) {
				if !yield(part) {
					return
				}
			}
		case answered:
			yield("That one")
		case heard == "wait" || heard == "hang":
			if !yield("one ") {
				return
			}
			release := s.release
			if heard == "hang" {
				release = nil
			}
			select {
			case <-release:
				yield("two")
			case <-ctx.Done():
			}
		default:
			_ = yield("Hello ") && yield("world")
		}
	}
}

// oldAgent is the agent of a scenario, implemented with the SDK of 0.3.
type oldAgent struct{ *scenario }

func (a oldAgent) Execute(ctx context.Context, x *oldsrv.RequestContext, queue eventqueue.Queue) error {
	if x.StoredTask == nil {
		if err := queue.Write(ctx, oldsdk.NewSubmittedTask(x, x.Message)); err != nil {
			return err
		}
	}
	said := ""
	if part, ok := x.Message.Parts[0].(oldsdk.TextPart); ok {
		said = part.Text
	}
	if x.StoredTask == nil && said == "ask" {
		asks := oldsdk.NewStatusUpdateEvent(x, oldsdk.TaskStateInputRequired, oldsdk.NewMessageForTask(oldsdk.MessageRoleAgent, x, oldsdk.TextPart{Text: "Which?"}))
		asks.Final = true
		return queue.Write(ctx, asks)
	}
	id := oldsdk.ArtifactID("")
	for text := range a.answers(ctx, said, x.StoredTask != nil) {
		e := oldsdk.NewArtifactEvent(x, oldsdk.TextPart{Text: text})
		if id != "" {
			e = oldsdk.NewArtifactUpdateEvent(x, id, oldsdk.TextPart{Text: text})
		}
		id = e.Artifact.ID
		if err := queue.Write(ctx, e); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	done := oldsdk.NewStatusUpdateEvent(x, oldsdk.TaskStateCompleted, nil)
	done.Final = true
	return queue.Write(ctx, done)
}

func (oldAgent) Cancel(ctx context.Context, x *oldsrv.RequestContext, queue eventqueue.Queue) error {
	e := oldsdk.NewStatusUpdateEvent(x, oldsdk.TaskStateCanceled, nil)
	e.Final = true
	return queue.Write(ctx, e)
}

// TestClientsReachALanguageModel plays a part of the scenario in front of a language
// model.
func TestClientsReachALanguageModel(t *testing.T) {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.Copy(io.Discard, r.Body)
		for _, text := range []string{"Hello ", "world"} {
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", text)
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(model.Close)
	for _, c := range goClients {
		t.Run(c.name+" "+c.protocol+" "+c.binding, func(t *testing.T) {
			side := sidecartest.Start(t, nil, sidecartest.WithEverything, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
				c.Backend = sidecarconfig.Backend{
					Protocol: sidecarconfig.ProtocolChatCompletions, URL: model.URL + "/v1/chat/completions", Model: sidecarconfig.Model{Name: "m"},
				}
			})
			client, err := c.open(t.Context(), target{client: sidecartest.Client(t), url: side.URL})
			if err != nil {
				t.Skip(err)
			}
			s := &scenario{url: side.URL}
			for _, o := range operations {
				if o.name != "send" && o.name != "stream" && o.name != "get" {
					continue
				}
				if got, err := s.play(t.Context(), client, o.name); err != nil || got != o.want {
					t.Errorf("%s: %q, %v, want %q", o.name, got, err, o.want)
				}
			}
		})
	}
}
