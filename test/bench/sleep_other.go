// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "time"

// sleepUntil is precise on Linux only, where costs are measured.
func sleepUntil(due time.Time) { time.Sleep(time.Until(due)) }
