// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"crypto/rand"
	"sync"
)

// requests maps an id to the context of each open HTTP request. For the versions of MCP with
// sessions, the SDK passes a context to tools that continues after the end of the request.
// Such a call is canceled with its request, because no client can get its result later.
type requests struct {
	served sync.Map
}

// begin registers the context of a request until the returned function is called.
func (s *requests) begin(ctx context.Context) (id string, ended func()) {
	id = rand.Text()
	ctx, end := context.WithCancel(ctx)
	s.served.Store(id, ctx)
	return id, func() {
		end()
		s.served.Delete(id)
	}
}

// of returns the context of a request, or a canceled context if the request has ended.
func (s *requests) of(id string) context.Context {
	if ctx, ok := s.served.Load(id); ok {
		return ctx.(context.Context) //nolint:forcetypeassert // begin stores a context there
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
