// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

const (
	// firstRetry and lastRetry bound the backoff between two watches.
	firstRetry, lastRetry = 500 * time.Millisecond, 10 * time.Second
	// heartbeat is the time between two comments of a stream, by which a dead browser is noticed.
	heartbeat = 20 * time.Second
	// maxPending bounds the agents that changed since the last event of a page. A page with more
	// reads all that it shows.
	maxPending = 100
)

// changes watches the registry once and notifies all open pages. It keeps no agents: a page reads
// what it shows again. It is safe for concurrent use.
type changes struct {
	mu       sync.Mutex
	watchers map[*watcher]struct{}
	// problem is why the registry cannot be watched, "" while it is.
	problem string
}

// watcher is an open page.
type watcher struct {
	// wake has a value when there is something to send.
	wake chan struct{}
	// agents are the changed agents, as namespace/name; all is true for too many of them.
	agents map[string]struct{}
	all    bool
}

func newChanges() *changes { return &changes{watchers: map[*watcher]struct{}{}} }

// follow watches the registry until ctx ends.
func (c *changes) follow(ctx context.Context, registry *registryclient.Client, namespace string) {
	last, synced := "", false
	pause := firstRetry
	for ctx.Err() == nil {
		err := registry.Watch(ctx, registryclient.Query{Namespace: namespace}, last, func(e registryclient.Event) error {
			last, pause = e.ID, firstRetry
			switch e.Type {
			case registryclient.Reset:
				synced = false
			case registryclient.Synced:
				// After a reset, each agent may have changed.
				c.notify("", !synced)
				synced = true
				c.report("")
			case registryclient.Upsert, registryclient.Remove:
				if synced {
					c.notify(e.Namespace+"/"+e.Name, false)
				}
			case registryclient.Bookmark: // it has an id only
			}
			return nil
		})
		if err == nil {
			continue // the registry ends each watch after some minutes
		}
		if ctx.Err() != nil {
			return
		}
		c.report(failure.Of(err).Message)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		pause = min(2*pause, lastRetry)
	}
}

// notify adds a changed agent to each page, or all agents. "" is no agent.
func (c *changes) notify(agent string, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watchers {
		switch {
		case all || len(w.agents) >= maxPending:
			w.all, w.agents = true, map[string]struct{}{}
		case agent == "" || w.all:
			continue
		default:
			w.agents[agent] = struct{}{}
		}
		w.signal()
	}
}

// report sets why the registry cannot be watched, "" if it can.
func (c *changes) report(problem string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problem == problem {
		return
	}
	c.problem = problem
	for w := range c.watchers {
		w.signal()
	}
}

func (w *watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// add returns a watcher, nil if there are too many.
func (c *changes) add() *watcher {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.watchers) >= maxWatchers {
		return nil
	}
	// The page may have been rendered before a change that is not repeated.
	w := &watcher{wake: make(chan struct{}, 1), agents: map[string]struct{}{}, all: true}
	c.watchers[w] = struct{}{}
	w.signal()
	return w
}

func (c *changes) remove(w *watcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watchers, w)
}

// state is the data of an event for the browser.
type state struct {
	// Agents changed, as namespace/name, or all for All.
	Agents []string `json:"agents"`
	All    bool     `json:"all"`
	// Problem is why there are no changes at present.
	Problem string `json:"problem"`
}

// take returns what a page does not know yet.
func (c *changes) take(w *watcher) state {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := state{All: w.all, Problem: terminal.Line(c.problem), Agents: make([]string, 0, len(w.agents))}
	for agent := range w.agents {
		out.Agents = append(out.Agents, agent)
	}
	w.agents, w.all = map[string]struct{}{}, false
	return out
}

// streamChanges responds with server-sent events.
func (s *Server) streamChanges(w http.ResponseWriter, r *http.Request) {
	page := s.changes.add()
	if page == nil {
		http.Error(w, "too many open pages", http.StatusServiceUnavailable)
		return
	}
	defer s.changes.remove(page)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request was read
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		text := ": \n\n"
		select {
		case <-r.Context().Done():
			return
		case <-page.wake:
			data, _ := json.Marshal(s.changes.take(page)) //nolint:errchkjson // strings and a boolean
			text = fmt.Sprintf("retry: 1000\nevent: change\ndata: %s\n\n", data)
		case <-ticker.C:
		}
		_ = control.SetWriteDeadline(s.options.Now().Add(writeTimeout))
		if _, err := w.Write([]byte(text)); err != nil || control.Flush() != nil {
			return
		}
	}
}
