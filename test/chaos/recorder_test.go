// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// recorder records the resource versions of the objects of a namespace.
type recorder struct {
	mu    sync.Mutex
	start int
	seen  map[int]bool
}

// record starts with the current version.
func record(t *testing.T, namespace string) *recorder {
	t.Helper()
	list := listOf(written()[0])
	if err := cluster.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	r := &recorder{seen: map[int]bool{}}
	r.start, _ = strconv.Atoi(list.GetResourceVersion())
	r.note(list.GetResourceVersion())
	note := func(object any) {
		if o, ok := object.(metav1.Object); ok && o.GetNamespace() == namespace {
			r.note(o.GetResourceVersion())
		}
	}
	for _, kind := range append(written(), owned()...) {
		informer, err := seen.cache.GetInformer(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: note, UpdateFunc: func(_, now any) { note(now) }, DeleteFunc: note,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = informer.RemoveEventHandler(handler) })
	}
	return r
}

func (r *recorder) note(version string) {
	n, err := strconv.Atoi(version)
	if err != nil || n < r.start {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[n] = true
}

// versions returns the versions since the start, in their order.
func (r *recorder) versions() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []int
	for n := range r.seen {
		all = append(all, n)
	}
	slices.Sort(all)
	var texts []string
	for _, n := range all {
		texts = append(texts, strconv.Itoa(n))
	}
	return texts
}
