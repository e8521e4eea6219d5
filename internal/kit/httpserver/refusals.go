// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"sync/atomic"
	"time"
)

// refusals are the refusals of connections by a full listener. Times are since table.began in nanoseconds. The methods
// are safe for concurrent use.
type refusals struct{ first, last atomic.Int64 }

// note notes a refusal. Refusals belong together if less than refusalsStay is between them.
func (r *refusals) note(now time.Duration) {
	if last := r.last.Load(); last == 0 || now-time.Duration(last) > refusalsStay {
		r.first.Store(int64(now))
	}
	r.last.Store(max(1, int64(now)))
}

// persist reports whether there were refusals for refusalsCount or longer, and in the last refusalsStay.
func (r *refusals) persist(now time.Duration) bool {
	last := r.last.Load()
	return last != 0 && now-time.Duration(last) < refusalsStay && time.Duration(last-r.first.Load()) >= refusalsCount
}
