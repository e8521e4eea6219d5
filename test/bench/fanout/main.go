// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command fanout is a lower bound for the cost of many subscribers of one stream in Go: it encodes every event
// once in advance, and writes the bytes to each subscriber.
package main

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/bench/script"
)

func main() {
	process.Serve(func() http.Handler {
		h := &hub{}
		mux := http.NewServeMux()
		mux.HandleFunc("/", h.subscribe)
		mux.HandleFunc("/open", h.publish)
		return mux
	})
}

// hub sends each frame to all subscribers.
type hub struct {
	mu          sync.Mutex
	subscribers map[chan []byte]struct{}
}

const (
	before = `data: {"jsonrpc":"2.0","id":1,"result":{"artifactUpdate":{"taskId":"0198c2f4-0000-7000-8000-000000000000",` +
		`"contextId":"0198c2f3-0000-7000-8000-000000000000","artifact":{"artifactId":"a","parts":[{"text":"`
	after = `"}]},"append":true}}}` + "\n\n"
)

func (h *hub) subscribe(w http.ResponseWriter, r *http.Request) {
	frames := make(chan []byte, 256)
	h.mu.Lock()
	if h.subscribers == nil {
		h.subscribers = map[chan []byte]struct{}{}
	}
	h.subscribers[frames] = struct{}{}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.subscribers, frames)
		h.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	if _, err := io.WriteString(w, before+"waiting"+after); err != nil || out.Flush() != nil {
		return
	}
	for {
		select {
		case frame, more := <-frames:
			if !more {
				return
			}
			if _, err := w.Write(frame); err != nil || out.Flush() != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// publish plays the script in the request to all subscribers.
func (h *hub) publish(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s, err := script.Find(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.Gated = false
	ctx := context.WithoutCancel(r.Context())
	go func() {
		_ = s.Play(ctx, nil, func(text string) error {
			h.send([]byte(before + text + after))
			return nil
		})
	}()
}

func (h *hub) send(frame []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for frames := range h.subscribers {
		select {
		case frames <- frame:
		default: // the subscriber is too slow and misses the frame, so the benchmark fails
		}
	}
}
