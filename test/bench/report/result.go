// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Goal is what was promised before anything was measured.
type Goal struct {
	// of says what is held against limit.
	of    target
	limit float64
	// atLeast turns the comparison.
	atLeast bool
	text    string
}

type target int

const (
	nothing target = iota
	theRatio
	theFigure
)

// RatioAtMost promises to cost no more than so many times what a peer does.
func RatioAtMost(limit float64) Goal {
	return Goal{of: theRatio, limit: limit, text: fmt.Sprintf("<= %.4g x", limit)}
}

// RatioAtLeast promises to get done no less than that part of what a peer does.
func RatioAtLeast(limit float64, text string) Goal {
	return Goal{of: theRatio, limit: limit, atLeast: true, text: ">= " + text}
}

// FigureAtMost promises a figure.
func FigureAtMost(limit float64, unit string) Goal {
	return Goal{of: theFigure, limit: limit, text: strings.TrimSpace(fmt.Sprintf("<= %.6g %s", limit, unit))}
}

// FigureAtLeast promises a figure that is the better the larger it is.
func FigureAtLeast(limit float64, text string) Goal {
	return Goal{of: theFigure, limit: limit, atLeast: true, text: text}
}

// Result is one line of the table.
type Result struct {
	Row  string  `json:"row"`
	What string  `json:"what"`
	Unit string  `json:"unit"`
	Ours float64 `json:"ours"`
	// Peer is empty where there is none.
	Peer   string  `json:"peer,omitempty"`
	Theirs float64 `json:"theirs,omitempty"`
	// Ratio is the Median of the rounds', Least and Most are their ends.
	Ratio float64 `json:"ratio,omitempty"`
	Least float64 `json:"least,omitempty"`
	Most  float64 `json:"most,omitempty"`
	Goal  string  `json:"goal,omitempty"`
	// Met is nil where nothing was promised, and where it cannot be told.
	Met *bool `json:"met,omitempty"`
	// Clock says that it was measured by the clock: a machine that is busy with
	// other things makes noise of it, which CPU time is spared.
	Clock bool `json:"clock,omitempty"`
	// Others is how much of the machine, from 0 to 1, others used while the row was
	// measured.
	Others float64 `json:"others"`
	// Failure says why the row was not measured; then it has no figures.
	Failure string `json:"failure,omitempty"`
}

// Compare holds figures against those of a peer in the same rounds.
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
	if slices.ContainsFunc(held, belowNothing) {
		return r
	}
	met := measured <= g.limit
	if g.atLeast {
		met = measured >= g.limit
	}
	r.Met = &met
	return r
}

// belowNothing tells of noise: what is left when one figure is taken off another
// that differs more from round to round.
func belowNothing(f float64) bool { return f < 0 }

// nonzero is a divisor: a peer that got nothing done is not infinitely bad,
// since that cannot be written down.
func nonzero(f float64) float64 {
	if f == 0 {
		return math.SmallestNonzeroFloat32
	}
	return f
}

// Median is the middle one, or that between the two.
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
