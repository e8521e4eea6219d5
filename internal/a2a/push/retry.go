// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"net/http"
	"strconv"
	"time"
)

// delay is how long to wait after a number of failed attempts: twice as long
// each time, half of it by chance, and at least what the receiver asked for.
func (p *Pushes) delay(attempts int, asked time.Duration) time.Duration {
	d := p.options.FirstDelay
	for range attempts - 1 {
		if d *= 2; d >= p.options.MaxDelay {
			break
		}
	}
	d = min(d, p.options.MaxDelay)
	return max(d/2+p.jitter(d/2), asked)
}

// jitter is a part of d by chance, so that not all come at once.
func (p *Pushes) jitter(d time.Duration) time.Duration {
	return time.Duration(p.options.Random() * float64(d))
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, most)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	return 0
}
