// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"testing"
	"time"
)

func TestAgesAreShort(t *testing.T) {
	now := time.Now()
	l := Layout{now: now}
	for age, want := range map[time.Duration]string{
		-time.Minute: "0s", 0: "0s", 119 * time.Second: "119s", 2 * time.Minute: "2m", 119*time.Minute + 59*time.Second: "119m",
		2 * time.Hour: "2h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 1000 * 24 * time.Hour: "1000d",
	} {
		if got := l.Age(now.Add(-age)); got != want {
			t.Errorf("%s ago is %q", age, got)
		}
	}
}
