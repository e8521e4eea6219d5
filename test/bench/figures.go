// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// sample is what one measurement tells: one figure of each kind that it
// measures.
type sample []float64

// contender is measured in every round.
type contender struct {
	name    string
	measure func(context.Context) (sample, error)
}

// series are the samples of a contender, by round.
type series map[string][]sample

// interleave measures the contenders in turn, in each round from another one
// on, so that what disturbs the machine for a while disturbs all.
func interleave(ctx context.Context, rounds int, contenders []contender, progress func(string)) (series, error) {
	all := series{}
	for round := range rounds {
		for i := range contenders {
			c := contenders[(round+i)%len(contenders)]
			progress(fmt.Sprintf("round %d of %d: %s", round+1, rounds, c.name))
			s, err := c.measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("measure %s: %w", c.name, err)
			}
			all[c.name] = append(all[c.name], s)
		}
	}
	return all, nil
}

// of are the figures of one kind.
func (s series) of(name string, figure int) []float64 {
	var values []float64
	for _, each := range s[name] {
		values = append(values, each[figure])
	}
	return values
}

// goal is what was promised before anything was measured.
type goal struct {
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

func ratioAtMost(limit float64) goal {
	return goal{of: theRatio, limit: limit, text: fmt.Sprintf("<= %.4g x", limit)}
}

// result is one line of the table.
type result struct {
	Row  string  `json:"row"`
	What string  `json:"what"`
	Unit string  `json:"unit"`
	Ours float64 `json:"ours"`
	// Peer is empty where there is none.
	Peer   string  `json:"peer,omitempty"`
	Theirs float64 `json:"theirs,omitempty"`
	// Ratio is the median of the rounds', Least and Most are their ends.
	Ratio float64 `json:"ratio,omitempty"`
	Least float64 `json:"least,omitempty"`
	Most  float64 `json:"most,omitempty"`
	Goal  string  `json:"goal,omitempty"`
	// Met is nil where nothing was promised, and where it cannot be told.
	Met *bool `json:"met,omitempty"`
	// Clock says that it was measured by the clock: a machine that is busy with
	// other things makes noise of it, which CPU time is spared.
	Clock bool `json:"clock,omitempty"`
}

// compare holds figures against those of a peer in the same rounds.
func compare(r result, ours, theirs []float64, g goal) result {
	r.Ours = median(ours)
	if len(theirs) > 0 {
		ratios := make([]float64, len(ours))
		for i := range ours {
			ratios[i] = ours[i] / nonzero(theirs[i])
		}
		r.Theirs, r.Ratio, r.Least, r.Most = median(theirs), median(ratios), slices.Min(ratios), slices.Max(ratios)
	}
	measured := r.Ratio
	switch g.of {
	case nothing:
		return r
	case theFigure:
		measured = r.Ours
	case theRatio:
	}
	met := measured <= g.limit
	if g.atLeast {
		met = measured >= g.limit
	}
	r.Goal, r.Met = g.text, &met
	return r
}

// nonzero is a divisor: a peer that got nothing done is not infinitely bad,
// since that cannot be written down.
func nonzero(f float64) float64 {
	if f == 0 {
		return math.SmallestNonzeroFloat32
	}
	return f
}

func median(values []float64) float64 {
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

// percentile is the smallest value that so many percent do not exceed, in
// microseconds.
func percentile(took []time.Duration, percent int) float64 {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	at := (len(sorted)*percent + 99) / 100
	return micros(sorted[max(at, 1)-1])
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
