// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bindingtest provides a handler that returns fixed results, and records to return,
// for the tests of all bindings.
package bindingtest

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// Limits returns limits with maxBody bytes for a request body. The other limits are so
// large that tests do not reach them.
func Limits(maxBody int64) *httpcall.Limits {
	const plenty = 1 << 30
	return &httpcall.Limits{
		MaxBody: func() int64 { return maxBody },
		Bodies:  limit.NewBudget(plenty, time.Second), Answers: limit.NewBudget(plenty, time.Second),
		WriteTimeout: time.Minute, AnswerTimeout: time.Minute, Now: time.Now,
	}
}
