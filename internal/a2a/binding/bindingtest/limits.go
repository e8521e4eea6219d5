// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bindingtest provides what the tests of all bindings share: a handler that
// returns what it is given, and records to return.
package bindingtest

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// Limits returns limits of which tests reach only that of a request body.
func Limits(maxBody int64) *httpcall.Limits {
	const plenty = 1 << 30
	return &httpcall.Limits{
		MaxBody: func() int64 { return maxBody },
		Bodies:  limit.NewBudget(plenty, time.Second), Answers: limit.NewBudget(plenty, time.Second),
		WriteTimeout: time.Minute, Now: time.Now,
	}
}
