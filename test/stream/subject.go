// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// subject is a task with its history.
type subject struct {
	script script.Script
	// known is closed when the id of the task is known.
	known    <-chan struct{}
	announce func()

	mu      sync.Mutex
	history history.Task
	// abandoned are the connections that stay open although their readers no longer read (client.Abandon).
	abandoned []client.Stream
}

func newSubject(s script.Script) *subject {
	known := make(chan struct{})
	t := &subject{script: s, known: known, announce: sync.OnceFunc(func() { close(known) })}
	t.history.Turns = s.Turns
	for i := range s.Total() {
		t.history.Want = append(t.history.Want, s.Chunk(i))
	}
	return t
}

func (t *subject) id() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.history.ID
}

// matchID sets the id of the task from its first event, and reports whether an event belongs to the task. It records the
// id of any other task in the history.
func (t *subject) matchID(id string, at time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.history.ID == "" {
		t.history.ID = id
	}
	if t.history.ID == id {
		t.announce()
		return true
	}
	first := at
	for i := range t.history.Streams {
		first = min(first, t.history.Streams[i].Begin)
	}
	t.history.Others = append(t.history.Others, history.Other{ID: id, First: first, Then: at})
	return false
}

// setID sets the id before the server has named the task.
func (t *subject) setID(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.history.ID = id
}

func (t *subject) add(l history.Stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.history.Streams = append(t.history.Streams, l)
}

// markBroken records that the named reader itself broke its streams.
func (t *subject) markBroken(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.history.Streams {
		if l := &t.history.Streams[i]; l.Client == name && l.Outcome == history.Cut {
			t.history.Streams[i].Broken = true
		}
	}
}

func (t *subject) gaveUp(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.history.GaveUp = append(t.history.GaveUp, name)
}

func (t *subject) abandon(s client.Stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.abandoned = append(t.abandoned, s)
}

func (t *subject) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.abandoned {
		s.Close()
	}
	t.abandoned = nil
}

// intern returns the wanted chunk that equals the text, if there is one, so that many readers share one copy of it.
func (t *subject) intern(text string) string {
	if n, ok := script.Number(text); ok && n < len(t.history.Want) && t.history.Want[n] == text {
		return t.history.Want[n]
	}
	return text
}
