// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Page sizes in tasks: the size for a request that names none, and the largest that a
// request may name.
const (
	defaultPageSize = 50
	maxPageSize     = 100
)

// List implements a2a.Handler.
func (e *Engine) List(ctx context.Context, r *a2a.ListRequest) (*a2a.TaskPage, error) {
	size := r.PageSize
	switch {
	case size == 0:
		size = defaultPageSize
	case size < 1 || size > maxPageSize:
		return nil, a2a.InvalidParams("pageSize", "must be between 1 and 100")
	}
	key, err := e.options.PageKey(ctx)
	if err != nil {
		return nil, storeError("read key of page tokens", "", err)
	}
	tokens := pageTokens{key: key}
	after, err := tokens.place(r)
	if err != nil {
		return nil, err
	}
	page, err := e.options.Store.List(ctx, &store.Query{
		Owner: r.Owner, ContextID: r.ContextID, State: r.State, Since: r.Since, After: after, Limit: size,
	})
	if err != nil {
		return nil, storeError("list tasks", "", err)
	}
	list := &a2a.TaskPage{Tasks: page.Tasks, PageSize: size, TotalSize: page.Total}
	for i, t := range list.Tasks {
		t = t.WithHistory(r.HistoryLength)
		if !r.IncludeArtifacts && t.Artifacts != nil {
			bare := *t
			bare.Artifacts = nil
			t = &bare
		}
		list.Tasks[i] = t
	}
	if page.Next != nil {
		list.NextPageToken = tokens.token(r, *page.Next)
	}
	return list, nil
}
