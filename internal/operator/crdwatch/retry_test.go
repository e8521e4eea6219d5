// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdwatch

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// brokenSource is a fake source that never syncs.
type brokenSource struct {
	syncedSource
	err error
}

func (s brokenSource) WaitForSync(context.Context) error { return s.err }

// TestFailedCacheIsRetried checks that a new cache replaces one that cannot be built or started, and that controllers do
// not wait for it.
func TestFailedCacheIsRetried(t *testing.T) {
	broken := errors.New("out of luck")
	for name, test := range map[string]struct {
		// fault makes a follower fail.
		fault func(*widgetFollower)
		want  string
	}{
		"the cache cannot be built": {func(f *widgetFollower) {
			f.newCache = func(toolscache.WatchErrorHandlerWithContext) (cache.Cache, error) { return nil, broken }
		}, "build cache: out of luck"},
		"the cache does not start": {func(f *widgetFollower) {
			f.newCache = func(onError toolscache.WatchErrorHandlerWithContext) (cache.Cache, error) {
				c := newFakeCache(onError)
				c.startError = broken
				return c, nil
			}
		}, "run cache: out of luck"},
		"the source does not start": {func(f *widgetFollower) {
			f.startSource = func(context.Context, cache.Cache) (source.SyncingSource, error) { return nil, broken }
		}, "start source: out of luck"},
		"the source does not sync": {func(f *widgetFollower) {
			f.startSource = func(context.Context, cache.Cache) (source.SyncingSource, error) {
				return brokenSource{err: broken}, nil
			}
		}, "sync source: out of luck"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newWidgetFollower()
				newCache, startSource := f.newCache, f.startSource
				test.fault(f)
				failing := f.newCache
				// Each cache syncs at once.
				var attempts []time.Time
				var objects []objectCache
				f.newCache = func(onError toolscache.WatchErrorHandlerWithContext) (cache.Cache, error) {
					attempts = append(attempts, time.Now())
					if len(attempts) == 4 {
						failing, f.startSource = newCache, startSource
					}
					c, err := failing(onError)
					if c, ok := c.(objectCache); ok {
						objects = append(objects, c)
						if c.startError == nil {
							close(c.synced)
							<-f.objects
						}
					}
					return c, err
				}
				var logged atomic.Int32
				f.startCache(log.IntoContext(t.Context(), funcr.New(func(string, string) { logged.Add(1) }, funcr.Options{})))
				defer f.stopCache()
				synctest.Wait()
				if !f.isKnown() {
					t.Error("controllers wait for a kind that cannot be read")
				}
				for range 2 {
					if got := f.unreadable(); got != test.want {
						t.Errorf("the kind is unreadable for %q, want %q", got, test.want)
					}
					if f.reader.Load() != nil {
						t.Error("a kind that cannot be read has a reader")
					}
					time.Sleep(2 * minRetryDelay)
					synctest.Wait()
				}
				if got := f.enqueued.Load(); got != 1 {
					t.Errorf("%d enqueues, want one", got)
				}
				if got := logged.Load(); got != 1 {
					t.Errorf("%d lines were logged, want one", got)
				}

				time.Sleep(time.Hour)
				if f.reader.Load() == nil || f.unreadable() != "" {
					t.Errorf("the kind cannot be read: %q", f.unreadable())
				}
				if got := f.enqueued.Load(); got != 2 {
					t.Errorf("%d enqueues in all, want two", got)
				}
				if len(attempts) != 4 {
					t.Fatalf("%d attempts, want three that fail and one that succeeds", len(attempts))
				}
				for i := range 3 {
					least := minRetryDelay << i
					if pause := attempts[i+1].Sub(attempts[i]); pause < least || pause > least+least/4 {
						t.Errorf("retry %d came after %v, want about %v", i+1, pause, least)
					}
				}
				for i, c := range objects[:len(objects)-1] {
					select {
					case <-c.stopped:
					default:
						t.Errorf("cache %d was replaced, but runs", i)
					}
				}
			})
		})
	}
}

// TestRetriesEnd checks that retries continue at a bounded rate, and end when the CRD is deleted or when the context ends.
func TestRetriesEnd(t *testing.T) {
	for name, end := range map[string]func(f *widgetFollower, definitions *crdCache, cancel func()){
		"the CRD is deleted": func(f *widgetFollower, definitions *crdCache, _ func()) {
			definitions.crd.Spec.Versions = nil
			f.update(context.Background(), definitions)
			if got := f.unreadable(); got != "" {
				t.Errorf("a removed kind is unreadable for %q", got)
			}
		},
		"the context ends": func(_ *widgetFollower, _ *crdCache, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				f := newWidgetFollower()
				attempts := 0
				f.newCache = func(toolscache.WatchErrorHandlerWithContext) (cache.Cache, error) {
					attempts++
					return nil, errors.New("out of luck")
				}
				definitions := &crdCache{crd: servedWidgets()}
				f.update(ctx, definitions)
				time.Sleep(time.Hour)
				synctest.Wait()
				if least := int(time.Hour / maxRetryDelay * 8 / 10); attempts < least || attempts > least*2 {
					t.Errorf("%d attempts in an hour, want about one every %v", attempts, maxRetryDelay)
				}
				end(f, definitions, cancel)
				synctest.Wait()
				before := attempts
				time.Sleep(time.Hour)
				synctest.Wait()
				if attempts != before {
					t.Errorf("%d attempts after the end", attempts-before)
				}
				f.stopCache()
			})
		})
	}
}

// stoppableCache is a fake cache that runs until the test sends the error of Start.
type stoppableCache struct {
	objectCache
	failure chan error
}

func (c stoppableCache) Start(ctx context.Context) error {
	defer close(c.stopped)
	select {
	case err := <-c.failure:
		return err
	case <-ctx.Done():
		return nil
	}
}

// TestCacheThatRanResetsTheBackoff checks that the operator soon retries after the failure of a cache that ran for an hour,
// even if many attempts had failed before that cache started.
func TestCacheThatRanResetsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWidgetFollower()
		var attempts atomic.Int32
		var broken atomic.Bool
		broken.Store(true)
		failure := make(chan error)
		f.newCache = func(onError toolscache.WatchErrorHandlerWithContext) (cache.Cache, error) {
			attempts.Add(1)
			if broken.Load() {
				return nil, errors.New("out of luck")
			}
			c := newFakeCache(onError)
			close(c.synced)
			return stoppableCache{c, failure}, nil
		}
		f.startCache(t.Context())
		defer f.stopCache()
		time.Sleep(time.Hour)
		broken.Store(false)
		time.Sleep(time.Hour)
		if f.reader.Load() == nil {
			t.Fatal("the kind cannot be read")
		}

		attempts.Store(0)
		failure <- errors.New("out of memory")
		time.Sleep(2 * minRetryDelay)
		synctest.Wait()
		if attempts.Load() != 1 || f.reader.Load() == nil {
			t.Errorf("%d attempts within %v after the failure, want one", attempts.Load(), 2*minRetryDelay)
		}
	})
}
