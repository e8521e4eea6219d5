// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// sample is the result of one measurement, with one figure of each kind.
type sample []float64

// contender is a subject that every round measures.
type contender struct {
	name    string
	measure func(context.Context) (sample, error)
}

// series maps a contender to its samples, one for each round.
type series map[string][]sample

// interleave measures the contenders in turn. Each round begins with another contender, so that a disturbance of
// the machine affects all.
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

// of returns the figures of one kind.
func (s series) of(name string, figure int) []float64 {
	var values []float64
	for _, each := range s[name] {
		values = append(values, each[figure])
	}
	return values
}

// percentile returns the smallest value in microseconds that the given percentage of values does not exceed.
func percentile(took []time.Duration, percent int) float64 {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	at := (len(sorted)*percent + 99) / 100
	return micros(sorted[max(at, 1)-1])
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
