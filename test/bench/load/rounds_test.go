// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPercentileIsAValue(t *testing.T) {
	var took []time.Duration
	for i := 200; i > 0; i-- {
		took = append(took, time.Duration(i)*time.Microsecond)
	}
	if p50, p99 := Percentile(took, 50), Percentile(took, 99); p50 != 100 || p99 != 198 {
		t.Errorf("of 1 to 200: p50 %v, p99 %v, want 100 and 198", p50, p99)
	}
	if one := Percentile(took[:1], 99); one != 200 {
		t.Errorf("p99 of one value = %v, want it", one)
	}
}

func TestInterleaveRotatesContenders(t *testing.T) {
	var order string
	of := func(name string) Contender {
		return Contender{name, func(context.Context) (Sample, error) {
			order += name
			return Sample{float64(len(order)), 7}, nil
		}}
	}
	s, err := Interleave(t.Context(), 3, []Contender{of("a"), of("b"), of("c")}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if order != "abcbcacab" {
		t.Errorf("measured in the order %s", order)
	}
	if diff := cmp.Diff([]float64{1, 6, 8}, s.Of("a", 0)); diff != "" {
		t.Errorf("figures of a, by round (-want +got):\n%s", diff)
	}
	failed := errors.New("no")
	bad := Contender{"bad", func(context.Context) (Sample, error) { return nil, failed }}
	if _, err := Interleave(t.Context(), 1, []Contender{bad}, func(string) {}); !errors.Is(err, failed) {
		t.Errorf("Interleave() error = %v, want the error of the contender", err)
	}
}
