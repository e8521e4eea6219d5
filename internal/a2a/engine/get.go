// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Get implements a2a.Handler.
func (e *Engine) Get(ctx context.Context, r *a2a.GetRequest) (*a2a.Task, error) {
	log, err := e.open(ctx, store.Key{Owner: r.Owner, TaskID: r.TaskID})
	if err != nil {
		return nil, err
	}
	return snapshot(ctx, log, r.TaskID, r.HistoryLength)
}
