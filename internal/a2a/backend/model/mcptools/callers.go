// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcptools

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
)

// ErrNoCaller is the error of a call for a caller of whom the server must learn, and whom the agent cannot prove.
var ErrNoCaller = errors.New("the server must learn for whom the call is, and the caller's token is not known or not verified; " +
	"the caller must send a further message with a token of a ServiceAccount or of an issuer")

// maxCallers is the maximum number of subjects with a session. For one more, the session that was used least recently ends, of the
// owners with the most sessions (a2a.Owner.Share).
const maxCallers = 64

// callers has a session with one MCP server for each subject: a server may bind a session to the user who has begun it. It is safe for
// concurrent use.
type callers struct {
	open func() *Server

	mu sync.Mutex
	// sessions are in the order of their use, the last one last.
	sessions []callerSession
}

type callerSession struct {
	subject, share string
	server         *Server
}

// of returns the session for a subject.
func (c *callers) of(subject *a2a.Subject) *Server {
	// Two owners may have one principal, if users can change the claim that names it. No text of a subject has a NUL.
	key := strings.Join(append([]string{string(subject.Owner), subject.Principal}, subject.Actors...), "\x00")
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.sessions, func(each callerSession) bool { return each.subject == key })
	if at >= 0 {
		found := c.sessions[at]
		c.sessions = append(slices.Delete(c.sessions, at, at+1), found)
		return found.server
	}
	if len(c.sessions) == maxCallers {
		at = c.oldestOfLargest()
		go c.sessions[at].server.Close() // it waits for the server
		c.sessions = slices.Delete(c.sessions, at, at+1)
	}
	added := c.open()
	c.sessions = append(c.sessions, callerSession{key, subject.Owner.Share(), added})
	return added
}

// oldestOfLargest returns the index of the session to end. The caller holds the lock.
func (c *callers) oldestOfLargest() (oldest int) {
	counts := map[string]int{}
	for _, each := range c.sessions {
		counts[each.share]++
	}
	for at, each := range c.sessions {
		if counts[each.share] > counts[c.sessions[oldest].share] {
			oldest = at
		}
	}
	return oldest
}

func (c *callers) close() {
	c.mu.Lock()
	sessions := c.sessions
	c.sessions = nil
	c.mu.Unlock()
	for _, each := range sessions {
		each.server.Close()
	}
}

// Token is a bearer token for an MCP server.
type Token struct {
	Value string
	// Reject drops the token from the cache of its source, after the server has refused it. It is nil without a token.
	Reject func()
}

// withToken is a transport that adds the token for the server. If the server refuses a token, which may be one that was cached, the
// transport sends the request once more with a newer one, if there is one.
type withToken struct {
	next     http.RoundTripper
	tokenFor func(context.Context, *a2a.Subject) (Token, error)
	// isCaller is true for the session of a principal, and false for that of the agent itself.
	isCaller bool

	mu sync.Mutex
	// last is the last token, for the requests of a session that belong to no call. The token of the caller itself is not kept.
	last Token
}

// RoundTrip implements http.RoundTripper.
func (t *withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := t.token(r.Context())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	response, err := t.send(r, token)
	if err != nil || response.StatusCode != http.StatusUnauthorized || token.Reject == nil {
		return response, err
	}
	token.Reject()
	next, err := t.token(r.Context())
	if err != nil || next.Value == token.Value || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		return response, nil //nolint:nilerr // the response says that the token was refused
	}
	again := r.Clone(r.Context())
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return response, nil //nolint:nilerr // as above
		}
	}
	_ = response.Body.Close()
	return t.send(again, next)
}

func (t *withToken) send(r *http.Request, token Token) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token.Value)
	return t.next.RoundTrip(r)
}

func (t *withToken) token(ctx context.Context) (Token, error) {
	subject := delegation.From(ctx)
	if subject == nil && t.isCaller {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.last, nil
	}
	token, err := t.tokenFor(ctx, subject)
	if err != nil || subject == nil {
		return token, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = token
	return token, nil
}

// Sessions returns the number of open sessions.
func (s *Server) Sessions() int {
	count := 0
	s.mu.Lock()
	if s.session != nil {
		count++
	}
	s.mu.Unlock()
	if s.callers == nil {
		return count
	}
	s.callers.mu.Lock()
	sessions := slices.Clone(s.callers.sessions)
	s.callers.mu.Unlock()
	for _, each := range sessions {
		count += each.server.Sessions()
	}
	return count
}
