// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// List implements a2a.Handler.
func (e *Engine) List(context.Context, *a2a.ListRequest) (*a2a.TaskPage, error) {
	return nil, &a2a.Error{Reason: a2a.ReasonUnsupportedOperation}
}
