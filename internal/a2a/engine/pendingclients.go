// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// pendingClients counts the clients that wait for the answer of a turn: Send has not returned,
// or Stream has not subscribed. Until the last client has its answer, the log of the turn has a
// watcher. A full memory store evicts ended tasks without a watcher first, and on a busy machine
// it could otherwise evict the task before the goroutine of the client runs again.
type pendingClients struct {
	mu      sync.Mutex
	count   int
	unwatch func()
}

// add counts a client.
func (p *pendingClients) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
}

// watch adds the watcher to the log of the turn. It does nothing if no client waits, or if the log
// has the watcher.
func (p *pendingClients) watch(log store.Log) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count > 0 && p.unwatch == nil {
		p.unwatch = log.Watch(func() {})
	}
}

// remove uncounts a client that has its answer or has disconnected. It removes the watcher after the
// last client.
func (p *pendingClients) remove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count--; p.count == 0 && p.unwatch != nil {
		p.unwatch()
		p.unwatch = nil
	}
}
