// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"
	"unicode/utf8"
)

// boundedLabel bounds the number of values of a label in metrics, if the agent or a
// configuration chooses the values. It is safe for concurrent use.
type boundedLabel struct {
	// max is the maximum number of different values.
	max int

	mu   sync.Mutex
	seen map[string]bool
}

// otherValues replaces all values beyond the bound.
const otherValues = "other"

// value returns v. It returns otherValues if the label already has max other values, or
// if v is longer than 64 bytes or is not valid UTF-8.
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
