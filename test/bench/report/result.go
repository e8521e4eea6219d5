// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Goal is the goal of a figure, set before the measurement.
type Goal struct {
	// of selects the value that is compared with limit.
	of    target
	limit float64
	// atLeast makes limit a lower bound.
	atLeast bool
	text    string
}

type target int

const (
	nothing target = iota
	theRatio
	theFigure
)

// RatioAtMost returns the goal that the figure is at most limit times the figure of the peer.
func RatioAtMost(limit float64) Goal {
	return Goal{of: theRatio, limit: limit, text: fmt.Sprintf("<= %.4g x", limit)}
}

// RatioAtLeast returns the goal that the figure is at least limit times the figure of the peer.
func RatioAtLeast(limit float64, text string) Goal {
	return Goal{of: theRatio, limit: limit, atLeast: true, text: ">= " + text}
}

// FigureAtMost returns the goal that the figure is at most limit.
func FigureAtMost(limit float64, unit string) Goal {
	return Goal{of: theFigure, limit: limit, text: strings.TrimSpace(fmt.Sprintf("<= %.6g %s", limit, unit))}
}

// FigureAtLeast returns the goal that the figure is at least limit.
func FigureAtLeast(limit float64, text string) Goal {
	return Goal{of: theFigure, limit: limit, atLeast: true, text: text}
}

// Result is one line of the table.
type Result struct {
	Row  string  `json:"row"`
	What string  `json:"what"`
	Unit string  `json:"unit"`
	Ours float64 `json:"ours"`
	// Peer is the name of the peer; "" for none.
	Peer   string  `json:"peer,omitempty"`
	Theirs float64 `json:"theirs,omitempty"`
	// Ratio is the median of the ratios of all rounds, Least and Most are the smallest and the largest.
	Ratio float64 `json:"ratio,omitempty"`
	Least float64 `json:"least,omitempty"`
	Most  float64 `json:"most,omitempty"`
	Goal  string  `json:"goal,omitempty"`
	// Met reports whether the goal is met. It is nil without a goal, if a difference is below zero, and for a duration
	// that was measured on a busy machine.
	Met *bool `json:"met,omitempty"`
	// Clock is true for a duration. Load from other programs distorts durations, but not CPU time.
	Clock bool `json:"clock,omitempty"`
	// Others is the share of the machine that other programs used while the row was measured, from 0 to 1.
	Others float64 `json:"others"`
	// Failure is the reason why the row was not measured. The row has no figures then.
	Failure string `json:"failure,omitempty"`
}

// Compare compares figures with those of a peer in the same rounds.
func Compare(r Result, ours, theirs []float64, g Goal) Result {
	r.Ours = Median(ours)
	if len(theirs) > 0 {
		ratios := make([]float64, len(ours))
		for i := range ours {
			ratios[i] = ours[i] / nonzero(theirs[i])
		}
		r.Theirs, r.Ratio, r.Least, r.Most = Median(theirs), Median(ratios), slices.Min(ratios), slices.Max(ratios)
	}
	measured, held := r.Ratio, slices.Concat(ours, theirs)
	switch g.of {
	case nothing:
		return r
	case theFigure:
		measured, held = r.Ours, ours
	case theRatio:
	}
	r.Goal = g.text
	if slices.ContainsFunc(held, isNoise) {
		return r
	}
	met := measured <= g.limit
	if g.atLeast {
		met = measured >= g.limit
	}
	r.Met = &met
	return r
}

// isNoise reports whether a figure, the difference of two measurements, is below zero. Such a difference is noise.
func isNoise(f float64) bool { return f < 0 }

// nonzero returns a divisor that is not zero, because JSON has no infinity.
func nonzero(f float64) float64 {
	if f == 0 {
		return math.SmallestNonzeroFloat32
	}
	return f
}

// Median returns the middle value, or the mean of the two middle values.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
