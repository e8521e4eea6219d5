// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package directoryagent serves the registry as an A2A agent at the root of the gateway, in
// every version, over JSON-RPC and HTTP+JSON. It answers each message with a message and has
// no tasks.
package directoryagent

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/grpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/jsonrpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/rest"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
)

// The skills.
const (
	// SkillFind searches the registry.
	SkillFind = "find-agents"
	// SkillCard returns the card of an agent.
	SkillCard = "get-card"
)

// owner is the principal of all callers: they are programs of the agent's own pod.
const owner a2a.Owner = "gateway"

// Options configure a Handler. All fields are required.
type Options struct {
	Registry *registryclient.Client
	// Limits bound requests and responses.
	Limits *httpcall.Limits
	// Version is that of the card.
	Version string
	Log     *slog.Logger
	Now     func() time.Time
}

// Handler serves the agent. It makes its parts at the first request.
type Handler struct {
	options Options
	parts   func() *parts
}

type parts struct {
	card *card.Card
	rpc  *jsonrpc.Handler
	rest *rest.Handler
}

// New returns a handler.
func New(o Options) *Handler {
	h := &Handler{options: o}
	h.parts = sync.OnceValue(h.newParts)
	return h
}

func (h *Handler) newParts() *parts {
	served := newCard(h.options.Version)
	current := func() *card.Card { return served }
	checked := &requestcheck.Handler{Handler: answers{h.options.Registry}, Card: current}
	streams := sse.Config{KeepAlive: 15 * time.Second, WriteTimeout: h.options.Limits.WriteTimeout, Now: h.options.Now}
	noExtended := func(*http.Request, string, card.Form) ([]byte, error) {
		return nil, &a2a.Error{Reason: a2a.ReasonUnsupportedOperation, Message: "The directory has no extended card"}
	}
	public := func(r *http.Request, form card.Form) ([]byte, error) {
		return card.Render(served.At(card.Base{URL: originOf(r.Context()) + "/"}), form)
	}
	shared := httpcall.Config{
		Handler: checked, Push: checked, Card: current, ExtendedCard: noExtended,
		Limits: h.options.Limits, Observe: func(httpcall.Outcome) {}, Log: h.options.Log,
	}
	return &parts{
		card: served,
		rpc:  jsonrpc.New(jsonrpc.Config{Config: shared, Streams: streams}),
		rest: rest.New(rest.Config{Config: shared, Streams: streams, PublicCard: public}),
	}
}

type originKey struct{}

// originOf returns the URL of the gateway as the caller knows it, without a slash at its end.
func originOf(ctx context.Context) string {
	origin, _ := ctx.Value(originKey{}).(string)
	return origin
}

// ServeHTTP serves one request. The gateway has checked that it comes from its own pod.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := context.WithValue(r.Context(), originKey{}, "http://"+r.Host)
	r = r.WithContext(auth.WithCaller(ctx, auth.Caller{Owner: owner}))
	p := h.parts()
	switch path := r.URL.Path; {
	case grpc.Owns(r):
		grpc.Deny(w, r, &a2a.Error{Reason: a2a.ReasonUnsupportedOperation, Message: "The directory serves JSON-RPC and HTTP+JSON"})
	case path == wellknown.Path || path == wellknown.LegacyPath:
		h.serveCard(w, r, p.card)
	case path == "/" && r.Method == http.MethodGet:
		rest.Deny(w, r, errNoSuchPath)
	case path == "/":
		p.rpc.ServeHTTP(w, r)
	case rest.Owns(r):
		p.rest.ServeHTTP(w, r)
	default:
		rest.Deny(w, r, errNoSuchPath)
	}
}

var errNoSuchPath = &a2a.Error{
	Reason: a2a.ReasonMethodNotFound,
	Message: "The gateway serves the registry at /registry/<path>, agents at /agents/<namespace>/<name>/<path>, MCP at /mcp, and the directory agent: " +
		"its card at GET " + wellknown.Path + ", JSON-RPC at POST /, HTTP+JSON at POST /message:send and, for 0.3, below /v1",
}

func (h *Handler) serveCard(w http.ResponseWriter, r *http.Request, c *card.Card) {
	handler := &wellknown.Handler{}
	if err := handler.Swap(wellknown.Content{Card: c.At(card.Base{URL: originOf(r.Context()) + "/"})}); err != nil {
		h.options.Log.ErrorContext(r.Context(), "card of the directory not rendered", "error", err)
		rest.Deny(w, r, &a2a.Error{Reason: a2a.ReasonInternal})
		return
	}
	handler.ServeHTTP(w, r)
}

func newCard(version string) *card.Card {
	modes := []string{"text/plain", "application/json"}
	return &card.Card{
		Name:        "Agent directory",
		Description: "Finds the agents of the cluster that the calling agent may see, and returns their cards. The URLs in its answers lead through the gateway.",
		Version:     version,
		Capabilities: card.Capabilities{
			Streaming: true,
		},
		DefaultInputModes: modes, DefaultOutputModes: modes,
		Skills: []card.Skill{
			{
				ID: SkillFind, Name: "Find agents",
				Description: "Searches the registry. Send what the agent must be able to do as text, and get the best matches first, or an object with parameters of the registry's search: " +
					strings.Join(registryclient.SearchParameters, ", ") + ".",
				Tags: []string{"discovery", "registry"}, Examples: []string{"Will it rain in Paris?", `{"skill":"echo","ready":true}`},
			},
			{
				ID: SkillCard, Name: "Get card",
				Description: `Returns the card of one agent. Send its name as text, such as team/echo, or as an object with "namespace" and "name", ` +
					`and name this skill in the metadata, as "` + a2a.SkillName + `".`,
				Tags: []string{"discovery", "registry"}, Examples: []string{"team/echo", `{"namespace":"team","name":"echo"}`},
			},
		},
	}
}
