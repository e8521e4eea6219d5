// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxCacheCost bounds a cache in bytes. Each entry counts as minEntryCost at least, so that a cache has at most 4,096 entries.
	maxCacheCost = 16 << 20
	minEntryCost = 4 << 10
)

// cacheKey identifies a credential: the Agent, and the digest of the token of the user for whom it is, "" for none.
type cacheKey struct {
	agent types.NamespacedName
	user  string
	// client is true for the client secret of the Agent.
	client bool
}

// cache has the last results. A full cache evicts the least recently used entry of the namespace that uses the most of it, so that
// no namespace evicts the entries of another one that uses less. It is safe for concurrent use.
type cache struct {
	mu     sync.Mutex
	cost   int
	shares map[string]*share
	// uses counts the uses of all entries.
	uses uint64
}

// share has the entries of one namespace.
type share struct {
	cost    int
	entries map[cacheKey]*used
}

// used is an entry with the number of its last use.
type used struct {
	*cachedCredential
	at uint64
}

func (c *cachedCredential) cost() int {
	const rest = 1 << 10 // for the fields, the header and the error
	return max(minEntryCost, rest+len(c.credential.Value)+len(c.credential.Certificate)+len(c.credential.PrivateKey))
}

// get returns the entry of a key, nil for none.
func (c *cache) get(key cacheKey) *cachedCredential {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.shares[key.agent.Namespace]; s != nil && s.entries[key] != nil {
		c.uses++
		s.entries[key].at = c.uses
		return s.entries[key].cachedCredential
	}
	return nil
}

func (c *cache) put(key cacheKey, next *cachedCredential) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
	s := c.shares[key.agent.Namespace]
	if s == nil {
		s = &share{entries: map[cacheKey]*used{}}
		c.shares[key.agent.Namespace] = s
	}
	c.uses++
	s.entries[key] = &used{next, c.uses}
	s.cost += next.cost()
	c.cost += next.cost()
	for c.cost > maxCacheCost {
		c.evict()
	}
}

// dropAgent removes the entries of an Agent.
func (c *cache) dropAgent(agent types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.shares[agent.Namespace]; s != nil {
		for key := range s.entries {
			if key.agent == agent {
				c.remove(key)
			}
		}
	}
}

// evict removes one entry. The caller holds the lock.
func (c *cache) evict() {
	largest := &share{}
	for _, s := range c.shares {
		if s.cost > largest.cost {
			largest = s
		}
	}
	var oldest cacheKey
	first := c.uses + 1
	for key, entry := range largest.entries {
		if entry.at < first {
			oldest = key
			first = entry.at
		}
	}
	c.remove(oldest)
}

// remove removes the entry of a key. The caller holds the lock.
func (c *cache) remove(key cacheKey) {
	s := c.shares[key.agent.Namespace]
	if s == nil || s.entries[key] == nil {
		return
	}
	s.cost -= s.entries[key].cost()
	c.cost -= s.entries[key].cost()
	delete(s.entries, key)
	if len(s.entries) == 0 {
		delete(c.shares, key.agent.Namespace)
	}
}
