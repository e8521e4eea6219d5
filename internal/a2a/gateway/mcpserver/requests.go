// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
)

// The names of the headers with which an HTTP request passes values to the tools. Values that
// the client sends are replaced. headerOrigin has the URL of the gateway, from the Host header
// of the client, and headerRequest the id of the HTTP request.
const (
	headerOrigin  = "A2a-Gateway-Origin"
	headerRequest = "A2a-Gateway-Request"
)

// requests maps an id to the context of each open HTTP request. For the versions of MCP with
// sessions, the SDK passes a context to tools that continues after the end of the request.
// Such a call is canceled with its request, because no client can get its result later.
type requests struct {
	served sync.Map
}

// begin registers the context of a request until the returned function is called, and sets the
// headers for the tools.
func (s *requests) begin(r *http.Request) (ended func()) {
	id := rand.Text()
	ctx, end := context.WithCancel(r.Context())
	s.served.Store(id, ctx)
	r.Header.Set(headerOrigin, "http://"+r.Host)
	r.Header.Set(headerRequest, id)
	return func() {
		end()
		s.served.Delete(id)
	}
}

// of returns the context of the request with a header, or a canceled context if the request
// has ended.
func (s *requests) of(header http.Header) context.Context {
	if ctx, ok := s.served.Load(header.Get(headerRequest)); ok {
		return ctx.(context.Context) // begin stores a context there
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// originOf returns the URL of the gateway that the client of a request has called.
func originOf(header http.Header) string { return header.Get(headerOrigin) }
