// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package directoryagent serves the directory agent at the root of the gateway. It reads the
// registry through the gateway, so that all URLs in its responses lead through the gateway.
package directoryagent

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/grpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/registryclient"
)

// owner is the a2a.Owner that all callers share, because all of them are programs in the
// agent's own pod.
const owner a2a.Owner = "gateway"

// Options configure a Handler. All fields are required.
type Options struct {
	Registry *registryclient.Client
	// Limits bound requests and responses.
	Limits *httpcall.Limits
	// Version is the version on the agent's card.
	Version string
	Log     *slog.Logger
	Now     func() time.Time
}

// Handler serves the agent.
type Handler struct{ directory *directory.Handler }

// New returns a handler.
func New(o Options) *Handler {
	const description = "Finds the agents of the cluster that the calling agent may see, and returns their cards. The URLs in its answers lead through the gateway."
	return &Handler{directory.New(directory.Options{
		Registry: forwarded{o.Registry},
		Card:     directory.Card("Agent directory", description, o.Version),
		Base:     func(r *http.Request) card.Base { return card.Base{URL: originOf(r.Context()) + "/"} },
		NotFound: errNoSuchPath,
		Limits:   o.Limits, Log: o.Log, Now: o.Now,
	})}
}

// forwarded implements directory.Registry. It reads the registry through the gateway.
type forwarded struct{ client *registryclient.Client }

func (f forwarded) Find(ctx context.Context, parameters url.Values) (*directory.Page, error) {
	return f.client.Find(ctx, originOf(ctx), parameters)
}

func (f forwarded) Card(ctx context.Context, a directory.Agent, version string) (json.RawMessage, error) {
	return f.client.Card(ctx, originOf(ctx), a, version)
}

type originKey struct{}

// originOf returns the URL by which the caller reached the gateway, without a slash at its
// end.
func originOf(ctx context.Context) string {
	origin, _ := ctx.Value(originKey{}).(string)
	return origin
}

// ServeHTTP serves one request. The gateway has checked that the request comes from its own
// pod.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if grpc.Owns(r) {
		grpc.Deny(w, r, &a2a.Error{Reason: a2a.ReasonUnsupportedOperation, Message: "The directory serves JSON-RPC and HTTP+JSON"})
		return
	}
	ctx := context.WithValue(r.Context(), originKey{}, "http://"+r.Host)
	h.directory.ServeHTTP(w, r.WithContext(auth.WithCaller(ctx, auth.Caller{Owner: owner})))
}

var errNoSuchPath = &a2a.Error{
	Reason: a2a.ReasonMethodNotFound,
	Message: "The gateway serves the registry at /registry/<path>, agents at /agents/<namespace>/<name>/<path>, MCP at /mcp, and the directory agent: " +
		"its card at GET " + directory.CardPath + ", JSON-RPC at POST /, HTTP+JSON at POST /message:send and, for 0.3, below /v1",
}
