// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// DecodeReason returns the reason why a text could not be decoded. err is the error of the
// decoder, and expected names the expected content, such as "an event". The reason contains
// no part of the text; backend.Unrecognized adds an excerpt.
func DecodeReason(err error, expected string) string {
	var problem *a2a.Error
	switch {
	case errors.As(err, &problem) && problem.Reason == a2a.ReasonParse:
		return "is not JSON: " + problem.Message
	case errors.As(err, &problem):
		return "is not " + expected + ": " + problem.Error()
	case err != nil:
		return "is not " + expected + ": " + err.Error()
	default:
		return "is not " + expected
	}
}
