// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crdwatch watches kinds of optional APIs, such as the Gateway API.
//
// It watches their CRDs. While a CRD exists, the package caches the objects of the kind, and their
// events start reconciles. When the CRD is deleted, the package stops the cache. The package does
// not depend on Agents.
package crdwatch

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Kinds watches optional kinds while the cluster has them. Its methods are safe for concurrent
// use.
type Kinds struct {
	config Config
	states map[schema.GroupResource]*state
}

// New returns Kinds that watch nothing yet. The watch begins when the source that Source
// returns is started.
func New(config Config, kinds ...Kind) *Kinds {
	k := &Kinds{config: config, states: map[schema.GroupResource]*state{}}
	for _, kind := range kinds {
		k.states[kind.Resource] = &state{kind: kind, known: make(chan struct{})}
	}
	return k
}

// Reader returns a reader of the objects of a kind, or nil while the cluster does not have the
// kind or its objects cannot be read.
func (k *Kinds) Reader(kind schema.GroupResource) client.Reader {
	if s, found := k.states[kind]; found {
		if reader := s.reader.Load(); reader != nil {
			return *reader
		}
	}
	return nil
}

// Unreadable returns the reason why the objects of a kind cannot be read, or "" if they can be
// read or the cluster does not have the kind.
func (k *Kinds) Unreadable(kind schema.GroupResource) string {
	if s, found := k.states[kind]; found {
		if failure := s.failure.Load(); failure != nil {
			return *failure
		}
	}
	return ""
}

// Handlers enqueue the requests of a controller.
type Handlers struct {
	// Objects maps the objects of each kind to requests.
	Objects map[schema.GroupResource]handler.MapFunc
	// Changed enqueues the objects that depend on the kinds. It is called after a kind was added
	// or removed, after its CRD has changed, and after its objects became readable or unreadable.
	Changed func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request])
}

// Source returns a source that watches the kinds for a controller. It can be started once.
func (k *Kinds) Source(handlers Handlers) source.SyncingSource {
	return &kindsSource{kinds: k, handlers: handlers}
}

type kindsSource struct {
	kinds    *Kinds
	handlers Handlers
}

var _ source.SyncingSource = (*kindsSource)(nil)

// Start implements source.Source. It watches until the context ends.
func (s *kindsSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	config := s.kinds.config
	for _, state := range s.kinds.states {
		kind := state.kind
		f := &follower{
			state:   state,
			clock:   clock.RealClock{},
			enqueue: func() { s.handlers.Changed(ctx, queue) },
			newCache: func(onError toolscache.WatchErrorHandlerWithContext) (cache.Cache, error) {
				return newObjectCache(config, kind, onError)
			},
			discovered: func() (bool, error) {
				mapped, err := config.Mapper.KindFor(kind.Resource.WithVersion(kind.Version))
				return err == nil && !mapped.Empty(), err
			},
			startSource: func(ctx context.Context, c cache.Cache) (source.SyncingSource, error) {
				src := source.Kind(c, kind.Object, handler.EnqueueRequestsFromMapFunc(s.handlers.Objects[kind.Resource]), predicate.Funcs{UpdateFunc: hasChanged})
				return src, src.Start(ctx, queue)
			},
		}
		initial := newInitialSync()
		crds, err := newCRDCache(config, kind, initial.handleWatchError)
		if err != nil {
			return err
		}
		go f.run(ctx, crds, initial)
	}
	return nil
}

// newObjectCache returns a cache of the objects of a kind.
func newObjectCache(config Config, kind Kind, onError toolscache.WatchErrorHandlerWithContext) (cache.Cache, error) {
	options := config.Cache
	options.HTTPClient = config.HTTPClient
	options.Mapper = config.Mapper
	options.Scheme = config.Scheme
	options.DefaultTransform = kind.Transform
	options.DefaultWatchErrorHandler = onError
	return cache.New(config.Cluster, options)
}

// hasChanged reports whether an update changed the cached part of an object.
func hasChanged(update event.UpdateEvent) bool {
	before, ok := update.ObjectOld.DeepCopyObject().(client.Object)
	if !ok {
		return true
	}
	before.SetResourceVersion(update.ObjectNew.GetResourceVersion())
	return !equality.Semantic.DeepEqual(before, update.ObjectNew)
}

// WaitForSync implements source.SyncingSource. It waits until the state of every kind is known. If
// it did not wait, every exposed Agent would report after each start that the kinds are missing. A
// kind that cannot be read counts as known, because few Agents need the kind.
func (s *kindsSource) WaitForSync(ctx context.Context) error {
	for _, state := range s.kinds.states {
		select {
		case <-state.known:
		case <-ctx.Done():
			return fmt.Errorf("wait for CustomResourceDefinition %s: %w", state.kind.Resource, errors.Join(ctx.Err(), context.Cause(ctx)))
		}
	}
	return nil
}

// String implements fmt.Stringer, for logs.
func (s *kindsSource) String() string { return "optional kinds" }
