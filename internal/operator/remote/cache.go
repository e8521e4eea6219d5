// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/a2a-operator/a2a-operator/internal/kit/sharedcache"
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

// cache has the last results. The namespaces of the Agents share it.
type cache struct {
	*sharedcache.Cache[string, cacheKey, *cachedCredential]
}

func newCache() cache {
	return cache{sharedcache.New[string, cacheKey, *cachedCredential](maxCacheCost)}
}

func (c *cachedCredential) cost() int {
	const rest = 1 << 10 // for the fields, the header and the error
	return max(minEntryCost, rest+len(c.credential.Value)+len(c.credential.Certificate)+len(c.credential.PrivateKey))
}

// get returns the entry of a key, nil for none.
func (c cache) get(key cacheKey) *cachedCredential {
	found, _ := c.Get(key)
	return found
}

func (c cache) put(key cacheKey, next *cachedCredential) {
	c.Put(key.agent.Namespace, key, next, next.cost())
}

// dropAgent removes the entries of an Agent.
func (c cache) dropAgent(agent types.NamespacedName) {
	c.RemoveFunc(agent.Namespace, func(key cacheKey) bool { return key.agent == agent })
}
