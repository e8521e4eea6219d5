// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"strings"
)

// ParameterError is a mistake in a request: the parameter or field, and the cure.
type ParameterError struct{ Field, Cure string }

func (e *ParameterError) Error() string { return e.Field + ": " + e.Cure }

// maxField bounds the name of a parameter in an error, in bytes, because clients choose it.
const maxField = 64

// Invalid returns a *ParameterError.
func Invalid(field, format string, args ...any) error {
	if len(field) > maxField {
		field = field[:maxField] + "…"
	}
	return &ParameterError{Field: strings.ToValidUTF8(field, "?"), Cure: fmt.Sprintf(format, args...)}
}
