// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	// The ratio is that of a round, not that of the medians: here one third of
	// the machine was there in the second round.
	got := compare(result{Unit: "us"}, []float64{10, 30, 12}, []float64{10, 30, 10}, ratioAtMost(1.1))
	met := true
	want := result{Unit: "us", Ours: 12, Theirs: 10, Ratio: 1, Least: 1, Most: 1.2, Goal: "<= 1.1 x", Met: &met}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("compare() (-want +got):\n%s", diff)
	}
	for name, test := range map[string]struct {
		ours float64
		goal goal
		want bool
	}{
		"a ratio above":     {ours: 2.1, goal: ratioAtMost(1)},
		"a ratio at":        {ours: 2, goal: ratioAtMost(1), want: true},
		"a figure above":    {ours: 41, goal: figureAtMost(40, "KB")},
		"a figure at":       {ours: 40, goal: figureAtMost(40, "KB"), want: true},
		"too few":           {ours: 399, goal: goal{of: theFigure, limit: 400, atLeast: true}},
		"as many as needed": {ours: 400, goal: goal{of: theFigure, limit: 400, atLeast: true}, want: true},
	} {
		if r := compare(result{}, []float64{test.ours}, []float64{2}, test.goal); r.Met == nil || *r.Met != test.want {
			t.Errorf("%s: met is %v, want %t", name, r.Met, test.want)
		}
	}
	if r := compare(result{}, []float64{1}, []float64{0}, goal{}); r.Met != nil || r.Ratio < 1e6 {
		t.Errorf("compare() with a peer that got nothing = %+v, want a great ratio, and no goal", r)
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(test.values); got != test.want {
			t.Errorf("median(%v) = %v, want %v", test.values, got, test.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	var took []time.Duration
	for i := 200; i > 0; i-- {
		took = append(took, time.Duration(i)*time.Microsecond)
	}
	if p50, p99 := percentile(took, 50), percentile(took, 99); p50 != 100 || p99 != 198 {
		t.Errorf("of 1 to 200: p50 %v, p99 %v, want 100 and 198", p50, p99)
	}
	if one := percentile(took[:1], 99); one != 200 {
		t.Errorf("p99 of one value = %v, want it", one)
	}
}

func TestInterleave(t *testing.T) {
	var order string
	of := func(name string) contender {
		return contender{name, func(context.Context) (sample, error) {
			order += name
			return sample{float64(len(order)), 7}, nil
		}}
	}
	s, err := interleave(t.Context(), 3, []contender{of("a"), of("b"), of("c")}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if order != "abcbcacab" {
		t.Errorf("measured in the order %s", order)
	}
	if diff := cmp.Diff([]float64{1, 6, 8}, s.of("a", 0)); diff != "" {
		t.Errorf("figures of a, by round (-want +got):\n%s", diff)
	}
	failed := errors.New("no")
	bad := contender{"bad", func(context.Context) (sample, error) { return nil, failed }}
	if _, err := interleave(t.Context(), 1, []contender{bad}, func(string) {}); !errors.Is(err, failed) {
		t.Errorf("interleave() error = %v, want that of the contender", err)
	}
}
