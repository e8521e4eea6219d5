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

// endpoint is one interface of the agent, with the dialect that it speaks.
type endpoint struct {
	*dialect
	url *url.URL
	// tenant is the tenant of the interface in the card.
	tenant string
	// pinned is true if the version was configured.
	pinned bool
	// streaming is false once the agent has refused to stream.
	streaming atomic.Bool
	// fallback is the endpoint with the other dialect to try if the agent does not support
	// the methods, nil for none. It is set for a card of 0.1 or 0.2 that does not name its
	// version.
	fallback *endpoint
}

// callParams has the parameters of an operation.
type callParams struct {
	send   *a2a.SendRequest
	taskID string
	tenant string
	// history is the number of messages of the task's history to return.
	history int
}

// binding encodes requests to the agent and decodes the envelopes of its responses.
type binding interface {
	// request returns the HTTP request of an operation.
	request(p *endpoint, op operation, c *callParams) (method string, u *url.URL, body []byte)
	// unwrap returns the content of a response or of an event. If the agent sent an
	// error, unwrap returns a *protocolError.
	unwrap(text []byte) ([]byte, error)
	// decodeError returns the error in the body of a response with a status other than 2xx,
	// and nil if the body contains none.
	decodeError(status int, text []byte) *protocolError
}

// tenantOf returns the tenant of requests: the tenant on the card or, if the card has none,
// the tenant of the client. Over HTTP+JSON, it ignores the tenant of the client, because
// the client could then choose a segment of the path. Versions before 1.0 have no tenants.
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

// header returns the header of every request to the agent.
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

// toHeaderValue removes the characters that a header cannot hold.
func toHeaderValue(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
}
