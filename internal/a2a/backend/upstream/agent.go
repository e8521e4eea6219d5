// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// Remote has the transport, the card and the credential for a remote agent.
type Remote struct {
	// Transport sends the requests. It follows no redirect.
	Transport http.RoundTripper
	// Card is the agent's card. The backend does not fetch the card, because the agent may
	// serve it to authenticated callers only. The backend ignores interfaces with another
	// origin than Options.URL.
	Card []byte
	// Authorization is the Authorization header of each request to the agent, "" for
	// none.
	Authorization string
}

// agent determines the endpoint of the agent, and sends the requests.
type agent struct {
	client *stream.Client
	url    *url.URL
	// pinned is the configured version, zero for none. cardPath is the configured path of
	// the card.
	pinned   version.Version
	cardPath string
	// remote is nil for an agent in the sidecar's pod.
	remote *Remote
	// current is the endpoint in use, nil until the card was read.
	current atomic.Pointer[endpoint]
	// reading is a lock: a channel with capacity 1. The goroutine that reads the card holds
	// it, so that concurrent turns read the card once (singleflight).
	reading chan struct{}
	// contextNames has the contexts for which the agent chose an id.
	contextNames contextNames
	sessions     Sessions
}

// endpoint returns the endpoint in use. fresh is true if this call, or a call that it
// waited for, has read the card.
func (a *agent) endpoint(ctx context.Context, t *backend.Turn) (p *endpoint, fresh bool, err error) {
	if p := a.current.Load(); p != nil {
		return p, false, nil
	}
	select {
	case a.reading <- struct{}{}:
		defer func() { <-a.reading }()
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	if p := a.current.Load(); p != nil {
		return p, true, nil
	}
	p, err = a.findEndpoint(ctx, t)
	if err != nil {
		return nil, true, err
	}
	a.current.Store(p)
	return p, true, nil
}

// forgetEndpoint makes the next turn read the card again. It does nothing if p is no longer
// the endpoint in use.
func (a *agent) forgetEndpoint(p *endpoint) { a.current.CompareAndSwap(p, nil) }

// findEndpoint returns the best endpoint that the agent offers on its card. If a version
// but no path of the card is configured, findEndpoint reads no card: the endpoint is
// JSON-RPC at the path of the URL, with streaming until the agent refuses to stream.
func (a *agent) findEndpoint(ctx context.Context, t *backend.Turn) (*endpoint, error) {
	switch {
	case a.remote != nil:
		return a.chooseEndpoint(a.remote.Card)
	case a.pinned != (version.Version{}) && a.cardPath == "":
		return a.choose(&client.Offer{Interfaces: []card.Interface{{URL: "/", Binding: card.JSONRPC}}, Streaming: true})
	}
	text, err := a.readCard(ctx, t)
	if err != nil {
		return nil, err
	}
	return a.chooseEndpoint(text)
}

// header returns the header of every request to the agent.
func (a *agent) header(t *backend.Turn) http.Header {
	if a.remote == nil {
		h := stream.Header(t, "application/json")
		if caller := stream.Caller(t); a.sessions != nil && caller != "" {
			h.Set("X-User-Id", caller)
		}
		return h
	}
	h := http.Header{}
	if a.remote.Authorization != "" {
		h["Authorization"] = []string{a.remote.Authorization}
	}
	return h
}

// cardTimeout bounds the time to read the card.
const cardTimeout = 10 * time.Second

// readCard reads the card within cardTimeout, for a turn: at its configured path or, if no path is configured, at the
// well-known paths below the path of the agent's URL, if the URL has a path, and then at the root.
func (a *agent) readCard(ctx context.Context, t *backend.Turn) ([]byte, error) {
	limited, stop := context.WithTimeout(ctx, cardTimeout)
	defer stop()
	places := a.cardPlaces()
	text, _, err := client.ResolveCard(limited, a.client, places, a.header(t))
	missing, isMissing := errors.AsType[*client.NoCardError](err)
	switch {
	case err == nil:
		return text, nil
	case limited.Err() != nil && ctx.Err() == nil:
		return nil, backend.Failed("The agent did not serve its card within "+cardTimeout.String(), err)
	case isMissing:
		return nil, noCard(missing, places)
	case errors.Is(err, client.ErrCardTooLarge):
		return nil, backend.Failed(fmt.Sprintf("The agent's card exceeds %d bytes", client.MaxCard), nil)
	default:
		return nil, err
	}
}

func (a *agent) cardPlaces() []*url.URL {
	if a.cardPath == "" {
		below, root := client.CardURLs(a.url)
		return slices.Concat(below, root)
	}
	u := *a.url
	u.Path = a.cardPath
	u.RawPath = ""
	if unescaped, err := url.PathUnescape(a.cardPath); err == nil {
		u.Path = unescaped
		u.RawPath = a.cardPath
	}
	return []*url.URL{&u}
}

// noCard returns the failure for the client if no URL serves a card. It describes the response that explains most.
func noCard(n *client.NoCardError, places []*url.URL) *backend.TurnError {
	const cure = "; set backend.a2a.cardPath and backend.a2a.query to where the card is, or backend.a2a.version to use no card"
	if n.Rank() == 0 && len(places) > 1 {
		return backend.Failed("The agent serves no card at "+strings.Join(client.WellKnownPaths, " or ")+", which names its version of A2A"+cure, n)
	}
	reason := "The agent serves no card: GET " + n.URL.EscapedPath() + " returned " + strconv.Itoa(n.Status)
	if text := http.StatusText(n.Status); text != "" {
		reason += " " + text
	}
	if n.Excerpt != "" {
		reason += ": " + n.Excerpt
	}
	return backend.Failed(reason+cure, n)
}
