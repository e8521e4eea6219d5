// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crdwatch watches kinds that a cluster may not have, such as those of
// the Gateway API.
//
// It follows their CRDs: while one is there, its objects are cached and start
// reconciles; when it goes, the cache is stopped. It knows nothing of Agents.
package crdwatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Kind is a kind that the cluster may not have.
type Kind struct {
	// Resource is how the API server calls it; the name of the CRD is made of
	// it.
	Resource schema.GroupResource
	// Version is the one that is used. A CRD that does not serve it is as good
	// as none.
	Version string
	// Object is an empty object of the kind, which the scheme knows.
	Object client.Object
	// Transform says what is kept of the objects. A change of something else starts
	// no reconcile.
	Transform toolscache.TransformFunc
}

// Config is what the kinds are watched with.
type Config struct {
	Cluster    *rest.Config
	HTTPClient *http.Client
	Mapper     meta.RESTMapper
	Scheme     *runtime.Scheme
	// Cache says which namespaces are watched.
	Cache cache.Options
}

// Kinds are watched while the cluster has them.
type Kinds struct {
	config  Config
	watched map[schema.GroupResource]*watched
}

// watched is one of the kinds.
type watched struct {
	kind Kind
	// reader is nil while the cluster does not have the kind, or it cannot be
	// read.
	reader atomic.Pointer[cache.Cache]
	// failure is why it cannot be read; nil when it can, and when the cluster
	// does not have it.
	failure atomic.Pointer[string]
	// known is closed when it is known for the first time that the cluster does
	// not have the kind, that its objects are cached, or why they cannot be.
	known chan struct{}
}

// New returns Kinds that are not watched yet: a Source watches them.
func New(config Config, kinds ...Kind) *Kinds {
	k := &Kinds{config: config, watched: map[schema.GroupResource]*watched{}}
	for _, kind := range kinds {
		k.watched[kind.Resource] = &watched{kind: kind, known: make(chan struct{})}
	}
	return k
}

// Reader reads the objects of a kind. It is nil while the cluster does not have
// the kind, and while it cannot be read.
func (k *Kinds) Reader(kind schema.GroupResource) client.Reader {
	w, found := k.watched[kind]
	if !found {
		return nil
	}
	reader := w.reader.Load()
	if reader == nil {
		return nil
	}
	return *reader
}

// Unreadable says why a kind cannot be read. It is empty when it can be, and
// when the cluster does not have it.
func (k *Kinds) Unreadable(kind schema.GroupResource) string {
	w, found := k.watched[kind]
	if !found {
		return ""
	}
	failure := w.failure.Load()
	if failure == nil {
		return ""
	}
	return *failure
}

// Handlers say what to reconcile.
type Handlers struct {
	// Objects are for the objects of each kind.
	Objects map[schema.GroupResource]handler.MapFunc
	// Changed queues what depends on whether the cluster has the kinds at all, and
	// with which schema.
	Changed func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request])
}

// isKept tells whether anything was changed of what is kept.
func isKept(update event.UpdateEvent) bool {
	before, ok := update.ObjectOld.DeepCopyObject().(client.Object)
	if !ok {
		return true
	}
	before.SetResourceVersion(update.ObjectNew.GetResourceVersion())
	return !equality.Semantic.DeepEqual(before, update.ObjectNew)
}

// Source watches the kinds for a controller. It can be started once.
func (k *Kinds) Source(handlers Handlers) source.SyncingSource {
	return &kindsSource{kinds: k, handlers: handlers}
}

type kindsSource struct {
	kinds    *Kinds
	handlers Handlers
}

var _ source.SyncingSource = (*kindsSource)(nil)

// Start watches until the context ends.
func (s *kindsSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	for _, w := range s.kinds.watched {
		changed := func() { s.handlers.Changed(ctx, queue) }
		objects := func(c cache.Cache) source.SyncingSource {
			return source.Kind(c, w.kind.Object, handler.EnqueueRequestsFromMapFunc(s.handlers.Objects[w.kind.Resource]), predicate.Funcs{UpdateFunc: isKept})
		}
		f := &follower{
			watched: w, changed: changed,
			open: func(failed toolscache.WatchErrorHandlerWithContext) (cache.Cache, error) {
				return s.kinds.newObjectCache(w.kind, failed)
			},
			listed: func() (bool, error) {
				kind, err := s.kinds.config.Mapper.KindFor(w.kind.Resource.WithVersion(w.kind.Version))
				return err == nil && !kind.Empty(), err
			},
			start: func(ctx context.Context, c cache.Cache) (source.SyncingSource, error) {
				src := objects(c)
				return src, src.Start(ctx, queue)
			},
		}
		crds := newFilling()
		crd, err := s.kinds.newCRDWatch(w.kind, crds.handle)
		if err != nil {
			return err
		}
		go f.follow(ctx, crd, crds)
	}
	return nil
}

// newObjectCache returns a cache of the objects of a kind.
func (k *Kinds) newObjectCache(kind Kind, failed toolscache.WatchErrorHandlerWithContext) (cache.Cache, error) {
	options := k.config.Cache
	options.HTTPClient, options.Mapper, options.Scheme = k.config.HTTPClient, k.config.Mapper, k.config.Scheme
	options.DefaultTransform = kind.Transform
	options.DefaultWatchErrorHandler = failed
	return cache.New(k.config.Cluster, options)
}

// WaitForSync waits until it is known of every kind whether the cluster has it.
// Else every Agent would be told, after each start, that it has none. It does
// not wait for a kind that cannot be read: few Agents need it.
func (s *kindsSource) WaitForSync(ctx context.Context) error {
	for _, w := range s.kinds.watched {
		select {
		case <-w.known:
		case <-ctx.Done():
			return fmt.Errorf("wait for CustomResourceDefinition %s: %w", w.kind.Resource, errors.Join(ctx.Err(), context.Cause(ctx)))
		}
	}
	return nil
}

// String is for logs.
func (s *kindsSource) String() string { return "optional kinds" }
