// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package http1

import (
	"slices"
	"sync"
	"time"
)

// pool holds idle connections.
type pool struct {
	max     int
	timeout time.Duration

	mu sync.Mutex
	// idle is sorted by the time of last use, the oldest first.
	idle []*conn
	// sweeper closes connections that were idle for timeout. It is nil while idle is empty.
	sweeper *time.Timer
}

// take removes and returns a reusable connection to an address, nil if there is none.
func (p *pool) take(address string) *conn {
	for {
		last := p.pop(address)
		if last == nil || last.reusable() {
			return last
		}
		_ = last.socket.Close()
	}
}

// pop removes and returns the connection to an address that was used most recently. It
// returns nil if there is none, or if that connection was idle for the idle timeout.
func (p *pool) pop(address string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, last := range slices.Backward(p.idle) {
		if last.address != address {
			continue
		}
		if time.Since(last.lastUsed) >= p.timeout {
			return nil // the earlier connections in idle were idle for longer
		}
		p.idle = slices.Delete(p.idle, i, i+1)
		return last
	}
	return nil
}

// put adds a connection. If the pool is full, put closes the connection that was idle for
// the longest time.
func (p *pool) put(used *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) >= p.max {
		p.closeOldest(1)
	}
	used.lastUsed = time.Now() //nolint:forbidigo // it is compared with timers
	p.idle = append(p.idle, used)
	if p.sweeper == nil {
		p.sweeper = time.AfterFunc(p.timeout, p.sweep)
	}
}

// sweep closes the connections that were idle for timeout, and schedules itself for the
// time at which the idle timeout of the next connection ends.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sweeper == nil {
		return
	}
	expired := 0
	for expired < len(p.idle) && time.Since(p.idle[expired].lastUsed) >= p.timeout {
		expired++
	}
	p.closeOldest(expired)
	if p.sweeper != nil {
		p.sweeper.Reset(p.timeout - time.Since(p.idle[0].lastUsed))
	}
}

// close closes all connections of the pool.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeOldest(len(p.idle))
}

// closeOldest closes the first count connections, which were idle for the longest time. The
// caller holds p.mu.
func (p *pool) closeOldest(count int) {
	for _, each := range p.idle[:count] {
		_ = each.socket.Close()
	}
	p.idle = slices.Delete(p.idle, 0, count)
	if len(p.idle) == 0 && p.sweeper != nil {
		p.sweeper.Stop()
		p.sweeper = nil
	}
}
