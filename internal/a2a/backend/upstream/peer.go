// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// peer is one way to talk to the agent.
type peer struct {
	*dialect
	url *url.URL
	// tenant is the one under which the card offers the agent.
	tenant string
	// pinned is true when the version was configured.
	pinned bool
	// streaming is true until the agent turns out not to stream.
	streaming atomic.Bool
	// next is what to try when the agent does not know the methods; nil for
	// nothing. A card of 0.1 or 0.2 need not say which of them it is.
	next *peer
}

// call is what an operation is about.
type call struct {
	send   *a2a.SendRequest
	taskID string
	tenant string
	// history is how many messages of the task's history are asked for.
	history int
}

// binding is how calls travel.
type binding interface {
	// target says where a call goes, and what is sent.
	target(p *peer, op operation, c *call) (method string, u *url.URL, body []byte)
	// open returns what a text of an answer holds, or the *fault in its place.
	open(text []byte) ([]byte, error)
	// refused returns the fault behind a status that is not 2xx; nil when the
	// status says it all.
	refused(status int, text []byte) *fault
}

// tenantOf is the tenant that the agent is told: that of its card or, when there
// is none, the client's. Over HTTP+JSON it is a step in the path, which is not
// for a client to choose, and before 1.0 there were no tenants.
func (p *peer) tenantOf(t *backend.Turn) string {
	switch {
	case p.version != version.V10:
		return ""
	case p.tenant != "" || p.name == card.HTTPJSON:
		return p.tenant
	default:
		return t.Tenant
	}
}

func (b *Backend) request(p *peer, op operation, t *backend.Turn, c *call) *stream.Request {
	accept := "application/json"
	if op == opStream || op == opSubscribe {
		accept = "text/event-stream, application/json"
	}
	header := b.header(t, accept)
	if p.version == version.V10 || p.version == version.V03 {
		header[version.Name] = []string{p.version.String()}
	}
	if p.extensionsHeader != "" && len(t.Extensions) > 0 {
		header[http.CanonicalHeaderKey(p.extensionsHeader)] = []string{printable(strings.Join(t.Extensions, ", "))}
	}
	method, u, body := p.binding.target(p, op, c)
	if body == nil {
		delete(header, "Content-Type")
	}
	return &stream.Request{Method: method, URL: u, Header: header, Body: body}
}

// header is what every call tells the agent.
func (b *Backend) header(t *backend.Turn, accept string) http.Header {
	if b.elsewhere == nil {
		return stream.Header(t, accept)
	}
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {accept}}
	if b.elsewhere.Authorization != "" {
		h["Authorization"] = []string{b.elsewhere.Authorization}
	}
	return h
}

// printable drops what no header can hold.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
}
