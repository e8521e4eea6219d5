// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memo

import (
	"testing"
	"time"

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
