// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompareWithAPeer(t *testing.T) {
	// The ratio compares rounds, not medians: in the second round the machine had a third of its speed.
	got := Compare(Result{Unit: "us"}, []float64{10, 30, 12}, []float64{10, 30, 10}, RatioAtMost(1.1))
	met := true
	want := Result{Unit: "us", Ours: 12, Theirs: 10, Ratio: 1, Least: 1, Most: 1.2, Goal: "<= 1.1 x", Met: &met}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Compare() (-want +got):\n%s", diff)
	}
	for name, test := range map[string]struct {
		ours float64
		goal Goal
		want bool
	}{
		"a ratio above":            {ours: 2.1, goal: RatioAtMost(1)},
		"an equal ratio":           {ours: 2, goal: RatioAtMost(1), want: true},
		"a part below":             {ours: 0.6, goal: RatioAtLeast(1.0/3, "1/3 x")},
		"a part at":                {ours: 0.7, goal: RatioAtLeast(1.0/3, "1/3 x"), want: true},
		"a figure above the limit": {ours: 41, goal: FigureAtMost(40, "KB")},
		"a figure at the limit":    {ours: 40, goal: FigureAtMost(40, "KB"), want: true},
		"too few":                  {ours: 399, goal: Goal{of: theFigure, limit: 400, atLeast: true}},
		"as many as needed":        {ours: 400, goal: Goal{of: theFigure, limit: 400, atLeast: true}, want: true},
	} {
		if r := Compare(Result{}, []float64{test.ours}, []float64{2}, test.goal); r.Met == nil || *r.Met != test.want {
			t.Errorf("%s: met is %v, want %t", name, r.Met, test.want)
		}
	}
	if r := Compare(Result{}, []float64{1}, []float64{0}, Goal{}); r.Met != nil || r.Ratio < 1e6 {
		t.Errorf("Compare() with a peer of zero = %+v, want a large ratio and no goal", r)
	}
}

func TestNegativeDifferencesAreNoise(t *testing.T) {
	for name, test := range map[string]struct {
		ours, theirs []float64
		goal         Goal
	}{
		"the peer's":                          {ours: []float64{1, 1, 1}, theirs: []float64{-0.1, -0.2, 1}, goal: RatioAtMost(1.5)},
		"the peer's, in a round":              {ours: []float64{1, 1, 1}, theirs: []float64{-0.1, 1, 1}, goal: RatioAtMost(1.5)},
		"both, so that the ratio is positive": {ours: []float64{-1}, theirs: []float64{-1}, goal: RatioAtMost(1.5)},
		"ours":                                {ours: []float64{-1}, theirs: []float64{1}, goal: RatioAtMost(1.5)},
		"ours, with a goal that is a minimum": {ours: []float64{-1}, theirs: []float64{1}, goal: RatioAtLeast(0.5, "half")},
		"ours, with a goal in kB":             {ours: []float64{-1, 3}, goal: FigureAtMost(15, "KB")},
	} {
		r := Compare(Result{}, test.ours, test.theirs, test.goal)
		if r.Met != nil || r.cells()[7] != "cannot tell" {
			t.Errorf("%s: Compare() = %+v, shown as %q", name, r, r.cells()[7])
		}
	}
	// A goal about our figure alone does not depend on the peer.
	if r := Compare(Result{}, []float64{1}, []float64{-1}, FigureAtMost(15, "KB")); r.Met == nil || !*r.Met {
		t.Errorf("Compare() of a figure with a negative figure of the peer = %+v, want it met", r)
	}
}

func TestMedianOfValues(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := Median(test.values); got != test.want {
			t.Errorf("Median(%v) = %v, want %v", test.values, got, test.want)
		}
	}
}
