// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memo

import (
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

func TestWriteIsPendingUntilTheCacheShowsIt(t *testing.T) {
	const before, after = "99", "105"
	for name, test := range map[string]struct {
		write   Write[string]
		age     time.Duration
		cached  string
		pending bool
	}{
		"version before the write":                  {cached: before, pending: true},
		"version before the write, an hour later":   {cached: before, age: time.Hour, pending: true},
		"version between":                           {cached: "100", pending: true},
		"version between, at the end of the delay":  {cached: "100", age: cacheDelay - 1, pending: true},
		"version between, after the delay":          {cached: "100", age: cacheDelay},
		"version of the write":                      {cached: after},
		"later version":                             {cached: "1000"},
		"version that is no number":                 {cached: "abc"},
		"object deleted":                            {cached: ""},
		"no object yet":                             {write: Write[string]{After: after}, cached: "", pending: true},
		"no object, within the bound":               {write: Write[string]{After: after, PendingFor: time.Second}, age: time.Second - 1, pending: true},
		"no object, at the bound":                   {write: Write[string]{After: after, PendingFor: time.Second}, age: time.Second},
		"version of the write unknown":              {write: Write[string]{Before: before}, cached: before, pending: true},
		"version of the write unknown, another one": {write: Write[string]{Before: before}, cached: "100"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.write == (Write[string]{}) {
				test.write = Write[string]{Before: before, After: after}
			}
			test.write.Value = "value"
			clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
			writes := NewWrites[string, string](1, clock)
			writes.Put("key", test.write)
			clock.SetTime(clock.Now().Add(test.age))
			got, pending := writes.Pending("key", test.cached)
			if pending != test.pending || (got == "value") != pending {
				t.Errorf("Pending(%q) = %q, %t, want pending %t", test.cached, got, pending, test.pending)
			}
			if _, again := writes.Pending("key", test.write.Before); again && !pending {
				t.Error("a write is pending again")
			}
			if last, ok := writes.Last("key"); !ok || last != "value" {
				t.Errorf("Last() = %q, %t", last, ok)
			}
			writes.Drop("key")
			if _, ok := writes.Last("key"); ok {
				t.Error("Drop left the write")
			}
		})
	}
}

func TestLastOfTwoWritesIsPendingWhileTheCacheShowsTheFirst(t *testing.T) {
	writes := NewWrites[string, string](0, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	writes.Put("key", Write[string]{Before: "7", After: "8", Value: "first"})
	writes.Put("key", Write[string]{Before: "7", After: "9", Value: "second"})
	for _, cached := range []string{"7", "8"} {
		if got, ok := writes.Pending("key", cached); !ok || got != "second" {
			t.Errorf("Pending(%s) = %q, %t, want the second write", cached, got, ok)
		}
	}
	if _, ok := writes.Pending("key", "9"); ok {
		t.Error("the second write is pending although the cache shows it")
	}
}
