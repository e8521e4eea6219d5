// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package embedding

import "time"

// minBackoff and maxBackoff are the first and the longest delay of a backoff.
const (
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
)

// backoff is a delay that doubles each time that it begins again after its end. The zero value has not begun.
type backoff struct {
	until  time.Time
	length time.Duration
}

// lasts reports whether the delay has not ended.
func (b *backoff) lasts(now time.Time) bool { return now.Before(b.until) }

// begin begins the delay, unless it lasts.
func (b *backoff) begin(now time.Time) {
	if b.lasts(now) {
		return
	}
	b.length = min(max(2*b.length, minBackoff), maxBackoff)
	b.until = now.Add(b.length)
}
