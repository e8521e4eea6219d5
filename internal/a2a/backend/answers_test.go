// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestChunks(t *testing.T) {
	data := a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`1`)}
	chunk := func(parts ...a2a.Part) *a2a.Message { return &a2a.Message{ID: "m", Parts: parts} }
	for name, test := range map[string]struct {
		chunks []*a2a.Message
		want   []a2a.Part
	}{
		"one":      {[]*a2a.Message{chunk(a2a.TextPart("a"), a2a.TextPart("b"))}, []a2a.Part{a2a.TextPart("a"), a2a.TextPart("b")}},
		"texts":    {[]*a2a.Message{chunk(a2a.TextPart("a")), chunk(a2a.TextPart("b"), a2a.TextPart("c")), chunk(a2a.TextPart(""))}, []a2a.Part{a2a.TextPart("abc")}},
		"others":   {[]*a2a.Message{chunk(data), chunk(data, a2a.TextPart("a")), chunk(a2a.TextPart("b"), data), chunk(a2a.TextPart("c"))}, []a2a.Part{data, data, a2a.TextPart("ab"), data, a2a.TextPart("c")}},
		"no parts": {[]*a2a.Message{chunk(), chunk(a2a.TextPart("a"))}, []a2a.Part{a2a.TextPart("a")}},
	} {
		var c Chunks
		for _, m := range test.chunks {
			before := *m
			c.Add(m)
			if diff := cmp.Diff(before, *m); diff != "" {
				t.Errorf("%s: Add changed a chunk: %s", name, diff)
			}
		}
		if diff := cmp.Diff(test.want, c.Message().Parts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if c := (Chunks{}); c.Message() != nil || !c.IsEmpty() {
		t.Error("no chunks have a message")
	}
}

// TestManyChunks adds many small chunks to a large one, as a hostile agent does.
func TestManyChunks(t *testing.T) {
	const large, chunks = 1 << 20, 20_000
	var c Chunks
	c.Add(&a2a.Message{ID: "m", Parts: []a2a.Part{a2a.TextPart(strings.Repeat("x", large))}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range chunks {
		c.Add(&a2a.Message{ID: "m", Parts: []a2a.Part{a2a.TextPart("y")}})
	}
	got := len(c.Message().Parts[0].Text)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; got != large+chunks || allocated > 64<<20 {
		t.Errorf("a text of %d bytes is allocated with %d", got, allocated)
	}
}
