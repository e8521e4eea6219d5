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
type endpoint struct {
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
	fallback *endpoint
}

// call is what an operation is about.
type callParams struct {
	send   *a2a.SendRequest
	taskID string
	tenant string
	// history is how many messages of the task's history are asked for.
	history int
}

// binding is how calls travel.
type binding interface {
	// target says where a call goes, and what is sent.
	request(p *endpoint, op operation, c *callParams) (method string, u *url.URL, body []byte)
	// open returns what a text of an answer holds, or the *fault in its place.
	unwrap(text []byte) ([]byte, error)
	// refused returns the fault behind a status that is not 2xx; nil when the
	// status says it all.
	decodeError(status int, text []byte) *protocolError
}

// tenantOf is the tenant that the agent is told: that of its card or, when there
// is none, the client's. Over HTTP+JSON it is a step in the path, which is not
// for a client to choose, and before 1.0 there were no tenants.
func (p *endpoint) tenantOf(t *backend.Turn) string {
	switch {
	case p.version != version.V10:
		return ""
	case p.tenant != "" || p.bindingName == card.HTTPJSON:
		return p.tenant
	default:
		return t.Tenant
	}
}

func (b *Backend) request(p *endpoint, op operation, t *backend.Turn, c *callParams) *stream.Request {
	accept := "application/json"
	if op == opStream || op == opSubscribe {
		accept = "text/event-stream, application/json"
	}
	header := b.header(t, accept)
	if p.version == version.V10 || p.version == version.V03 {
		header[version.Name] = []string{p.version.String()}
	}
	if p.extensionsHeader != "" && len(t.Extensions) > 0 {
		header[http.CanonicalHeaderKey(p.extensionsHeader)] = []string{toHeaderValue(strings.Join(t.Extensions, ", "))}
	}
	method, u, body := p.binding.request(p, op, c)
	if body == nil {
		delete(header, "Content-Type")
	}
	return &stream.Request{Method: method, URL: u, Header: header, Body: body}
}

// header is what every call tells the agent.
func (b *Backend) header(t *backend.Turn, accept string) http.Header {
	if b.remote == nil {
		return stream.Header(t, accept)
	}
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {accept}}
	if b.remote.Authorization != "" {
		h["Authorization"] = []string{b.remote.Authorization}
	}
	return h
}

// printable drops what no header can hold.
func toHeaderValue(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
}
