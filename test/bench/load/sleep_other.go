// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package load

import "time"

// SleepUntil is precise on Linux only, where costs are measured.
func SleepUntil(due time.Time) { time.Sleep(time.Until(due)) }
