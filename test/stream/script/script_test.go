// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFindParsesStringOutput(t *testing.T) {
	first := Script{Token: "s1-7", Turn: 1, Turns: 2, Chunks: 3, Size: 40, Every: 2 * time.Millisecond}
	second := first
	second.Turn, second.Holds = 2, true
	got, err := Find([]byte(`{"history":["` + first.String() + `"],"message":"` + second.String() + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(second, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Find([]byte(`{}`)); err == nil {
		t.Error("Find() of nothing has no error")
	}
}

func TestChunks(t *testing.T) {
	s := Script{Token: "s1-7", Turn: 2, Turns: 2, Chunks: 3, Size: 40}
	if s.First() != 3 || s.Total() != 6 {
		t.Errorf("First, Total = %d, %d", s.First(), s.Total())
	}
	for i := range s.Total() {
		text := s.Chunk(i)
		if n, ok := Number(text); n != i || !ok || len(text) != s.Size {
			t.Errorf("Number(%q) = %d, %t", text, n, ok)
		}
	}
	if n, ok := Number("else"); ok {
		t.Errorf("Number of another text = %d", n)
	}
}
