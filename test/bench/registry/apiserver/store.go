// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/operator"
)

// store contains the objects of all kinds. Objects are never deleted, so the events of a watch from a resource version are
// the objects with a later version.
type store struct {
	mu       sync.Mutex
	version  uint64
	objects  map[*kind]map[types.NamespacedName]*object
	watchers map[*watcher]struct{}
}

func newStore() *store {
	return &store{version: 1, objects: map[*kind]map[types.NamespacedName]*object{}, watchers: map[*watcher]struct{}{}}
}

func (s *store) put(o client.Object) error {
	k, err := kindOfObject(o)
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o.SetResourceVersion(strconv.FormatUint(s.version, 10))
	raw, err := encode(k, o)
	if err != nil {
		return fmt.Errorf("encode %s: %w", key, err)
	}
	stored := &object{raw: raw, version: s.version}
	if s.objects[k] == nil {
		s.objects[k] = map[types.NamespacedName]*object{}
	}
	s.objects[k][key] = stored
	for w := range s.watchers {
		if w.of.kind == k && w.of.has(key) {
			w.pending = append(w.pending, stored)
			w.signal()
		}
	}
	return nil
}

var scheme, errScheme = operator.NewScheme()

// kindOfObject returns the kind of a Go type.
func kindOfObject(o client.Object) (*kind, error) {
	if errScheme != nil {
		return nil, errScheme
	}
	gvk := o.GetObjectKind().GroupVersionKind()
	if known, _, err := scheme.ObjectKinds(o); gvk.Empty() && err == nil {
		gvk = known[0]
	}
	if k := findKind(func(k kind) bool { return k.GroupVersionKind == gvk }); k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("the API server of the benchmark does not serve %T of kind %q", o, gvk)
}

// has reports whether a collection has an object.
func (t target) has(key types.NamespacedName) bool {
	return (t.namespace == "" || t.namespace == key.Namespace) && (t.name == "" || t.name == key.Name)
}

func (s *store) get(t target) *object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[t.kind][types.NamespacedName{Namespace: t.namespace, Name: t.name}]
}

// list returns the objects of a collection, the oldest first, and the version of their state.
func (s *store) list(t target) (objects []*object, version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since(t, 0), s.version
}

// since returns the objects of a collection that are later than a version, the oldest first.
func (s *store) since(t target, version uint64) []*object {
	var found []*object
	for key, o := range s.objects[t.kind] {
		if o.version > version && t.has(key) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b *object) int { return cmp.Compare(a.version, b.version) })
	return found
}

// watcher collects the changes of a collection.
type watcher struct {
	of      target
	store   *store
	pending []*object
	changed chan struct{}
}

// watch returns a watcher of a collection. Its first take returns all objects that are later than the version since.
func (s *store) watch(t target, since uint64) *watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watcher{of: t, store: s, pending: s.since(t, since), changed: make(chan struct{}, 1)}
	s.watchers[w] = struct{}{}
	return w
}

func (w *watcher) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// take returns the changes since the last call, and the version of the state after them.
func (w *watcher) take() (changes []*object, version uint64) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	changes, w.pending = w.pending, nil
	return changes, w.store.version
}

func (w *watcher) stop() {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	delete(w.store.watchers, w)
}
