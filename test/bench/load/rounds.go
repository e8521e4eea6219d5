// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Sample is the result of one measurement, with one figure of each kind.
type Sample []float64

// Contender is a subject that every round measures.
type Contender struct {
	Name    string
	Measure func(context.Context) (Sample, error)
}

// Series maps the name of a contender to its samples, one for each round.
type Series map[string][]Sample

// Interleave measures the contenders in turn. Each round begins with another contender, so that a disturbance of
// the machine affects all.
func Interleave(ctx context.Context, rounds int, contenders []Contender, progress func(string)) (Series, error) {
	all := Series{}
	for round := range rounds {
		for i := range contenders {
			c := contenders[(round+i)%len(contenders)]
			progress(fmt.Sprintf("round %d of %d: %s", round+1, rounds, c.Name))
			s, err := c.Measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("measure %s: %w", c.Name, err)
			}
			all[c.Name] = append(all[c.Name], s)
		}
	}
	return all, nil
}

// Of returns one figure of each sample of a contender. figure is its index in a Sample.
func (s Series) Of(name string, figure int) []float64 {
	var values []float64
	for _, each := range s[name] {
		values = append(values, each[figure])
	}
	return values
}

// Percentile returns the smallest value in microseconds that the given percentage of values does not exceed.
func Percentile(took []time.Duration, percent int) float64 {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	at := (len(sorted)*percent + 99) / 100
	return Micros(sorted[max(at, 1)-1])
}

// Micros returns a duration in microseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
