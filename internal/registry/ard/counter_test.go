// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ard_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// liveHeap returns the bytes of the heap in use after a collection.
func liveHeap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// The authors of agents choose tags, so an exploration keeps a bounded number of them, and a frequent one among all that are used once.
func TestCounterOfManyValuesIsBounded(t *testing.T) {
	const agents, tags = 5_000, 20
	const frequent, minority = "weather", "storm"
	request, err := ard.ParseExplore([]byte(`{"resultType":{"facets":[{"field":"tags","limit":1000},{"field":"displayName","limit":1000},{"field":"type"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	before := liveHeap()
	counter := (&ard.Publisher{Domain: "acme.com"}).NewCounter(request)
	for i := range agents {
		// All values of an entry may share its memory.
		long := strings.Repeat("<", 600)
		all := fmt.Sprintf("%s%s-%060d", long, strings.Repeat("<", 40), i)
		e := ard.Entry{Type: ard.TypeAgentCard, DisplayName: all[len(long):], Tags: []string{frequent, all}}
		if i%2 == 0 {
			e.Tags = append(e.Tags, minority)
		}
		for n := range tags {
			e.Tags = append(e.Tags, fmt.Sprintf("%060d-%d", i, n))
		}
		counter.Add(&e)
	}
	if grown := liveHeap() - before; grown > 4<<20 {
		t.Errorf("%d agents with %d tags of their own need %d KiB", agents, tags, grown>>10)
	}
	response := counter.Response()
	if size := response.Size(); size > 2<<20 {
		t.Errorf("the response has %d KiB", size>>10)
	}
	found := response.Facets["tags"]
	if len(found.Buckets) < 2 || found.Buckets[0] != (ard.Bucket{Value: frequent, Count: agents}) || found.Buckets[1] != (ard.Bucket{Value: minority, Count: agents / 2}) {
		t.Errorf("the most frequent tags are %v", found.Buckets[:min(2, len(found.Buckets))])
	}
	total := found.OtherCount
	for _, bucket := range found.Buckets {
		total += bucket.Count
	}
	if want := agents*(tags+2) + agents/2; total != want {
		t.Errorf("%d values are counted, want %d", total, want)
	}
	if of := response.Facets["type"]; len(of.Buckets) != 1 || of.Buckets[0].Count != agents || of.OtherCount != 0 {
		t.Errorf("types = %v", of)
	}
	securitypage.Attempts(t, "T-SEARCH", agents)
}
