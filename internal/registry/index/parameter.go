// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import "fmt"

// ParameterError is a mistake in a request: the parameter or field, and the cure.
type ParameterError struct{ Field, Cure string }

func (e *ParameterError) Error() string { return e.Field + ": " + e.Cure }

func invalid(field, format string, args ...any) error {
	return &ParameterError{Field: field, Cure: fmt.Sprintf(format, args...)}
}
