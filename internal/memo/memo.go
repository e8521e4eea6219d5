// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memo remembers results of earlier reconciles, so that a reconcile that
// cannot find or change anything new sends no request and skips work.
//
// An entry has a key, the state under which its value holds, and optionally the time at
// which it expires. Get returns the value while the caller observes that same state.
// The first Get with another state, or after the expiry, invalidates the entry for good:
// a later Get with the former state finds no valid entry. A lost entry (an eviction, a
// restart of the manager) costs a request or some CPU time and never correctness, so
// nothing is persisted.
//
// A Memo compares states for equality, and Writes compare resource versions. The operator has
// these memos:
//
//	in sync (controllers, AgentReconciler.inSync)
//	  entry: the result of rendering an Agent, whose objects all equaled their desired
//	         state, or whose spec has a mistake that allows none
//	  valid: while the digest of all inputs of rendering and comparing is the same
//	  else:  the objects are rendered and compared again
//	  size:  unlimited; the entry is dropped when the Agent is gone
//
//	rejections, a negative cache (internal/apply, Applier.rejected)
//	  entry: the API server's answer to a write that it rejected
//	  valid: for a minute, while the desired content and the UID and generation of the
//	         object that it changes are the same; dropped for all objects when the CRDs
//	         of the Gateway API change
//	  else:  the write is sent again
//
//	skill counts (controllers, AgentSkillReconciler.counted)
//	  entry: the time from which the Agents of an AgentSkill may be counted again
//	  valid: for a second, whatever happens
//	  else:  the Agents are counted
//
//	written statuses (controllers, AgentReconciler and AgentSkillReconciler)
//	  entry: the status that the operator wrote last
//	  else:  the cache shows the write, or a later one, and the cached status counts
//
//	pending writes, "expectations" (internal/apply, Applier.written)
//	  entry: the digest and the UID of an object that the operator wrote
//	  valid: for a created object, which may be deleted before the cache shows it, at most 5 s
//	  else:  the cached object is compared; an invalid entry still has the UID of the owner,
//	         which distinguishes a deleted object from an object that was never written
//
//	scaled Deployments (internal/apply, Applier.scaled)
//	  entry: the number of replicas that the operator wrote while a mistake blocks other writes
//	  else:  the number of the cached Deployment counts
//
//	annotated pods (internal/apply, Applier.annotated)
//	  entry: the value of the annotation that the operator wrote
//	  else:  the annotation of the cached pod counts
package memo

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

// Memo maps keys to values, each of which is valid for one state S. Its methods are safe for
// concurrent use.
type Memo[K, S comparable, V any] struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	entries *lru.Cache
}

type entry[S comparable, V any] struct {
	state   S
	value   V
	expires time.Time // zero for never
	invalid bool
}

// New returns a Memo of at most size entries; 0 means no limit. A full Memo evicts its
// least recently used entry.
func New[K, S comparable, V any](size int, passive clock.PassiveClock) *Memo[K, S, V] {
	return &Memo[K, S, V]{clock: passive, entries: lru.New(size)}
}

// Put stores the value of a key for a state, and replaces the entry of the key. The value
// is valid until expires; the zero time means no expiry.
func (m *Memo[K, S, V]) Put(key K, state S, value V, expires time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries.Add(key, &entry[S, V]{state: state, value: value, expires: expires})
}

// Get returns the value of a key if its entry is valid. It invalidates the entry if the
// entry has another state or has expired.
func (m *Memo[K, S, V]) Get(key K, state S) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(key)
	if e == nil || e.invalid {
		return value, false
	}
	if e.state != state || !e.expires.IsZero() && !m.clock.Now().Before(e.expires) {
		e.invalid = true
		return value, false
	}
	return e.value, true
}

// Last returns the value that was put last for a key, whether it is still valid or not.
func (m *Memo[K, S, V]) Last(key K) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entry(key); e != nil {
		return e.value, true
	}
	return value, false
}

func (m *Memo[K, S, V]) entry(key K) *entry[S, V] {
	e, _ := m.entries.Get(key)
	known, _ := e.(*entry[S, V])
	return known
}

// Drop removes the entry of a key.
func (m *Memo[K, S, V]) Drop(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries.Remove(key)
}

// Clear removes all entries.
func (m *Memo[K, S, V]) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries.Clear()
}
