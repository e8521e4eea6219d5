// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pagedlist bounds the memory for answers of the API server. A tenant may have any number of objects of 1.5 MB, each of which may
// decode to 24 times its encoded size, so a whole list may not fit into the memory of the manager. The package reads objects from the API
// server, not from a cache, a page at a time, and one large page at a time. Its transport Bound refuses other large answers.
package pagedlist

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
)

// PageSize is the number of objects in a page, unless the page would have more than MaxBody bytes (see Size).
const PageSize = 16

// ErrTooMany is the error for a list with more objects than the caller reads.
var ErrTooMany = errors.New("too many objects")

// large serializes the reads of answers of more than smallBody bytes, so that only one of them is in memory. Namespaces take turns.
var large = fairslots.New[string](fairslots.Options{Slots: 1, PerTenant: 1, Waiting: 1 << 20}) // the callers are bounded

// Get reads an object and calls handle, which must copy what it keeps. The HTTP client of live must have the transport Bound.
func Get(ctx context.Context, live client.Reader, key client.ObjectKey, object client.Object, handle func()) error {
	read := func(ctx context.Context, most int) (isTooLarge bool, err error) {
		a := &answer{most: most}
		err = live.Get(a.in(ctx), key, object)
		return a.isTooLarge, err
	}
	return inTurn(ctx, key.Namespace, read, func() error {
		handle()
		return nil
	})
}

// inTurn calls read, which sends one request with a bound of its answer, and then handle. If the answer has more than smallBody bytes,
// inTurn waits for the turn of the namespace and begins again.
func inTurn(ctx context.Context, namespace string, read func(ctx context.Context, most int) (isTooLarge bool, err error), handle func() error) error {
	isTooLarge, err := read(ctx, smallBody)
	if isTooLarge {
		release, waiting := large.Acquire(ctx, namespace)
		if waiting != nil {
			return fmt.Errorf("wait for the turn to read: %w", waiting)
		}
		defer release()
		_, err = read(ctx, maxObject)
	}
	if err != nil {
		return err
	}
	return handle()
}

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
	var of client.ListOptions
	of.ApplyOptions(options)
	read := func(ctx context.Context, bound int) (isTooLarge bool, err error) {
		return size.read(ctx, most, bound, func(ctx context.Context, limit int) error {
			return live.List(ctx, list, append([]client.ListOption{client.Limit(limit), client.Continue(token)}, options...)...)
		})
	}
	err = inTurn(ctx, of.Namespace, read, func() error {
		next = list.GetContinue()
		return meta.EachListItem(list, func(o runtime.Object) error {
			n++
			handle(o)
			return nil
		})
	})
	return next, n, err
}
