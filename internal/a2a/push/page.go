// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

var tokenText = base64.RawURLEncoding

// ListPush implements a2a.PushHandler. Configurations are listed by their ids,
// and a page token is that of the last one before the page: what is set or
// deleted in between moves nothing else to another page, and a token says
// nothing of what others do.
func (p *Pushes) ListPush(ctx context.Context, r *a2a.ListPushRequest) (*a2a.PushPage, error) {
	all, err := p.list(ctx, store.Key{Owner: r.Owner, TaskID: r.TaskID})
	if err != nil {
		return nil, err
	}
	if r.PageSize < 0 {
		return nil, a2a.InvalidParams("pageSize", "must not be negative")
	}
	if r.PageToken != "" {
		after, err := tokenText.DecodeString(r.PageToken)
		if err != nil || len(after) > maxID {
			return nil, a2a.InvalidParams("pageToken", "must be one that a former page ended with")
		}
		all = slices.DeleteFunc(all, func(c store.Push) bool { return c.Config.ID <= string(after) })
	}
	slices.SortFunc(all, func(a, b store.Push) int { return cmp.Compare(a.Config.ID, b.Config.ID) })
	page := &a2a.PushPage{}
	if r.PageSize > 0 && len(all) > r.PageSize {
		all = all[:r.PageSize]
		page.NextPageToken = tokenText.EncodeToString([]byte(all[len(all)-1].Config.ID))
	}
	for i := range all {
		page.Configs = append(page.Configs, &all[i].Config)
	}
	return page, nil
}
