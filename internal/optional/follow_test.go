// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package optional

import (
	"context"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
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
