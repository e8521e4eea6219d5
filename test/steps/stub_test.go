// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"
)

// stub is a server of the test that can be killed: its connections end, it loses its sessions, and it serves nothing until it is up again.
type stub struct {
	server *httptest.Server
	// new returns the handler of a new process, which handler is.
	new     func() http.Handler
	handler atomic.Pointer[http.Handler]
	isDown  atomic.Bool
}

func (w *world) newStub(handler func() http.Handler) *stub {
	s := &stub{new: handler}
	s.start()
	s.server = httptest.NewServer(s)
	w.t.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return s
}

func (s *stub) start() {
	h := s.new()
	s.handler.Store(&h)
}

// ServeHTTP implements http.Handler.
func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.isDown.Load() {
		panic(http.ErrAbortHandler)
	}
	(*s.handler.Load()).ServeHTTP(w, r)
}

// kill ends all connections, and starts another process soon after.
func (s *stub) kill() {
	if !s.isDown.CompareAndSwap(false, true) {
		return
	}
	s.server.CloseClientConnections()
	go func() {
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		s.start()
		s.isDown.Store(false)
	}()
}
