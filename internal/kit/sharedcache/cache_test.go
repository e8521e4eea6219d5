// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sharedcache

import "testing"

// A tenant that fills the cache evicts its own entries, the least recently used ones first.
func TestTenantEvictsItsOwnEntries(t *testing.T) {
	c := New[string, int, string](100)
	c.Put("quiet", -1, "small", 1)
	c.Put("quiet", -2, "large", 30)
	for i := range 1000 {
		c.Put("crowded", i, "x", 1+i%5)
		c.Get(0)
	}
	for key, want := range map[int]bool{-1: true, -2: true, 0: true, 1: false, 999: true} {
		if _, found := c.Get(key); found != want {
			t.Errorf("key %d is cached: %t, want %t", key, found, want)
		}
	}
	entries, cost := c.Size()
	if cost > 100 || cost < 95 || entries < 20 {
		t.Errorf("%d entries cost %d, want at most 100", entries, cost)
	}
	c.RemoveFunc("crowded", func(int) bool { return true })
	if entries, cost = c.Size(); entries != 2 || cost != 31 {
		t.Errorf("%d entries cost %d, want those of the other tenant", entries, cost)
	}
	c.Put("other", -2, "moved", 2)
	c.Remove(-1)
	if value, _ := c.Get(-2); value != "moved" || len(c.shares) != 1 || c.cost != 2 {
		t.Errorf("the last entry is %q of %d tenants and costs %d", value, len(c.shares), c.cost)
	}
	c.Put("other", -3, "too large", 101)
	if entries, cost = c.Size(); entries != 0 || cost != 0 || len(c.shares) != 0 {
		t.Errorf("after an entry that is too large: %d entries cost %d", entries, cost)
	}
}

func TestOfEqualTenantsTheLeastRecentlyUsedEntryIsEvicted(t *testing.T) {
	c := New[string, int, string](2)
	c.Put("a", 1, "x", 1)
	c.Put("b", 2, "x", 1)
	c.Get(1)
	c.Put("c", 3, "x", 1)
	for key, want := range map[int]bool{1: true, 2: false, 3: true} {
		if _, found := c.Get(key); found != want {
			t.Errorf("key %d is cached: %t, want %t", key, found, want)
		}
	}
}

func TestClearedCacheIsEmpty(t *testing.T) {
	c := New[string, int, string](2)
	for range 2 {
		for key := range 4 {
			c.Put("a", key, "x", 1)
		}
		c.Clear()
		if entries, cost := c.Size(); entries != 0 || cost != 0 {
			t.Errorf("%d entries cost %d", entries, cost)
		}
	}
}

// BenchmarkPutOfManyTenants fills a cache that 10,000 tenants share: each Put evicts an entry.
func BenchmarkPutOfManyTenants(b *testing.B) {
	const tenants = 10_000
	c := New[int, int, string](tenants)
	for key := 0; b.Loop(); key++ {
		c.Put(key%tenants, key, "x", 1)
	}
}
