// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ard

import (
	"fmt"
	"strings"
)

// RequestError is a mistake in a request: the field, and the cure.
type RequestError struct{ Field, Cure string }

func (e *RequestError) Error() string { return e.Field + ": " + e.Cure }

func invalid(field, format string, args ...any) error {
	return &RequestError{Field: field, Cure: fmt.Sprintf(format, args...)}
}

// shortened returns the beginning of a text of a client as valid UTF-8, for a message.
func shortened(text string) string {
	const most = 64
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}
