// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pagedlist reads objects from the API server, not from a cache, a page at a time. A tenant may have any number of objects of
// 1.5 MB, so a whole list may not fit into the memory of the manager.
package pagedlist

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PageSize is the number of objects in a page, unless the page would have more than MaxBody bytes (see Size).
const PageSize = 16

// ErrTooMany is the error for a list with more objects than the caller reads.
var ErrTooMany = errors.New("too many objects")

// reading serializes the pages of all lists, so that only one is in memory.
var reading sync.Mutex

// Each calls handle for each object of a list, in the order of the API server. handle must copy what it keeps. list is an empty list of
// the kind. Each returns ErrTooMany, wrapped, after it has handled most objects and there are more.
func Each(ctx context.Context, live client.Reader, list client.ObjectList, most int, handle func(runtime.Object), options ...client.ListOption) error {
	size := NewSize(PageSize)
	token := ""
	for seen := 0; ; {
		next, n, err := page(ctx, live, list.DeepCopyObject().(client.ObjectList), size, most-seen, token, handle, options)
		if err != nil {
			return err
		}
		seen += n
		switch {
		case next == "":
			return nil
		case seen >= most:
			return fmt.Errorf("%w: more than %d", ErrTooMany, most)
		}
		token = next
	}
}

func page(ctx context.Context, live client.Reader, list client.ObjectList, size *Size, most int, token string, handle func(runtime.Object), options []client.ListOption) (next string, n int, err error) {
	reading.Lock()
	defer reading.Unlock()
	err = size.Read(ctx, most, func(ctx context.Context, limit int) error {
		return live.List(ctx, list, append([]client.ListOption{client.Limit(limit), client.Continue(token)}, options...)...)
	})
	if err != nil {
		return "", 0, err
	}
	err = meta.EachListItem(list, func(o runtime.Object) error {
		n++
		handle(o)
		return nil
	})
	return list.GetContinue(), n, err
}
