// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memo remembers results of earlier reconciles, so that a reconcile that
// cannot find or change anything new sends no request and skips work.
//
// An entry has a key, the state under which its value holds, and optionally the time at
// which it expires. Get returns the value while the caller observes that same state.
// The first Get with another state, or after the expiry, removes the entry:
// a later Get with the former state finds no entry. A lost entry (an eviction, a
// restart of the manager) costs a request or some CPU time and never correctness, so
// nothing is persisted. The keys with a namespace share a Memo fairly: a namespace with many
// entries evicts its own.
//
// A Memo compares states for equality. An entry of Writes is a write, and is valid while
// the write is pending: Writes compares the resource version of the cached object with
// those before and after the write. The operator has these memos:
//
//	in sync (controllers, AgentReconciler.inSync)
//	  entry: the result of rendering an Agent, whose objects all equaled their desired
//	         state, or whose spec has a mistake, so that it has no desired objects
//	  valid: while the digest of all inputs of rendering and comparing is the same
//	  else:  the objects are rendered and compared again
//	  size:  unlimited; the entry is dropped when the Agent is gone
//
//	rejections, a negative cache (internal/operator/apply, Applier.rejected)
//	  entry: the API server's answer to a write that it rejected
//	  valid: for 5 s to a minute, while the desired content and the UID and generation of the
//	         object that it changes are the same; dropped for all objects when the CRDs
//	         of the Gateway API change
//	  else:  the write is sent again
//
//	skill counts (controllers, AgentSkillReconciler.counted)
//	  entry: the time from which the Agents of an AgentSkill may be counted again
//	  valid: for a second, even if Agents change
//	  else:  the Agents are counted
//
//	new fields (internal/operator/gather, Gatherer.NewFields)
//	  entry: the fields of a newer CRD that the spec of an Agent or AgentSkill sets
//	  valid: while the generations of the object and of the CRD are the same
//	  else:  the object is read from the API server
//
//	revisions (internal/operator/gather, Revisions)
//	  entry: the kept revision of an Agent that runs in place of its spec
//	  valid: while the Agent names the same revision; for 30 s if the revision is not kept
//	  else:  the revisions of the Agent are read from the API server
//	  size:  1024
//
//	too many revisions (internal/operator/gather, Revisions)
//	  entry: an Agent has more revisions than the operator reads
//	  valid: for a minute
//	  else:  the revisions of the Agent are read from the API server
//	  size:  1024
//
//	warnings of pods (internal/operator/gather, PodWarnings)
//	  entry: the newest warning of a pod that does not start, "" for none
//	  valid: for a minute
//	  else:  the events of the pod are read from the API server
//	  size:  4096
//
//	image volumes (internal/operator/gather, ImageVolumes)
//	  entry: whether the API server drops image volumes of pod templates of a namespace
//	  valid: for ten minutes; for one if the API server did not say
//	  else:  the API server is asked; the entry stays valid if it does not say
//	  size:  4096
//
//	written statuses (controllers, AgentReconciler and AgentSkillReconciler)
//	  entry: the status that the operator wrote last
//	  valid: while the write is pending, at most a minute
//	  else:  the cached status is used: the cache shows the write or a later one, or the
//	         minute has passed
//
//	pending writes, "expectations" (internal/operator/apply, Applier.written)
//	  entry: the digest and the UID of an object that the operator wrote, and the UID of its owner
//	  valid: while the write is pending; for a created object at most 5 s, because it may be
//	         deleted before the cache shows it
//	  else:  the desired state is compared with the cached object; if the cache has no object,
//	         the UID of the owner shows that the operator wrote the object for this owner, so
//	         the object was deleted
//
//	scaled Deployments (internal/operator/apply, Applier.scaled)
//	  entry: the number of replicas that the operator wrote while a mistake blocks other writes
//	  valid: while the write is pending
//	  else:  the number of the cached Deployment is used
//
//	contests (internal/operator/apply, Applier.contests)
//	  entry: the fields of an Agent's objects that others changed, with the last times at which the
//	         operator set them back
//	  valid: for five minutes after the last time
//	  else:  no field counts as contested
//
//	undone writes (internal/operator/apply, Applier.undone)
//	  entry: the field that the API server did not keep, because a webhook or a policy changes it
//	  valid: for an hour, while the desired content and the content of the object are the same
//	  else:  the write is sent again
//
//	repeated writes (internal/operator/apply, Applier.repeats)
//	  entry: the number of writes of the same content of an object, or of the annotation of a pod, that changed it
//	  valid: for five minutes after the last one
//	  else:  the next write waits for nothing
//
//	repeated statuses (controllers, AgentReconciler and AgentSkillReconciler)
//	  entry: the number of writes of the same status
//	  valid: for five minutes after the last one
//	  else:  the next write waits for nothing
//
//	annotated pods (internal/operator/apply, Applier.annotated)
//	  entry: the value of the annotation that the operator wrote
//	  valid: while the write is pending
//	  else:  the annotation of the cached pod is used
package memo

import (
	"cmp"
	"math"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/kit/sharedcache"
)

// Object is the key of an object whose namespace has a share of a memo.
type Object struct {
	namespace string
	uid       types.UID
}

// KeyOf returns the key of an object.
func KeyOf(o metav1.Object) Object { return Object{o.GetNamespace(), o.GetUID()} }

// namespaceOf returns the namespace in a key, "" for a key of another type.
func namespaceOf(key any) string {
	switch k := key.(type) {
	case Object:
		return k.namespace
	case types.NamespacedName:
		return k.Namespace
	default:
		return ""
	}
}

// table maps keys to entries. A full table evicts the least recently used entry of the namespace that has the most. Keys without a
// namespace share one.
type table[K comparable, E any] struct {
	clock   clock.PassiveClock
	entries *sharedcache.Cache[string, K, *E] // it has a lock of its own
}

// newTable returns a table of at most size entries; 0 means no limit.
func newTable[K comparable, E any](size int, passive clock.PassiveClock) table[K, E] {
	return table[K, E]{clock: passive, entries: sharedcache.New[string, K, *E](cmp.Or(size, math.MaxInt))}
}

// get returns the entry of a key, or nil.
func (t *table[K, E]) get(key K) *E {
	entry, _ := t.entries.Get(key)
	return entry
}

func (t *table[K, E]) put(key K, entry *E) { t.entries.Put(namespaceOf(key), key, entry, 1) }

// Drop removes the entry of a key.
func (t *table[K, E]) Drop(key K) { t.entries.Remove(key) }

// Memo maps keys to values, each of which is valid for one state S. Its methods are safe for
// concurrent use.
type Memo[K, S comparable, V any] struct{ table[K, entry[S, V]] }

// entry is immutable.
type entry[S comparable, V any] struct {
	state   S
	value   V
	expires time.Time // zero for never
}

// New returns a Memo of at most size entries; 0 means no limit.
func New[K, S comparable, V any](size int, passive clock.PassiveClock) *Memo[K, S, V] {
	return &Memo[K, S, V]{newTable[K, entry[S, V]](size, passive)}
}

// Put stores the value of a key for a state, and replaces the entry of the key. The value
// is valid until expires; the zero time means no expiry.
func (m *Memo[K, S, V]) Put(key K, state S, value V, expires time.Time) {
	m.put(key, &entry[S, V]{state: state, value: value, expires: expires})
}

// Get returns the value of a key if its entry is valid. It removes the entry if the entry has
// another state or has expired.
func (m *Memo[K, S, V]) Get(key K, state S) (value V, ok bool) {
	e := m.get(key)
	if e == nil {
		return value, false
	}
	if e.state != state || !e.expires.IsZero() && !m.clock.Now().Before(e.expires) {
		m.Drop(key)
		return value, false
	}
	return e.value, true
}

// Clear removes all entries.
func (m *Memo[K, S, V]) Clear() { m.entries.Clear() }

// cacheDelay is how long a write stays pending at most while the cache shows a resource version
// between Write.Before and Write.After. The time is bounded because an API server counts resource
// versions from a lower number after a restore of its storage.
const cacheDelay = time.Minute

// Writes maps keys to the last write of an object. Pending reports whether the cache may
// still lack this write. Its methods are safe for concurrent use.
//
// A write is pending while the cached object has the resource version Write.Before. For up to a
// minute, it is also pending while the cached object has another version that is older than
// Write.After. The cache then shows an earlier write, of the operator or of another client.
type Writes[K comparable, V any] struct {
	table[K, sentWrite[V]]
	// mu guards the fields of the entries.
	mu sync.Mutex
}

// Write is a write of an object.
type Write[V any] struct {
	// Before is the cached resource version at the time of the write, "" for no object.
	Before string
	// After is the resource version that the write made, "" if it is unknown.
	After string
	// Value describes the write.
	Value V
	// PendingFor bounds how long the write is pending; 0 means no bound.
	PendingFor time.Duration
}

type sentWrite[V any] struct {
	Write[V]
	at    time.Time
	shown bool
}

// NewWrites returns Writes of at most size entries.
func NewWrites[K comparable, V any](size int, passive clock.PassiveClock) *Writes[K, V] {
	return &Writes[K, V]{table: newTable[K, sentWrite[V]](size, passive)}
}

// Put stores the write of a key, and replaces the earlier write of the key.
func (w *Writes[K, V]) Put(key K, write Write[V]) {
	w.put(key, &sentWrite[V]{Write: write, at: w.clock.Now()})
}

// Pending returns the value of a key's write if the write is pending. cached is the
// resource version that the cache shows, "" for no object. After the first call that finds
// the write not pending, the write is never pending again.
func (w *Writes[K, V]) Pending(key K, cached string) (value V, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.get(key)
	if sent == nil || sent.shown {
		return value, false
	}
	if !sent.pending(cached, w.clock.Since(sent.at)) {
		sent.shown = true
		return value, false
	}
	return sent.Value, true
}

func (s *sentWrite[V]) pending(cached string, age time.Duration) bool {
	if s.PendingFor > 0 && age >= s.PendingFor {
		return false
	}
	return cached == s.Before || age < cacheDelay && older(cached, s.After)
}

// older reports whether a resource version is older than another one. It returns false if one
// of them is not a number.
func older(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order < 0
}

// Last returns the value of a key's last write, pending or not.
func (w *Writes[K, V]) Last(key K) (value V, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if sent := w.get(key); sent != nil {
		return sent.Value, true
	}
	return value, false
}
