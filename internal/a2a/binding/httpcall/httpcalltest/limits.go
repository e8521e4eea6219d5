// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpcalltest has what tests of bindings share.
package httpcalltest

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// Limits bound a body to so many bytes, and nothing else that a test would meet.
func Limits(maxBody int64) *httpcall.Limits {
	const plenty = 1 << 30
	return &httpcall.Limits{
		MaxBody: func() int64 { return maxBody },
		Bodies:  limit.NewBudget(plenty, time.Second), Answers: limit.NewBudget(plenty, time.Second),
		WriteTimeout: time.Minute, Now: time.Now,
	}
}
