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
	mu    sync.Mutex
	count int
	// log is the log of the turn. It is nil until the turn is decided with a task, and always if
	// other replicas use the store.
	log     store.Log
	unwatch func()
}

// add counts a client. The client may join a turn that is decided.
func (p *pendingClients) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.hold()
}

// watch sets the log of the turn.
func (p *pendingClients) watch(log store.Log) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = log
	p.hold()
}

// hold adds the watcher if a client waits, the log is known and has no watcher yet.
func (p *pendingClients) hold() {
	if p.count > 0 && p.log != nil && p.unwatch == nil {
		p.unwatch = p.log.Watch(func() {})
	}
}

// remove uncounts a client that has its answer or has disconnected. It removes the watcher after the
// last client.
func (p *pendingClients) remove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count--
	if p.count == 0 && p.unwatch != nil {
		p.unwatch()
		p.unwatch = nil
	}
}
