// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdwatch

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// objectCache is filled when a test says so.
type objectCache struct {
	cache.Cache
	failed  toolscache.WatchErrorHandlerWithContext
	waiting chan struct{}
	filled  chan struct{}
}

func (c objectCache) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (c objectCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return &controllertest.FakeInformer{}, nil
}

func (c objectCache) WaitForCacheSync(ctx context.Context) bool {
	close(c.waiting)
	select {
	case <-c.filled:
		return true
	case <-ctx.Done():
		return false
	}
}

// heardSource is a source of objects that are all there.
type heardSource struct{}

func (heardSource) Start(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return nil
}

func (heardSource) WaitForSync(context.Context) error { return nil }

// widgetFollower follows a kind with such a cache, which it returns once it is
// to be filled.
type widgetFollower struct {
	*follower
	objects chan objectCache
	// offered counts what depends on the kind being reconciled.
	offered atomic.Int32
	// readable tells, for each time that objects may start reconciles, whether
	// the kind could be read.
	readable []bool
}

func newWidgetFollower() *widgetFollower {
	w := &widgetFollower{objects: make(chan objectCache, 1)}
	w.follower = &follower{
		watched: &watched{
			kind:  Kind{Resource: widgets.GroupResource(), Version: widgets.Version, Object: &metav1.PartialObjectMetadata{}},
			known: make(chan struct{}),
		},
		listed: func() (bool, error) { return true, nil },
		open: func(failed toolscache.WatchErrorHandlerWithContext) (cache.Cache, error) {
			c := objectCache{failed: failed, waiting: make(chan struct{}), filled: make(chan struct{})}
			w.objects <- c
			return c, nil
		},
		start: func(context.Context, cache.Cache) (source.SyncingSource, error) {
			w.readable = append(w.readable, w.reader.Load() != nil)
			return heardSource{}, nil
		},
		changed: func() { w.offered.Add(1) },
	}
	return w
}

func (w *widgetFollower) isKnown() bool {
	select {
	case <-w.known:
		return true
	default:
		return false
	}
}

// unreadable is what is told of the kind.
func (w *widgetFollower) unreadable() string {
	return (&Kinds{watched: map[schema.GroupResource]*watched{w.kind.Resource: w.watched}}).Unreadable(w.kind.Resource)
}

// Whoever reads from a cache that was stopped before it was filled waits for
// ever.
func TestKindThatGoesWhileItsObjectsAreReadIsNeverOffered(t *testing.T) {
	f := newWidgetFollower()
	f.enter(t.Context())
	<-(<-f.objects).waiting
	f.leave()

	if f.offered.Load() != 0 || len(f.readable) != 0 {
		t.Error("the kind was offered, with a cache that was never filled")
	}
	if f.reader.Load() != nil {
		t.Error("the kind can be read after it has gone")
	}
	if f.isKnown() {
		t.Error("it counts as known what the cluster has, by a cache that was never filled")
	}
}

// A manager does not end for a kind that few need, and comes to use it when it
// can.
func TestKindThatCannotBeReadIsNotWaitedFor(t *testing.T) {
	forbidden := apierrors.NewForbidden(widgets.GroupResource(), "", errors.New("no right"))
	broken := apierrors.NewInternalError(errors.New("no conversion"))
	tests := map[string]struct {
		failures []error
		// after is when it is told, and want what.
		after time.Duration
		want  string
	}{
		"a right is missing":             {failures: []error{forbidden, forbidden, forbidden}, after: patience, want: forbidden.Status().Message},
		"objects of a removed version":   {failures: []error{broken}, after: patience, want: broken.Status().Message},
		"something else is wrong by now": {failures: []error{forbidden, broken, broken}, after: patience, want: broken.Status().Message},
		"the API server is gone":         {failures: []error{&url.Error{Op: "Get", Err: errors.New("port 4711")}}, after: patience, want: "the API server cannot be reached"},
		"no answer":                      {after: silence, want: errSilence.Error()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newWidgetFollower()
				var logged atomic.Int32
				f.enter(log.IntoContext(t.Context(), funcr.New(func(string, string) { logged.Add(1) }, funcr.Options{})))
				defer f.leave()
				objects := <-f.objects
				for _, err := range test.failures {
					objects.failed(t.Context(), nil, err)
					synctest.Wait()
				}
				time.Sleep(test.after - time.Nanosecond)
				synctest.Wait()
				if f.isKnown() || f.unreadable() != "" || f.offered.Load() != 0 {
					t.Error("nobody waits for a kind that has only just failed to be read")
				}

				time.Sleep(time.Nanosecond)
				synctest.Wait()
				if !f.isKnown() {
					t.Error("a kind that cannot be read is waited for")
				}
				if got := f.unreadable(); got != test.want {
					t.Errorf("the kind is unreadable for %q, want %q", got, test.want)
				}
				if f.reader.Load() != nil {
					t.Error("a kind that cannot be read is offered")
				}
				// The library goes on trying, and failing in the same way.
				for _, err := range test.failures[max(0, len(test.failures)-1):] {
					objects.failed(t.Context(), nil, err)
					synctest.Wait()
				}
				if got := f.offered.Load(); got != 1 {
					t.Errorf("Agents were told %d times, want once", got)
				}

				if got := logged.Load(); got != 1 {
					t.Errorf("%d lines were logged, want one", got)
				}

				close(objects.filled)
				synctest.Wait()
				if f.reader.Load() == nil || f.unreadable() != "" {
					t.Errorf("the kind does not come into use, for %q", f.unreadable())
				}
				if got := f.offered.Load(); got != 2 {
					t.Errorf("Agents were told %d times in all, want twice", got)
				}
				if diff := cmp.Diff([]bool{true}, f.readable); diff != "" {
					t.Errorf("objects start reconciles that find them (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// It is told once for each reason, and a new one is told.
func TestAnotherReasonIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWidgetFollower()
		f.enter(t.Context())
		objects := <-f.objects
		for i, reason := range []string{"first", "first", "second"} {
			objects.failed(t.Context(), nil, errors.New(reason))
			time.Sleep(patience)
			synctest.Wait()
			if got := f.unreadable(); got != reason {
				t.Errorf("failure %d: the kind is unreadable for %q, want %q", i, got, reason)
			}
		}
		if got := f.offered.Load(); got != 2 {
			t.Errorf("Agents were told %d times, want twice", got)
		}
		f.leave()
		if got := f.unreadable(); got != "" {
			t.Errorf("a kind that has gone is unreadable for %q", got)
		}
	})
}

// crdCache knows of one CustomResourceDefinition.
type crdCache struct {
	cache.Cache
	crd apiextensionsv1.CustomResourceDefinition
}

func (c *crdCache) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	seen, err := stripCRD(&c.crd)
	seen.(*apiextensionsv1.CustomResourceDefinition).DeepCopyInto(object.(*apiextensionsv1.CustomResourceDefinition))
	return err
}

// What the API server refused for a field that the schema lacked is tried again
// with another schema.
func TestAnotherSchemaIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWidgetFollower()
		definitions := &crdCache{crd: apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Generation: 1},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: widgets.Version, Served: true},
			}},
			Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
			}},
		}}
		f.look(t.Context(), definitions)
		close((<-f.objects).filled)
		synctest.Wait()

		for i, test := range []struct {
			generation int64
			want       int32
		}{{1, 1}, {2, 2}, {2, 2}, {3, 3}} {
			definitions.crd.Generation = test.generation
			definitions.crd.ResourceVersion = strconv.Itoa(i)
			f.look(t.Context(), definitions)
			if got := f.offered.Load(); got != test.want {
				t.Errorf("look %d, at generation %d: Agents were told %d times, want %d", i, test.generation, got, test.want)
			}
		}
		f.leave()
	})
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
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "customresourcedefinitions"}, "", errors.New("no right"))
	for name, failures := range map[string][]error{"it can be read": nil, "it cannot be read at first": {forbidden}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				f := newWidgetFollower()
				definitions, filling := emptyCache{filled: make(chan struct{})}, newFilling()
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					f.follow(ctx, definitions, filling)
				}()
				defer func() {
					stop()
					<-ended
				}()

				for _, err := range failures {
					filling.handle(ctx, nil, err)
				}
				if synctest.Wait(); f.isKnown() {
					t.Error("it counts as known what the cluster has, before anything was read")
				}
				if len(failures) > 0 {
					time.Sleep(patience)
					if synctest.Wait(); !f.isKnown() || f.unreadable() != forbidden.Status().Message {
						t.Errorf("a definition that cannot be read is waited for; the kind is unreadable for %q", f.unreadable())
					}
				}
				close(definitions.filled)
				if synctest.Wait(); !f.isKnown() || f.unreadable() != "" {
					t.Errorf("it is not known that the cluster does not have the kind, which is unreadable for %q", f.unreadable())
				}
				if got := int(f.offered.Load()); got != 2*len(failures) {
					t.Errorf("Agents were told %d times, want %d", got, 2*len(failures))
				}
			})
		})
	}
}
