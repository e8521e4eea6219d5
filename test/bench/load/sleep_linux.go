// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// SleepUntil sleeps with a precision of microseconds. On an idle machine a timer of Go is late by up to a
// millisecond, which is more than the measured times.
func SleepUntil(due time.Time) {
	for left := time.Until(due); left > 0; left = time.Until(due) {
		t := unix.NsecToTimespec(int64(left))
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil) // a signal ends the sleep early
	}
}
