// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"sync"
	"unicode/utf8"
)

// boundedLabel bounds the values of a label that the agent or a configuration chooses. It is
// safe for concurrent use.
type boundedLabel struct {
	// max is the number of values that are told apart.
	max int

	mu   sync.Mutex
	seen map[string]bool
}

// otherValues is the value for all values beyond a bound.
const otherValues = "other"

// value returns a value, or otherValues if the label has the most values, or if the value is
// longer than 64 bytes or no UTF-8.
func (l *boundedLabel) value(v string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[v] {
		return v
	}
	if len(l.seen) >= l.max || len(v) > 64 || !utf8.ValidString(v) {
		return otherValues
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[v] = true
	return v
}

// reset forgets the values.
func (l *boundedLabel) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.seen)
}
