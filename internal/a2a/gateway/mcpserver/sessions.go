// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"crypto/rand"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxSessions is the maximum number of sessions. If a client opens one more, the session
	// that was idle for the longest time is closed. If none is idle, the new session is
	// refused. idleSession is how long a session stays open without a request.
	maxSessions = 64
	idleSession = time.Hour
	// sessionless is the first version of MCP without sessions. Versions are dates, so they are
	// compared as texts.
	sessionless = "2026-07-28"
)

// sessions limits the number of sessions. When a session ends, it cancels the calls of the
// session, because the SDK waits for them.
type sessions struct {
	now func() time.Time
	// listed returns the open sessions of the SDK.
	listed func() iter.Seq[*mcp.ServerSession]
	// all ends when the server is closed.
	all    context.Context //nolint:containedctx // it is the parent of the contexts of sessions
	endAll context.CancelFunc

	// opening is held from the time at which next is set until the SDK has read it.
	opening sync.Mutex

	mu sync.Mutex
	// next is the id of the session that the SDK opens next, or "" while no session opens.
	next string
	// known are the sessions by their ids, including sessions that a request is about to open.
	known map[string]*session
}

// session is one session of a client.
type session struct {
	ctx  context.Context //nolint:containedctx // it lasts as long as the session
	end  context.CancelFunc
	last time.Time
	// opening is true until the request that opens the session has ended.
	opening bool
	// requests is the number of open requests of the session.
	requests int
}

func newSessions(now func() time.Time) *sessions {
	s := &sessions{now: now, known: map[string]*session{}}
	s.all, s.endAll = context.WithCancel(context.Background())
	return s
}

// open calls serve, which serves a request that may open a session. If there are maxSessions
// sessions, open first closes the session that was idle for the longest time. If none is
// idle, it returns false and does not call serve.
func (s *sessions) open(serve func()) bool {
	id := rand.Text()
	if !s.add(id) {
		return false
	}
	defer s.opened(id)
	// The SDK calls nextID without saying for which request. The lock therefore allows one
	// request at a time, until the SDK has called nextID.
	s.opening.Lock()
	s.mu.Lock()
	s.next = id
	s.mu.Unlock()
	defer s.endOpening(id)
	serve()
	return true
}

// nextID returns the id of the session that opens. The SDK calls it before it reads the
// request.
func (s *sessions) nextID() string {
	s.mu.Lock()
	id := s.next
	s.mu.Unlock()
	s.endOpening(id)
	return id
}

// endOpening lets the next session open: it clears next and unlocks opening. It does nothing
// if an earlier call with this id has done so.
func (s *sessions) endOpening(id string) {
	s.mu.Lock()
	waits := id != "" && s.next == id
	if waits {
		s.next = ""
	}
	s.mu.Unlock()
	if waits {
		s.opening.Unlock()
	}
}

// add adds a session that is about to open. It returns false if there is no room for it.
func (s *sessions) add(id string) bool {
	s.mu.Lock()
	s.forgetClosed()
	var idle string
	if len(s.known) >= maxSessions {
		for id, each := range s.known {
			if !each.opening && each.requests == 0 && (idle == "" || each.last.Before(s.known[idle].last)) {
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
	made := &session{last: s.now(), opening: true}
	made.ctx, made.end = context.WithCancel(s.all)
	s.known[id] = made
	s.mu.Unlock()
	if idle != "" {
		s.closeSDK(idle)
	}
	return true
}

// opened is called at the end of a request that may have opened a session. If the request
// has opened none, opened removes the session from known.
func (s *sessions) opened(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if each := s.known[id]; each != nil {
		each.opening = false
		each.last = s.now()
	}
	s.forgetClosed()
}

// forgetClosed removes the sessions that the SDK has closed. s.mu must be held.
func (s *sessions) forgetClosed() {
	open := map[string]bool{}
	for each := range s.listed() {
		open[each.ID()] = true
	}
	for id, each := range s.known {
		if !open[id] && !each.opening {
			each.end()
			delete(s.known, id)
		}
	}
}

// use counts a request of a session as open until the returned function is called. For an
// unknown id it does nothing.
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

// end cancels the calls of a session and removes the session.
func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if each := s.known[id]; each != nil {
		each.end()
		delete(s.known, id)
	}
}

// of returns the context of a session. It returns a canceled context if the session has
// ended. For a request without a session (""), it returns the context that ends with the
// server.
func (s *sessions) of(id string) context.Context {
	if id == "" {
		return s.all
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if each := s.known[id]; each != nil {
		return each.ctx
	}
	return canceled()
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetClosed()
	return len(s.known)
}

// close cancels all calls and closes all sessions.
func (s *sessions) close() {
	s.endAll()
	for each := range s.listed() {
		_ = each.Close()
	}
}

func (s *sessions) closeSDK(id string) {
	for each := range s.listed() {
		if each.ID() == id {
			_ = each.Close()
		}
	}
}

// The names of the headers with which the HTTP handler passes values to the tools. They
// replace values that the client sends. headerOrigin has the URL of the gateway, from the Host
// header of the client. headerRequest has the id of the HTTP request.
const (
	headerOrigin  = "A2a-Gateway-Origin"
	headerRequest = "A2a-Gateway-Request"
)

// requests maps the id of each open HTTP request to the request. In the versions of MCP with
// sessions, a call goes on after the end of its request: its client reads the result later (events). Without
// sessions, no client could, so that the end of the request cancels the call.
type requests struct {
	served sync.Map
}

// servedRequest is an open HTTP request.
type servedRequest struct {
	ctx      context.Context //nolint:containedctx // it is the context of the request
	response *boundedWriter
	charge   *charge
}

// charge is the memory that is charged for the body of a request. It stays charged while the request or its call runs.
type charge struct {
	release func()
	mu      sync.Mutex
	users   int
}

// use keeps the memory charged until done. If it is not charged any more, ok is false.
func (c *charge) use() (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok = c.users > 0
	if ok {
		c.users++
	}
	return ok
}

func (c *charge) done() {
	c.mu.Lock()
	c.users--
	last := c.users == 0
	c.mu.Unlock()
	if last {
		c.release()
	}
}

// begin registers a request until the returned function is called, and sets the headers for the
// tools. release releases the memory of its body: it is called when the request and its call have ended.
func (s *requests) begin(r *http.Request, w *boundedWriter, release func()) (ended func()) {
	id := rand.Text()
	ctx, end := context.WithCancel(r.Context())
	c := &charge{release: release, users: 1}
	s.served.Store(id, servedRequest{ctx, w, c})
	r.Header.Set(headerOrigin, "http://"+r.Host)
	r.Header.Set(headerRequest, id)
	return func() {
		end()
		s.served.Delete(id)
		c.done()
	}
}

// use returns the context of the HTTP request whose id is in headerRequest of header, or a
// canceled context if that request has ended. The body of the request stays charged until done is called.
func (s *requests) use(header http.Header) (ctx context.Context, done func()) {
	if served, ok := s.served.Load(header.Get(headerRequest)); ok {
		request := served.(servedRequest) // begin stores it
		if request.charge.use() {
			return request.ctx, request.charge.done
		}
	}
	return canceled(), func() {}
}

// keepAlive makes the response to the request whose id is in headerRequest of header send comments,
// until the request ends.
func (s *requests) keepAlive(header http.Header) {
	if served, ok := s.served.Load(header.Get(headerRequest)); ok {
		served.(servedRequest).response.keepAlive() // begin stores it
	}
}

// originOf returns the URL of the gateway that the client of a request has called.
func originOf(header http.Header) string { return header.Get(headerOrigin) }
