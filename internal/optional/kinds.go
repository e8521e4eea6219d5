// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package optional watches kinds that a cluster may not have, such as those of
// the Gateway API.
//
// It follows their CRDs: while one is there, its objects are cached and start
// reconciles; when it goes, the cache is stopped. It knows nothing of Agents.
package optional

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
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
	// Transform says what is kept of the objects.
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
	// reader is nil while the cluster does not have the kind.
	reader atomic.Pointer[cache.Cache]
	// known is closed when it is known for the first time whether the cluster
	// has the kind, and its objects are cached.
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
// the kind.
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

// Handlers say what to reconcile.
type Handlers struct {
	// Objects are for the objects of each kind.
	Objects map[schema.GroupResource]handler.MapFunc
	// Changed lists what depends on whether the cluster has the kinds at all.
	Changed func(context.Context) []reconcile.Request
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
		changed := func() {
			for _, request := range s.handlers.Changed(ctx) {
				queue.Add(request)
			}
		}
		objects := func(c cache.Cache) source.SyncingSource {
			return source.Kind(c, w.kind.Object, handler.EnqueueRequestsFromMapFunc(s.handlers.Objects[w.kind.Resource]))
		}
		crd, err := s.kinds.newCRDWatch(w.kind)
		if err != nil {
			return err
		}
		f := &follower{
			watched: w, config: s.kinds.config, changed: changed,
			start: func(ctx context.Context, c cache.Cache) (source.SyncingSource, error) {
				src := objects(c)
				return src, src.Start(ctx, queue)
			},
		}
		go f.follow(ctx, crd)
	}
	return nil
}

// WaitForSync waits until it is known of every kind whether the cluster has it.
// Else every Agent would be told, after each start, that it has none.
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
