// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"slices"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// tokenBase is that of page tokens, which are generations.
const tokenBase = 36

// ListPush implements a2a.PushHandler. A page token is the generation of the
// last configuration before the page: what is set or deleted in between moves
// nothing else to another page.
func (p *Pushes) ListPush(ctx context.Context, r *a2a.ListPushRequest) (*a2a.PushPage, error) {
	all, err := p.list(ctx, store.Key{Owner: r.Owner, TaskID: r.TaskID})
	if err != nil {
		return nil, err
	}
	if r.PageSize < 0 {
		return nil, a2a.InvalidParams("pageSize", "must not be negative")
	}
	if r.PageToken != "" {
		after, err := strconv.ParseUint(r.PageToken, tokenBase, 64)
		if err != nil {
			return nil, a2a.InvalidParams("pageToken", "must be one that a former page ended with")
		}
		all = slices.DeleteFunc(all, func(c store.Push) bool { return c.Generation <= after })
	}
	page := &a2a.PushPage{}
	if r.PageSize > 0 && len(all) > r.PageSize {
		all = all[:r.PageSize]
		page.NextPageToken = strconv.FormatUint(all[len(all)-1].Generation, tokenBase)
	}
	for i := range all {
		page.Configs = append(page.Configs, &all[i].Config)
	}
	return page, nil
}
