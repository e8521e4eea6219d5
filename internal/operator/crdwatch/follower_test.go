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
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// objectCache is a fake cache that syncs when a test closes synced.
type objectCache struct {
	cache.Cache
	onError toolscache.WatchErrorHandlerWithContext
	// startError is the error of Start. If it is nil, Start runs until its context ends.
	startError error
	waiting    chan struct{}
	synced     chan struct{}
	// stopped is closed when Start returns.
	stopped chan struct{}
}

func newFakeCache(onError toolscache.WatchErrorHandlerWithContext) objectCache {
	return objectCache{onError: onError, waiting: make(chan struct{}), synced: make(chan struct{}), stopped: make(chan struct{})}
}

func (c objectCache) Start(ctx context.Context) error {
	defer close(c.stopped)
	if c.startError == nil {
		<-ctx.Done()
	}
	return c.startError
}

func (c objectCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return &controllertest.FakeInformer{}, nil
}

func (c objectCache) WaitForCacheSync(ctx context.Context) bool {
	close(c.waiting)
	select {
	case <-c.synced:
		return true
	case <-ctx.Done():
		return false
	}
}

// syncedSource is a fake source that has synced.
type syncedSource struct{}

func (syncedSource) Start(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return nil
}

func (syncedSource) WaitForSync(context.Context) error { return nil }

// widgetFollower is a follower of a fake kind. When it creates its objectCache, it sends the
// cache to objects.
type widgetFollower struct {
	*follower
	objects chan objectCache
	// enqueued is the number of calls of enqueue.
	enqueued atomic.Int32
	// readable contains, for each start of a source, whether the objects could be read.
	readable []bool
}

func newWidgetFollower() *widgetFollower {
	w := &widgetFollower{objects: make(chan objectCache, 1)}
	w.follower = &follower{
		state: &state{
			kind:  Kind{Resource: widgets.GroupResource(), Version: widgets.Version, Object: &metav1.PartialObjectMetadata{}},
			known: make(chan struct{}),
		},
		clock:      clock.RealClock{},
		discovered: func() (bool, error) { return true, nil },
		newCache: func(onError toolscache.WatchErrorHandlerWithContext) (cache.Cache, error) {
			c := newFakeCache(onError)
			w.objects <- c
			return c, nil
		},
		startSource: func(context.Context, cache.Cache) (source.SyncingSource, error) {
			w.readable = append(w.readable, w.reader.Load() != nil)
			return syncedSource{}, nil
		},
		enqueue: func() { w.enqueued.Add(1) },
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

// unreadable returns the reason why the kind cannot be read.
func (w *widgetFollower) unreadable() string {
	return (&Kinds{states: map[schema.GroupResource]*state{w.kind.Resource: w.state}}).Unreadable(w.kind.Resource)
}

// TestKindRemovedBeforeItsCacheSynced checks that such a kind never has a reader: a read from
// a cache that was stopped before it synced would block forever.
func TestKindRemovedBeforeItsCacheSynced(t *testing.T) {
	f := newWidgetFollower()
	f.startCache(t.Context())
	<-(<-f.objects).waiting
	f.stopCache()

	if f.enqueued.Load() != 0 || len(f.readable) != 0 {
		t.Error("the kind was enqueued with a cache that never synced")
	}
	if f.reader.Load() != nil {
		t.Error("the kind can be read after its removal")
	}
	if f.isKnown() {
		t.Error("the state is known with a cache that never synced")
	}
}

// TestKindThatCannotBeRead checks that controllers do not wait for a kind that cannot be read,
// and use the kind when it can be read.
func TestKindThatCannotBeRead(t *testing.T) {
	forbidden := apierrors.NewForbidden(widgets.GroupResource(), "", errors.New("no right"))
	broken := apierrors.NewInternalError(errors.New("no conversion"))
	tests := map[string]struct {
		failures []error
		// after is the delay until the report, and want is the reported reason.
		after time.Duration
		want  string
	}{
		"missing right":                   {failures: []error{forbidden, forbidden, forbidden}, after: failureGrace, want: forbidden.Status().Message},
		"objects of a removed version":    {failures: []error{broken}, after: failureGrace, want: broken.Status().Message},
		"another failure":                 {failures: []error{forbidden, broken, broken}, after: failureGrace, want: broken.Status().Message},
		"no connection to the API server": {failures: []error{&url.Error{Op: "Get", Err: errors.New("port 4711")}}, after: failureGrace, want: "the API server cannot be reached"},
		"no answer":                       {after: noAnswerTimeout, want: errNoAnswer.Error()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newWidgetFollower()
				var logged atomic.Int32
				f.startCache(log.IntoContext(t.Context(), funcr.New(func(string, string) { logged.Add(1) }, funcr.Options{})))
				defer f.stopCache()
				objects := <-f.objects
				for _, err := range test.failures {
					objects.onError(t.Context(), nil, err)
					synctest.Wait()
				}
				time.Sleep(test.after - time.Nanosecond)
				synctest.Wait()
				if f.isKnown() || f.unreadable() != "" || f.enqueued.Load() != 0 {
					t.Error("a failure was reported within the grace period")
				}

				time.Sleep(time.Nanosecond)
				synctest.Wait()
				if !f.isKnown() {
					t.Error("controllers wait for a kind that cannot be read")
				}
				if got := f.unreadable(); got != test.want {
					t.Errorf("the kind is unreadable for %q, want %q", got, test.want)
				}
				if f.reader.Load() != nil {
					t.Error("a kind that cannot be read has a reader")
				}
				// client-go retries, and the retry fails in the same way.
				for _, err := range test.failures[max(0, len(test.failures)-1):] {
					objects.onError(t.Context(), nil, err)
					synctest.Wait()
				}
				if got := f.enqueued.Load(); got != 1 {
					t.Errorf("%d enqueues, want one", got)
				}

				if got := logged.Load(); got != 1 {
					t.Errorf("%d lines were logged, want one", got)
				}

				close(objects.synced)
				synctest.Wait()
				if f.reader.Load() == nil || f.unreadable() != "" {
					t.Errorf("the kind cannot be read: %q", f.unreadable())
				}
				if got := f.enqueued.Load(); got != 2 {
					t.Errorf("%d enqueues in all, want two", got)
				}
				if diff := cmp.Diff([]bool{true}, f.readable); diff != "" {
					t.Errorf("kind was readable when its events started (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestEachReasonIsReportedOnce checks that a new reason is reported, and that the same reason
// is not reported again.
func TestEachReasonIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWidgetFollower()
		f.startCache(t.Context())
		objects := <-f.objects
		for i, reason := range []string{"first", "first", "second"} {
			objects.onError(t.Context(), nil, errors.New(reason))
			time.Sleep(failureGrace)
			synctest.Wait()
			if got := f.unreadable(); got != reason {
				t.Errorf("failure %d: the kind is unreadable for %q, want %q", i, got, reason)
			}
		}
		if got := f.enqueued.Load(); got != 2 {
			t.Errorf("%d enqueues, want two", got)
		}
		f.stopCache()
		if got := f.unreadable(); got != "" {
			t.Errorf("a removed kind is unreadable for %q", got)
		}
	})
}

// crdCache is a fake cache with one CustomResourceDefinition.
type crdCache struct {
	cache.Cache
	crd apiextensionsv1.CustomResourceDefinition
}

func (c *crdCache) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	stripped, err := stripCRD(&c.crd)
	stripped.(*apiextensionsv1.CustomResourceDefinition).DeepCopyInto(object.(*apiextensionsv1.CustomResourceDefinition))
	return err
}

// servedWidgets returns an established CRD of the fake kind.
func servedWidgets() apiextensionsv1.CustomResourceDefinition {
	return apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Generation: 1},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
			{Name: widgets.Version, Served: true},
		}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
		}},
	}
}

// TestSchemaChangeEnqueues checks that a change of the CRD's schema enqueues the objects that
// depend on the kind. An object that the API server rejected because of a missing field is then
// written again.
func TestSchemaChangeEnqueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWidgetFollower()
		definitions := &crdCache{crd: servedWidgets()}
		f.update(t.Context(), definitions)
		close((<-f.objects).synced)
		synctest.Wait()

		for i, test := range []struct {
			generation int64
			want       int32
		}{{1, 1}, {2, 2}, {2, 2}, {3, 3}} {
			definitions.crd.Generation = test.generation
			definitions.crd.ResourceVersion = strconv.Itoa(i)
			f.update(t.Context(), definitions)
			if got := f.enqueued.Load(); got != test.want {
				t.Errorf("update %d, generation %d: %d enqueues, want %d", i, test.generation, got, test.want)
			}
		}
		f.stopCache()
	})
}

// emptyCache is a fake cache without a CustomResourceDefinition. It cannot be read before it
// has synced.
type emptyCache struct {
	cache.Cache
	synced chan struct{}
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
	case <-c.synced:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c emptyCache) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	select {
	case <-c.synced:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "customresourcedefinitions"}, "widgets.example.com")
	default:
		return &cache.ErrCacheNotStarted{}
	}
}

// TestKindIsNotMissingBeforeItsCRDWasRead checks that a kind does not count as missing before
// its CRD was read. Otherwise, a manager that starts would remove every external address from
// the cards, and add the addresses again a moment later.
func TestKindIsNotMissingBeforeItsCRDWasRead(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "customresourcedefinitions"}, "", errors.New("no right"))
	for name, failures := range map[string][]error{"readable": nil, "not readable at first": {forbidden}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				f := newWidgetFollower()
				definitions, initial := emptyCache{synced: make(chan struct{})}, newInitialSync()
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					f.run(ctx, definitions, initial)
				}()
				defer func() {
					stop()
					<-ended
				}()

				for _, err := range failures {
					initial.handleWatchError(ctx, nil, err)
				}
				if synctest.Wait(); f.isKnown() {
					t.Error("the state is known before the CRD was read")
				}
				if len(failures) > 0 {
					time.Sleep(failureGrace)
					if synctest.Wait(); !f.isKnown() || f.unreadable() != forbidden.Status().Message {
						t.Errorf("controllers wait for a CRD that cannot be read; the kind is unreadable for %q", f.unreadable())
					}
				}
				close(definitions.synced)
				if synctest.Wait(); !f.isKnown() || f.unreadable() != "" {
					t.Errorf("the absence of the kind is not known; it is unreadable for %q", f.unreadable())
				}
				if got := int(f.enqueued.Load()); got != 2*len(failures) {
					t.Errorf("%d enqueues, want %d", got, 2*len(failures))
				}
			})
		})
	}
}
