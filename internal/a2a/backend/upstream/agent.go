// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// Remote has the transport, the card and the credential for a remote agent.
type Remote struct {
	// Transport sends the requests. It follows no redirect.
	Transport http.RoundTripper
	// Card is the agent's card, which the agent may serve to authenticated callers only.
	// The backend ignores interfaces whose origin is not the origin of Options.URL.
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
	// reading is a lock that the goroutine holds that reads the card.
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

// forgetEndpoint makes the next turn read the card again, unless another turn has
// replaced the endpoint.
func (a *agent) forgetEndpoint(p *endpoint) { a.current.CompareAndSwap(p, nil) }

// findEndpoint returns the best endpoint that the agent offers on its card. For a configured
// version without a card, this is JSON-RPC at the path of the URL, streaming until the agent
// refuses it.
func (a *agent) findEndpoint(ctx context.Context, t *backend.Turn) (*endpoint, error) {
	switch {
	case a.remote != nil:
		return a.chooseEndpoint(a.remote.Card)
	case a.pinned != (version.Version{}) && a.cardPath == "":
		o := &cardOffer{streaming: true, pinned: true, interfaces: []cardInterface{{url: "/", binding: string(card.JSONRPC), version: a.pinned.String()}}}
		return o.choose(a.url)
	}
	text, err := (&cardReader{client: a.client, agent: a.url, path: a.cardPath, turn: t}).read(ctx)
	if err != nil {
		return nil, err
	}
	return a.chooseEndpoint(text)
}

// chooseEndpoint returns the best endpoint that a card offers.
func (a *agent) chooseEndpoint(text []byte) (*endpoint, error) {
	offer, err := decodeCard(text)
	if err != nil {
		return nil, backend.Unrecognized("The agent's card "+stream.DecodeReason(err, "an Agent Card"), text, err)
	}
	if a.pinned != (version.Version{}) {
		for i := range offer.interfaces {
			offer.interfaces[i].version = a.pinned.String()
		}
		offer.pinned = true
	}
	if a.remote != nil {
		offer.interfaces = slices.DeleteFunc(offer.interfaces, func(i cardInterface) bool { return !i.hasOrigin(a.url) })
	}
	return offer.choose(a.url)
}

// send sends the request of an operation to an endpoint.
func (a *agent) send(ctx context.Context, p *endpoint, op operation, t *backend.Turn, c *callParams) (*http.Response, error) {
	accept := "application/json"
	if op == opStream || op == opSubscribe {
		accept = "text/event-stream, application/json"
	}
	header := a.header(t, accept)
	if p.version == version.V10 || p.version == version.V03 {
		header[version.Name] = []string{p.version.String()}
	}
	if p.extensionsHeader != "" && len(t.Extensions) > 0 {
		header[http.CanonicalHeaderKey(p.extensionsHeader)] = []string{toHeaderValue(strings.Join(t.Extensions, ", "))}
	}
	method, u, body := p.binding.request(p.dialect, p.url, op, c)
	if body == nil {
		delete(header, "Content-Type")
	}
	return a.client.Do(ctx, &stream.Request{Method: method, URL: u, Header: header, Body: body})
}

// header returns the header of every request to the agent.
func (a *agent) header(t *backend.Turn, accept string) http.Header {
	if a.remote == nil {
		return stream.Header(t, accept)
	}
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {accept}}
	if a.remote.Authorization != "" {
		h["Authorization"] = []string{a.remote.Authorization}
	}
	return h
}

// toHeaderValue removes the characters that a header cannot hold.
func toHeaderValue(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
}
