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

	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

const (
	// firstRetry and lastRetry are the first and the longest pause between the end of a watch and the
	// start of the next one (exponential backoff).
	firstRetry, lastRetry = 500 * time.Millisecond, 10 * time.Second
	// heartbeat is the interval at which a stream sends a comment. If the browser has disconnected,
	// the write of the comment fails.
	heartbeat = 20 * time.Second
	// linger is how long a watch continues after its last page was closed. If the reader opens another
	// page during this time, that page uses the same watch.
	linger = 30 * time.Second
	// writeTimeout bounds each write of a stream.
	writeTimeout = 10 * time.Second
	// interval is the shortest time between two events of a stream. All changes of this time are one event.
	interval = time.Second
)

// changes sends the changes of agents to the open pages. It has one feed for each Viewer.Key. It is safe
// for concurrent use.
type changes struct {
	options Options
	// serving is the context of the server. When it ends, all watches end.
	serving context.Context //nolint:containedctx // the lifetime of the server, which a request does not have
	running sync.WaitGroup

	mu    sync.Mutex
	feeds map[string]*feed
	// streams is the number of open pages of all feeds.
	streams int
}

func newChanges(ctx context.Context, o Options) *changes {
	return &changes{options: o, serving: ctx, feeds: map[string]*feed{}}
}

// feed is one watch of the registry for all open pages of the readers with one Viewer.Key. It stores no
// agents: when an agent has changed, each page reads its own content again. It is safe for concurrent use.
type feed struct {
	stop context.CancelFunc
	// idle is the timer that ends a feed without pages, nil while there are pages. The mutex of changes
	// guards it.
	idle *time.Timer

	mu       sync.Mutex
	watchers map[*watcher]struct{}
	// synced is true after the watch has received all agents of the registry once.
	synced bool
	// problem is the reason why the registry cannot be watched, "" for none.
	problem string
}

// watcher is an open page that receives changes.
type watcher struct {
	// wake contains a value when there is an event to send.
	wake chan struct{}
	// agent is the only agent that the page shows, as namespace/name. It is "" for a list of agents.
	agent string
	// changed is true if what the page shows may have changed.
	changed bool
}

// open adds an open page of the reader in ctx to the feed of a key. If the key has no feed, it starts one. agent is
// watcher.agent.
// ok is false if the page would exceed MaxStreams, MaxStreamsPerViewer or MaxViewers. Further pages of readers leave room for the first page
// of each of MaxViewers readers.
func (c *changes) open(ctx context.Context, key, agent string) (f *feed, w *watcher, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f = c.feeds[key]
	if f != nil && f.pages() > 0 && (f.pages() >= c.options.MaxStreamsPerViewer || c.streams+c.options.MaxViewers-c.readers() >= c.options.MaxStreams) {
		return nil, nil, false
	}
	if c.streams >= c.options.MaxStreams || f == nil && len(c.feeds) >= c.options.MaxViewers && !c.evictIdle() {
		return nil, nil, false
	}
	if f == nil {
		// The watch needs the values of the request's context, which contain the reader, but must continue
		// after the request has ended.
		watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = &feed{watchers: map[*watcher]struct{}{}, stop: cancel}
		c.feeds[key] = f
		detach := context.AfterFunc(c.serving, cancel) // the watch ends with the server
		c.running.Go(func() {
			defer detach()
			f.follow(watching, c.options)
		})
	}
	if f.idle != nil {
		f.idle.Stop()
		f.idle = nil
	}
	c.streams++
	return f, f.add(agent), true
}

// readers returns the number of readers with open pages. The caller holds c.mu.
func (c *changes) readers() int {
	n := 0
	for _, f := range c.feeds {
		if f.idle == nil {
			n++
		}
	}
	return n
}

// close removes a page from a feed. A feed without pages ends after linger, unless another page is
// opened.
func (c *changes) close(key string, f *feed, w *watcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams--
	if f.remove(w) > 0 {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(linger, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if f.idle == timer {
			c.end(key, f)
		}
	})
	f.idle = timer
}

// end ends a feed. The caller holds c.mu.
func (c *changes) end(key string, f *feed) {
	if c.feeds[key] == f {
		delete(c.feeds, key)
	}
	f.stop()
}

// evictIdle ends one feed that has no pages, and reports whether there was one. The caller holds
// c.mu.
func (c *changes) evictIdle() bool {
	for key, f := range c.feeds {
		if f.idle != nil {
			f.idle.Stop()
			c.end(key, f)
			return true
		}
	}
	return false
}

// follow watches the registry until ctx ends. When a watch ends, it starts the next one after a
// pause (exponential backoff).
func (f *feed) follow(ctx context.Context, o Options) {
	last := ""
	known := false
	pause := firstRetry
	for ctx.Err() == nil {
		err := o.Registry.Watch(ctx, registryapi.Query{Namespace: o.Namespace}, last, func(e registryapi.Event) error {
			last = e.ID
			pause = firstRetry
			switch e.Type {
			case registryapi.Reset:
				known = false
			case registryapi.Synced:
				// After a reset, each agent may have changed.
				f.sync(!known)
				known = true
			case registryapi.Upsert, registryapi.Remove:
				if known {
					f.notify(e.Namespace + "/" + e.Name)
				}
			case registryapi.Bookmark: // a bookmark contains only an id
			}
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			f.report(o.problemOf(err).Message)
		}
		// The registry ends each watch after some minutes. After this pause, the next iteration starts another one.
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, lastRetry)
	}
}

// notify marks the pages that show an agent, and wakes them.
func (f *feed) notify(agent string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		if w.agent == "" || w.agent == agent {
			w.changed = true
			w.signal()
		}
	}
}

// sync records that the watch has received all agents or all missed changes, and clears the problem. If
// all is true, it marks all pages as changed.
func (f *feed) sync(all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced = true
	for w := range f.watchers {
		w.changed = w.changed || all
		if all || f.problem != "" {
			w.signal()
		}
	}
	f.problem = ""
}

// report sets the reason why the watch failed, and sends it to the pages if it is new.
func (f *feed) report(problem string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.problem == problem {
		return
	}
	f.problem = problem
	for w := range f.watchers {
		w.signal()
	}
}

func (w *watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// add adds a page. If the feed is synced, the first event says that the page may have changed: it
// may have been rendered before a change that the watch has already received and does not send again.
func (f *feed) add(agent string) *watcher {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &watcher{wake: make(chan struct{}, 1), agent: agent, changed: f.synced}
	f.watchers[w] = struct{}{}
	if f.synced || f.problem != "" {
		w.signal()
	}
	return w
}

// pages returns the number of open pages.
func (f *feed) pages() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.watchers)
}

// remove removes a page and returns the number of the remaining pages.
func (f *feed) remove(w *watcher) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watchers, w)
	return len(f.watchers)
}

// change is the data of an event for the browser.
type change struct {
	// Changed is true if what the page shows may have changed.
	Changed bool `json:"changed"`
	// Problem is the reason why there are no changes at present, "" for none.
	Problem string `json:"problem"`
}

// take returns what a page has not received yet, and clears it.
func (f *feed) take(w *watcher) change {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := change{Changed: w.changed, Problem: safetext.Line(f.problem)}
	w.changed = false
	return out
}

// stream tells a page as server-sent events when it must read its content again, until the request ends. The
// parameter agent is watcher.agent.
func (c *changes) stream(w http.ResponseWriter, r *http.Request) {
	key := c.options.Viewer(r).Key
	feed, page, ok := c.open(r.Context(), key, r.URL.Query().Get("agent"))
	if !ok {
		http.Error(w, "too many open pages", http.StatusServiceUnavailable)
		return
	}
	defer c.close(key, feed, page)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // otherwise, proxies such as nginx buffer the events
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the stream outlasts the read timeout of the server
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	wake := page.wake
	var rested <-chan time.Time // the end of the interval after an event, nil before the first event
	for {
		text := ": \n\n"
		select {
		case <-r.Context().Done():
			return
		case <-rested:
			wake = page.wake
			continue
		case <-wake:
			wake = nil
			rested = time.After(interval)
			data, _ := json.Marshal(feed.take(page)) // strings and booleans have a JSON form
			text = fmt.Sprintf("retry: 1000\nevent: change\ndata: %s\n\n", data)
		case <-ticker.C:
		}
		_ = control.SetWriteDeadline(c.options.Now().Add(writeTimeout))
		if _, err := w.Write([]byte(text)); err != nil || control.Flush() != nil {
			return
		}
		// Without this call, the write deadline would pass between two events. HTTP/2 resets the
		// stream then, even if nothing is being written.
		_ = control.SetWriteDeadline(time.Time{})
	}
}
