// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"net/http"
	"strconv"
	"time"
)

// delay returns the time until the next attempt after a number of failed attempts:
// exponential backoff, half of which is random, but at least asked, the delay that the
// receiver asked for.
func (p *Pushes) delay(attempts int, asked time.Duration) time.Duration {
	d := p.options.FirstDelay
	for range attempts - 1 {
		if d *= 2; d >= maxDelay {
			break
		}
	}
	d = min(d, maxDelay)
	return max(d/2+p.jitter(d/2), asked)
}

// jitter returns a random part of d, so that retries do not come at the same time.
func (p *Pushes) jitter(d time.Duration) time.Duration {
	return time.Duration(p.options.Random() * float64(d))
}

// parseRetryAfter returns the delay of a Retry-After header (RFC 9110, section 10.2.3):
// seconds or a date, at most a day, and 0 for any other value.
func parseRetryAfter(value string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, most)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	return 0
}
