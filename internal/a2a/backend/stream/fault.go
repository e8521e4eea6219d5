// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Fault says that a text is not what was expected, such as "an event", and why,
// in the words of our own decoders: it holds nothing of the text.
func Fault(err error, expected string) string {
	var problem *a2a.Error
	switch {
	case errors.As(err, &problem) && problem.Reason == a2a.ReasonParse:
		return "is not JSON: " + problem.Message
	case errors.As(err, &problem):
		return "is not " + expected + ": " + problem.Error()
	default:
		return "is not " + expected
	}
}
