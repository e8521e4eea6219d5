// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"crypto/rand"
	"iter"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessions bounds the sessions, and ends the calls of a session with it: the SDK waits for
// them.
type sessions struct {
	now func() time.Time
	// open lists the sessions that the SDK has.
	open func() iter.Seq[*mcp.ServerSession]
	// all ends when the server is closed.
	all    context.Context //nolint:containedctx // it is the parent of the contexts of calls
	endAll context.CancelFunc

	mu sync.Mutex
	// reserved are requests that may begin a session.
	reserved int
	known    map[string]*session
}

// session is one session of a client.
type session struct {
	ctx  context.Context //nolint:containedctx // as above
	end  context.CancelFunc
	last time.Time
	// requests are those that are served now.
	requests int
}

func newSessions(now func() time.Time) *sessions {
	s := &sessions{now: now, known: map[string]*session{}}
	s.all, s.endAll = context.WithCancel(context.Background())
	return s
}

// begin makes a session and returns its id.
func (s *sessions) begin() string {
	id := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	made := &session{last: s.now()}
	made.ctx, made.end = context.WithCancel(s.all)
	s.known[id] = made
	return id
}

// reserve makes room for one more session. It closes the session that was idle for longest if
// all places are taken, and returns false if none is idle.
func (s *sessions) reserve() bool {
	s.mu.Lock()
	s.forgetClosed()
	var idle string
	if len(s.known)+s.reserved >= maxSessions {
		for id, each := range s.known {
			if each.requests == 0 && (idle == "" || each.last.Before(s.known[idle].last)) {
				idle = id
			}
		}
		if idle == "" {
			s.mu.Unlock()
			return false
		}
		s.known[idle].end()
		delete(s.known, idle)
	}
	s.reserved++
	s.mu.Unlock()
	if idle != "" {
		s.closeSDK(idle)
	}
	return true
}

func (s *sessions) unreserve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved--
}

// forgetClosed drops sessions that the SDK has closed. s.mu is held.
func (s *sessions) forgetClosed() {
	open := map[string]bool{}
	for each := range s.open() {
		open[each.ID()] = true
	}
	for id, each := range s.known {
		if !open[id] && s.reserved == 0 {
			each.end()
			delete(s.known, id)
		}
	}
}

// use counts a request of a session, until the returned function is called.
func (s *sessions) use(id string) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	each := s.known[id]
	if each == nil {
		return func() {}
	}
	each.requests++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		each.requests--
		each.last = s.now()
	}
}

// end ends the calls of a session.
func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if each := s.known[id]; each != nil {
		each.end()
		delete(s.known, id)
	}
}

// of returns the context of a session, or that of all for a request without a session.
func (s *sessions) of(id string) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if each := s.known[id]; each != nil {
		return each.ctx
	}
	return s.all
}

func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetClosed()
	return len(s.known)
}

// close ends all calls, and closes all sessions.
func (s *sessions) close() {
	s.endAll()
	for each := range s.open() {
		_ = each.Close()
	}
}

func (s *sessions) closeSDK(id string) {
	for each := range s.open() {
		if each.ID() == id {
			_ = each.Close()
		}
	}
}
