// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package translator

import (
	"context"
	"fmt"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
)

// ServeRemote implements gateway.Remotes.
func (t *Translator) ServeRemote(w http.ResponseWriter, r *http.Request, agent *gateway.Remote, base string) {
	t.options.Working()
	name := agent.Namespace + "/" + agent.Name
	if !t.enter(name) {
		Deny(w, r, a2a.Busy("Too many requests to remote agents, or to this one, are open; try again"))
		return
	}
	defer t.leave(name)
	if len(r.Header.Values("Authorization")) > 1 {
		Deny(w, r, &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: "There must be one Authorization header"})
		return
	}
	l, err := t.linkFor(agent, r.Header.Get("Authorization"), delegation.From(r.Context()))
	if err != nil {
		t.options.Log.WarnContext(r.Context(), "request to remote agent refused", "agent", name, "error", err)
		Deny(w, r, a2a.ErrorOf(err))
		return
	}
	defer t.release(l)
	ctx := auth.WithCaller(context.WithValue(r.Context(), linkKey{}, l), auth.Caller{Owner: l.owner})
	l.serve(w, r.WithContext(ctx), base)
}

// enter counts a request to a remote agent as open, and returns false if too many are: of all agents, or of this one.
func (t *Translator) enter(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open >= maxRequests || t.openTo[name] >= maxRequests/2 {
		return false
	}
	t.open++
	t.openTo[name]++
	return true
}

func (t *Translator) leave(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	t.openTo[name]--
	if t.openTo[name] == 0 {
		delete(t.openTo, name)
	}
}

// Drain refuses new requests, waits for the running tasks, and ends the streams. If ctx
// ends first, Drain fails the tasks that still run.
func (t *Translator) Drain(ctx context.Context) error {
	t.mu.Lock()
	t.draining = true
	c := t.core
	t.mu.Unlock()
	if c == nil {
		return nil
	}
	if err := c.engine.Drain(ctx); err != nil {
		return fmt.Errorf("drain tasks of remote agents: %w", err)
	}
	return nil
}

// Close closes all links. It is called after Drain.
func (t *Translator) Close() {
	t.mu.Lock()
	t.draining = true
	for _, l := range t.links {
		t.drop(l)
	}
	c := t.core
	t.mu.Unlock()
	t.closing.Wait()
	if c != nil {
		c.guard.CloseIdleConnections()
	}
}
