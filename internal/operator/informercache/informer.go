// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
)

// pageSize is the number of objects in a page of a list, unless the page would have more than
// pagedlist.MaxBody bytes. The transforms see an object only after it is decoded, which may need 24 times
// its encoded size.
const pageSize = 50

// newInformer returns an informer that streams its initial state (WatchList). A streamed state is never
// in memory as a whole: the informer transforms each object as it arrives. This matters because the
// transforms remove most of the objects, and a cluster may have hundreds of megabytes of them. A
// stream is consistent: it is not older than the state that the operator saw before a restart.
//
// API servers before Kubernetes 1.34 may have no WatchList. The informer then lists, in pages (see
// pagedList).
func newInformer(source toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	paged := &pagedList{source: toolscache.ToListerWatcherWithContext(source)}
	informer := &transformingInformer{list: paged}
	informer.SharedIndexInformer = toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc:  paged.list,
		WatchFuncWithContext: paged.source.WatchWithContext,
	}, kind, resync, indexers)
	return informer
}

// transformingInformer is an informer that applies its transform also to the pages of a list.
type transformingInformer struct {
	toolscache.SharedIndexInformer
	list *pagedList
}

// SetTransform implements toolscache.SharedIndexInformer.
func (i *transformingInformer) SetTransform(transform toolscache.TransformFunc) error {
	if err := i.SharedIndexInformer.SetTransform(transform); err != nil {
		return err
	}
	i.list.transform = transform
	return nil
}

// pages serializes the pages of all informers, so that only one page is in memory.
var pages sync.Mutex

// pagedList lists the objects of a source in pages, and transforms each page before it requests the
// next one. The transformed objects are the list.
type pagedList struct {
	source    toolscache.ListerWatcherWithContext
	transform toolscache.TransformFunc
}

// list implements the ListWithContextFunc of an informer. The list is consistent. Its items are the
// transformed objects.
func (p *pagedList) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	// A version would not select a newer state: with a limit, the API server reads exactly this
	// version.
	options.ResourceVersion = ""
	options.ResourceVersionMatch = ""
	options.Continue = ""
	size := pagedlist.NewSize(pageSize)
	var whole []runtime.Object
	for {
		page, next, err := p.page(ctx, options, size, &whole)
		if err != nil {
			return nil, err
		}
		if next != "" {
			options.Continue = next
			continue
		}
		if err := meta.SetList(page, whole); err != nil {
			return nil, fmt.Errorf("assemble the pages of a list: %w", err)
		}
		return page, nil
	}
}

// page requests a page and appends its transformed objects to whole. It returns the list of the page
// without its items, and the token of the next page.
func (p *pagedList) page(ctx context.Context, options metav1.ListOptions, size *pagedlist.Size, whole *[]runtime.Object) (page runtime.Object, next string, err error) {
	pages.Lock()
	defer pages.Unlock()
	err = size.Read(ctx, pageSize, func(ctx context.Context, limit int) (err error) {
		options.Limit = int64(limit)
		page, err = p.source.ListWithContext(ctx, options)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	// ExtractListWithAlloc copies the objects, so that one of them does not keep the page in memory.
	objects, err := meta.ExtractListWithAlloc(page)
	if err != nil {
		return nil, "", fmt.Errorf("read a page of a list: %w", err)
	}
	for _, object := range objects {
		kept, err := p.transformed(object)
		if err != nil {
			return nil, "", err
		}
		*whole = append(*whole, kept)
	}
	if err := meta.SetList(page, nil); err != nil {
		return nil, "", fmt.Errorf("empty a page of a list: %w", err)
	}
	list, err := meta.ListAccessor(page)
	if err != nil {
		return nil, "", fmt.Errorf("read a page of a list: %w", err)
	}
	next = list.GetContinue()
	list.SetContinue("")
	list.SetRemainingItemCount(nil)
	return page, next, nil
}

func (p *pagedList) transformed(object runtime.Object) (runtime.Object, error) {
	if p.transform == nil {
		return object, nil
	}
	kept, err := p.transform(object)
	if err != nil {
		return nil, fmt.Errorf("transform an object of a list: %w", err)
	}
	return kept.(runtime.Object), nil
}
