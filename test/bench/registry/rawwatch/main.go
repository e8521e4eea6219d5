// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command rawwatch is a lower bound for the cost of watches: it writes ready-made frames to all clients of GET /, all
// frames of an interval together. POST / sends a frame.
package main

import (
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
)

// interval is the time for which frames are collected, as in the registry.
const interval = 20 * time.Millisecond

// batch contains the frames of one interval, which all clients receive. Batches form a linked list.
type batch struct {
	frames []byte
	next   *batch
	ready  chan struct{}
}

func newBatch() *batch { return &batch{ready: make(chan struct{})} }

type hub struct {
	mu     sync.Mutex
	latest *batch
	open   []byte
}

func main() {
	process.Serve(func() http.Handler {
		h := &hub{latest: newBatch()}
		mux := http.NewServeMux()
		mux.HandleFunc("GET /", h.follow)
		mux.HandleFunc("POST /", h.send)
		return mux
	})
}

func (h *hub) follow(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	at := h.latest
	h.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	if _, err := io.WriteString(w, "event: synced\ndata: {}\n\n"); err != nil || control.Flush() != nil {
		return
	}
	for {
		select {
		case <-at.ready:
		case <-r.Context().Done():
			return
		}
		if _, err := w.Write(at.frames); err != nil || control.Flush() != nil {
			return
		}
		at = at.next
	}
}

func (h *hub) send(_ http.ResponseWriter, r *http.Request) {
	frame, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.open) == 0 {
		time.AfterFunc(interval, h.publish)
	}
	h.open = append(h.open, frame...)
}

func (h *hub) publish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	done := h.latest
	done.frames, done.next = h.open, newBatch()
	h.open, h.latest = nil, done.next
	close(done.ready)
}
