// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Unavailable returns the error for a client whose request a store does not serve.
func Unavailable() *a2a.Error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The task store is not available; try again"}
}

// ClientError adds the failed operation to an error of a store that is no outcome of the operation, such
// as ErrNotFound, and the *a2a.Error for the client, unless the error has one: the store is unavailable.
func ClientError(operation string, err error) error {
	if _, ok := errors.AsType[*a2a.Error](err); ok {
		return err
	}
	return fmt.Errorf("%s: %w: %w", operation, Unavailable(), err)
}
