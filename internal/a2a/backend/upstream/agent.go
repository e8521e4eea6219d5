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
	contextNames *contextNames
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
		return stream.Header(t, "application/json")
	}
	h := http.Header{}
	if a.remote.Authorization != "" {
		h["Authorization"] = []string{a.remote.Authorization}
	}
	return h
}

// Limits of the card: its size in bytes, and the time to read it.
const (
	maxCard     = 1 << 20
	cardTimeout = 10 * time.Second
	// maxErrorBody bounds the body of an error response, in bytes.
	maxErrorBody = 64 << 10
)

// readCard reads the card within cardTimeout, for a turn.
func (a *agent) readCard(ctx context.Context, t *backend.Turn) ([]byte, error) {
	limited, stop := context.WithTimeout(ctx, cardTimeout)
	defer stop()
	text, err := a.findCard(limited, t)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, backend.Failed("The agent did not serve its card within "+cardTimeout.String(), err)
	}
	return text, err
}

// findCard reads the card at its configured path. If no path is configured, it tries the
// well-known paths below the path of the agent's URL, if the URL has a path, and then at
// the root.
func (a *agent) findCard(ctx context.Context, t *backend.Turn) ([]byte, error) {
	places := a.cardPlaces()
	var refusal *noCardError
	for _, u := range places {
		text, err := a.fetchCard(ctx, u, t)
		missing, isMissing := errors.AsType[*noCardError](err)
		if !isMissing {
			return text, err
		}
		if refusal == nil || missing.rank() > refusal.rank() {
			refusal = missing
		}
	}
	return nil, refusal.failure(places)
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

// noCardError is the error of a URL that serves no card.
type noCardError struct {
	at      *url.URL
	status  int
	excerpt string
}

// Error returns the path and the status, for the log.
func (n *noCardError) Error() string {
	return "GET " + n.at.EscapedPath() + " returned " + strconv.Itoa(n.status)
}

// rank returns how well a response explains why there is no card. A higher rank is better: 0
// for a 404, 1 for another status, and 2 for another status with an excerpt of the body.
func (n *noCardError) rank() int {
	switch {
	case n.status == http.StatusNotFound:
		return 0
	case n.excerpt == "":
		return 1
	default:
		return 2
	}
}

// failure returns the failure for the client if no URL serves a card. It describes the
// first response with the highest rank. Later URLs are guesses, so their responses explain
// less.
func (n *noCardError) failure(places []*url.URL) *backend.TurnError {
	const cure = "; set backend.a2a.cardPath and backend.a2a.query to where the card is, or backend.a2a.version to use no card"
	if n.rank() > 0 || len(places) == 1 {
		reason := "The agent serves no card: GET " + n.at.EscapedPath() + " returned " + strconv.Itoa(n.status)
		if text := http.StatusText(n.status); text != "" {
			reason += " " + text
		}
		if n.excerpt != "" {
			reason += ": " + n.excerpt
		}
		return backend.Failed(reason+cure, n)
	}
	return backend.Failed("The agent serves no card at "+strings.Join(client.WellKnownPaths, " or ")+
		", which names its version of A2A"+cure, n)
}

func (a *agent) fetchCard(ctx context.Context, u *url.URL, t *backend.Turn) ([]byte, error) {
	header := stream.Header(t, "application/json")
	delete(header, "Content-Type")
	// With this version, a server that has a card for each version returns the latest one.
	header[version.Name] = []string{version.V10.String()}
	resp, err := a.client.Do(ctx, &stream.Request{Method: http.MethodGet, URL: u, Header: header})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body := a.client.NewBody(resp, nil)
	if !stream.IsSuccess(resp.StatusCode) {
		return nil, &noCardError{at: u, status: resp.StatusCode, excerpt: errorExcerpt(body)}
	}
	if _, _, err := body.MediaType(); err != nil {
		return nil, err
	}
	text, fits, err := body.ReadUpTo(maxCard)
	if err != nil {
		return nil, err
	}
	if !fits {
		return nil, backend.Failed(fmt.Sprintf("The agent's card exceeds %d bytes", maxCard), nil)
	}
	return text, nil
}

// errorExcerpt returns an excerpt of the body of an error response, "" if the body has no
// media type of text or JSON, or cannot be read.
func errorExcerpt(body *stream.Body) string {
	mediaType, _, err := body.MediaType()
	if err != nil || mediaType != "application/json" && mediaType != "application/problem+json" && mediaType != "text/plain" {
		return ""
	}
	text, fits, err := body.ReadUpTo(maxErrorBody)
	if err != nil || !fits {
		return ""
	}
	return backend.Excerpt(text)
}
