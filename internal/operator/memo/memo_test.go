// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memo

import (
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
)

func TestEntryIsValidForItsStateOnly(t *testing.T) {
	m := New[string, int, string](0, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	m.Put("a", 1, "one", time.Time{})
	for _, step := range []struct {
		name  string
		key   string
		state int
		want  string
	}{
		{"same state", "a", 1, "one"},
		{"again", "a", 1, "one"},
		{"other key", "b", 1, ""},
		{"other state", "a", 2, ""},
		{"the first state again", "a", 1, ""},
	} {
		if got, ok := m.Get(step.key, step.state); got != step.want || ok != (step.want != "") {
			t.Errorf("%s: Get() = %q, %t, want %q", step.name, got, ok, step.want)
		}
	}
	m.Put("a", 1, "two", time.Time{})
	if got, _ := m.Get("a", 1); got != "two" {
		t.Errorf("Get() after another Put = %q", got)
	}
}

func TestEntryExpires(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	m := New[string, int, string](0, clock)
	m.Put("a", 1, "one", clock.Now().Add(time.Second))
	clock.SetTime(time.Unix(1, 0).Add(-1))
	if _, ok := m.Get("a", 1); !ok {
		t.Error("the entry is invalid before it expires")
	}
	clock.SetTime(time.Unix(1, 0))
	if _, ok := m.Get("a", 1); ok {
		t.Error("the entry is valid after it expired")
	}
}

func TestEntriesAreRemoved(t *testing.T) {
	m := New[string, int, string](2, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	has := func(key string) bool { _, ok := m.Get(key, 1); return ok }
	for _, key := range []string{"a", "b", "c"} {
		m.Put(key, 1, key, time.Time{})
	}
	if has("a") || !has("b") || !has("c") {
		t.Error("a full memo did not evict its oldest entry")
	}
	m.Drop("b")
	if has("b") || !has("c") {
		t.Error("Drop removed another entry")
	}
	m.Clear()
	if has("c") {
		t.Error("Clear left an entry")
	}
}

// A namespace with many objects evicts no entry of another one.
func TestNamespacesShareAMemo(t *testing.T) {
	byName := New[types.NamespacedName, int, string](10, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	byUID := New[Object, int, string](10, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	add := func(namespace, name string) (has func() bool) {
		key := types.NamespacedName{Namespace: namespace, Name: name}
		object := KeyOf(&metav1.ObjectMeta{Namespace: namespace, UID: types.UID(namespace + name)})
		byName.Put(key, 1, "", time.Time{})
		byUID.Put(object, 1, "", time.Time{})
		return func() bool {
			_, hasName := byName.Get(key, 1)
			_, hasUID := byUID.Get(object, 1)
			return hasName && hasUID
		}
	}
	has := add("good", "a")
	for i := range 100 {
		add("bad", strconv.Itoa(i))
	}
	if !has() {
		t.Error("another namespace has evicted the entry")
	}
}
