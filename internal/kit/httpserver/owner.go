// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import "net/http"

// Own tells the server the owner of a running request, which is the caller that its credential names. Owners share the
// connections, whatever their addresses are: those with running requests of one owner use at most as much as all owners
// leave, which is a half for one owner, a third each for two, and so on. Each owner may have one. Own returns false if the
// owner may not have another one: the request must then be refused.
//
// A connection counts until it has no running request and is not parked. An HTTP/2 connection with requests of several owners
// counts for the first of them. Own does nothing for a request that no Server serves.
func Own(r *http.Request, owner string) bool {
	c := ConnOf(r)
	return c == nil || c.isOwned.Load() || c.server.table.own(c, owner)
}

func (t *table) own(c *Conn, owner string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.isOwned.Load() || c.element == nil {
		return true
	}
	if used := t.owners[owner]; used > 0 && used+c.cost > t.maxUsed-t.owned-c.cost {
		return false
	}
	c.owner = owner
	c.ownedCost = 0
	t.useOwner(c, c.cost-c.streamCost)
	c.isOwned.Store(true)
	return true
}

// useOwner changes what the owner of a connection uses. The caller holds the lock.
func (t *table) useOwner(c *Conn, bytes int64) {
	c.ownedCost += bytes
	t.owned += bytes
	t.owners[c.owner] += bytes
	if t.owners[c.owner] <= 0 {
		delete(t.owners, c.owner)
	}
}

// disown ends what Own has begun, unless another request runs.
func (t *table) disown(c *Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.running.Load() > 0 || !c.isOwned.Load() {
		return
	}
	t.useOwner(c, -c.ownedCost)
	c.isOwned.Store(false)
}
