// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package optional

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// fillingSource never gets to the end of its objects. Like that of
// controller-runtime it has nothing to say when it is told to stop.
type fillingSource struct{ waiting chan struct{} }

func (s fillingSource) Start(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return nil
}

func (s fillingSource) WaitForSync(ctx context.Context) error {
	close(s.waiting)
	<-ctx.Done()
	return nil
}

// Whoever reads from a cache that was stopped before it was filled waits for
// ever.
func TestKindThatGoesWhileItsObjectsAreReadIsNeverOffered(t *testing.T) {
	widgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(widgets.GroupVersion().WithKind("Widget"), meta.RESTScopeNamespace)
	filling := fillingSource{waiting: make(chan struct{})}
	offered := 0
	f := &follower{
		watched: &watched{
			kind:  Kind{Resource: widgets.GroupResource(), Version: widgets.Version, Object: &metav1.PartialObjectMetadata{}},
			known: make(chan struct{}),
		},
		config:  Config{Cluster: &rest.Config{}, HTTPClient: http.DefaultClient, Mapper: mapper},
		changed: func() { offered++ },
		start:   func(context.Context, cache.Cache) (source.SyncingSource, error) { return filling, nil },
	}

	f.enter(t.Context())
	<-filling.waiting
	f.leave()

	if offered != 0 {
		t.Error("the kind was offered, with a cache that was never filled")
	}
	if f.reader.Load() != nil {
		t.Error("the kind can be read after it has gone")
	}
	select {
	case <-f.known:
		t.Error("it counts as known what the cluster has, by a cache that was never filled")
	default:
	}
}

// emptyCache knows of no CustomResourceDefinition once it is filled, and of
// nothing at all before.
type emptyCache struct {
	cache.Cache
	filled chan struct{}
}

func (c emptyCache) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (c emptyCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return &controllertest.FakeInformer{}, nil
}

func (c emptyCache) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-c.filled:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c emptyCache) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	select {
	case <-c.filled:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "customresourcedefinitions"}, "widgets.example.com")
	default:
		return &cache.ErrCacheNotStarted{}
	}
}

// Else a manager that starts would take every address outside from the cards,
// and put it back a moment later.
func TestKindIsNotMissingBeforeItsDefinitionWasLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		f := &follower{watched: &watched{known: make(chan struct{})}}
		definitions := emptyCache{filled: make(chan struct{})}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			f.follow(ctx, definitions)
		}()
		known := func() bool {
			synctest.Wait()
			select {
			case <-f.known:
				return true
			default:
				return false
			}
		}

		if known() {
			t.Error("it counts as known what the cluster has, before anything was read")
		}
		close(definitions.filled)
		if !known() {
			t.Error("it is not known that the cluster does not have the kind")
		}
		stop()
		<-ended
	})
}
