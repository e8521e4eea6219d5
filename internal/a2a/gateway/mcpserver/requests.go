// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"crypto/rand"
	"sync"
)

// requests has the contexts of the HTTP requests that are served, by an id. For the versions
// of MCP with sessions, the SDK gives tools a context that outlives the request, and no client
// can get the result of such a call later.
type requests struct {
	served sync.Map
}

// begin registers a request, until the returned function is called.
func (s *requests) begin(ctx context.Context) (id string, ended func()) {
	id = rand.Text()
	ctx, end := context.WithCancel(ctx)
	s.served.Store(id, ctx)
	return id, func() {
		end()
		s.served.Delete(id)
	}
}

// of returns the context of a request; a canceled one if the request has ended.
func (s *requests) of(id string) context.Context {
	if ctx, ok := s.served.Load(id); ok {
		return ctx.(context.Context) //nolint:forcetypeassert // begin has stored it
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
