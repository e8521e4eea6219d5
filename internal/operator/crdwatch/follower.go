// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdwatch

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// discoveryInterval is the interval between checks whether the API server's discovery lists a
// new kind.
const discoveryInterval = 200 * time.Millisecond

// The delays of the exponential backoff of retryCache. client-go retries lists and watches with
// nearly the same delays.
const (
	minRetryDelay    = time.Second
	maxRetryDelay    = 30 * time.Second
	retryDelayJitter = 0.1
)

// state is the state of one kind, which the follower writes and Kinds reads.
type state struct {
	kind Kind
	// reader reads the cached objects. It is nil while the cluster does not have the kind, or
	// while its objects cannot be read.
	reader atomic.Pointer[cache.Cache]
	// failure is the reason why the objects cannot be read, or why their changes start no reconcile. It is nil if there is
	// no failure, or if the cluster does not have the kind.
	failure atomic.Pointer[string]
	// known is closed when the follower first determines the state: the cluster does not have
	// the kind, the objects of the kind are cached, or the objects cannot be read.
	known chan struct{}
}

// follower caches the objects of a kind while the cluster has its CRD.
type follower struct {
	*state
	clock clock.PassiveClock
	// newCache returns a cache of the objects. The cache does not run yet.
	newCache func(onError toolscache.WatchErrorHandlerWithContext) (cache.Cache, error)
	// discovered reports whether the API server's discovery lists the kind.
	discovered func() (bool, error)
	// startSource starts the source of events of the objects in a cache.
	startSource func(context.Context, cache.Cache) (source.SyncingSource, error)
	// enqueue enqueues all objects that depend on the kind.
	enqueue func()
	// setKnown ensures that state.known is closed only once.
	setKnown sync.Once
	// generation is the CRD's generation at the last update.
	generation int64
	// stop stops the cache of objects and waits until it has stopped. It is nil if no cache
	// runs.
	stop func()
}

// run watches the CRD, and starts and stops the cache of objects, until the context ends.
func (f *follower) run(ctx context.Context, crds cache.Cache, initial *initialSync) {
	logger := log.FromContext(ctx).WithValues("customResourceDefinition", f.kind.Resource.String())
	running := make(chan struct{})
	go func() {
		defer close(running)
		if err := crds.Start(ctx); err != nil {
			logger.Error(err, "watch of a CustomResourceDefinition failed")
		}
	}()
	defer func() { <-running }()

	// One pending signal is enough for any number of changes.
	changes := make(chan struct{}, 1)
	signal := func() {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
	// Wait until the cache has synced: until then, an existing CRD would seem not to exist.
	stopReports := f.reportFailures(ctx, initial)
	informer, err := initial.wait(ctx, crds, &apiextensionsv1.CustomResourceDefinition{})
	stopReports()
	if err != nil {
		return // the context has ended
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { signal() },
		UpdateFunc: func(any, any) { signal() },
		DeleteFunc: func(any) { signal() },
	})
	if err != nil {
		logger.Error(err, "watch of a CustomResourceDefinition failed")
		return
	}
	signal()
	for {
		select {
		case <-ctx.Done():
			f.stopCache()
			return
		case <-changes:
			f.update(ctx, crds)
		}
	}
}

// update starts or stops the cache of objects according to the state of the CRD.
func (f *follower) update(ctx context.Context, crds cache.Cache) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := crds.Get(ctx, client.ObjectKey{Name: f.kind.Resource.String()}, crd)
	served := err == nil && serves(crd, f.kind.Version)
	switch {
	case served && f.stop == nil:
		f.startCache(ctx)
	case !served && f.stop != nil:
		f.stopCache()
		f.enqueue()
	case served && crd.Generation != f.generation:
		f.enqueue()
	}
	f.generation = crd.Generation
	if !served {
		f.markKnown()
		if f.failure.Swap(nil) != nil { // there was a failure to read the CRD
			f.enqueue()
		}
	}
}

// markKnown closes known, so that WaitForSync does not wait for the kind any more.
func (f *follower) markKnown() { f.setKnown.Do(func() { close(f.known) }) }

// reportFailures reports the failures of an initial sync (initialSync.reportFailures) until stop is
// called.
func (f *follower) reportFailures(ctx context.Context, initial *initialSync) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		initial.reportFailures(ctx, func(err error) { f.setFailure(ctx, err) })
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// setFailure stores and logs the reason why the objects cannot be read. It logs each new reason
// once.
func (f *follower) setFailure(ctx context.Context, err error) {
	reason := reasonOf(err)
	if last := f.failure.Load(); last != nil && *last == reason {
		return
	}
	log.FromContext(ctx).Error(err, "reading an optional kind failed: the operator retries, and reconciles everything that does not depend on the kind",
		"kind", f.kind.Resource.String())
	f.failure.Store(&reason)
	f.markKnown()
	f.enqueue()
}

// startCache starts a cache of the objects.
func (f *follower) startCache(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { f.retryCache(ctx) })
	f.stop = func() {
		cancel()
		running.Wait()
	}
}

// retryCache runs a cache of the objects until the context ends. It replaces a failed cache by a
// new one, with exponential backoff. Without these retries, the operator would have no cache until
// the CRD is deleted and created again.
// A cache that ran for longer than maxRetryDelay resets the backoff.
func (f *follower) retryCache(ctx context.Context) {
	backoff := newBackoff()
	for {
		started := f.clock.Now()
		err := f.runCache(ctx)
		if f.clock.Since(started) > maxRetryDelay && f.reader.Load() != nil {
			backoff = newBackoff()
		}
		if ctx.Err() != nil {
			return
		}
		// Store the failure first: a kind with neither a reader nor a failure seems to be missing.
		f.setFailure(ctx, err)
		f.reader.Store(nil)
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff.Step()):
		}
	}
}

// newBackoff returns a backoff that stays at maxRetryDelay after it has reached it.
func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: minRetryDelay, Factor: 2, Jitter: retryDelayJitter, Steps: math.MaxInt, Cap: maxRetryDelay}
}

// runCache fills a cache of the objects, and runs it until the context ends or the cache fails.
// When runCache returns, the cache has stopped. The error is the reason.
func (f *follower) runCache(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer func() {
		cancel(nil)
		running.Wait()
	}()
	err := f.fillCache(ctx, func(objects cache.Cache) {
		running.Go(func() {
			if err := objects.Start(ctx); err != nil {
				cancel(fmt.Errorf("run cache: %w", err))
			}
		})
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// fillCache starts a cache, waits until it contains all objects of the kind, makes it the reader, and starts the events of
// the objects. It retries failures to read the objects, and returns all other failures.
func (f *follower) fillCache(ctx context.Context, start func(cache.Cache)) error {
	initial := newInitialSync()
	stopReports := sync.OnceFunc(f.reportFailures(ctx, initial))
	defer stopReports()
	if err := f.waitForDiscovery(ctx, initial); err != nil {
		return err
	}
	objects, err := f.newCache(initial.handleWatchError)
	if err != nil {
		return fmt.Errorf("build cache: %w", err)
	}
	start(objects)
	if _, err := initial.wait(ctx, objects, f.kind.Object); err != nil {
		return err
	}
	stopReports()
	// Store the reader before the events start, because workers may already run and read the
	// objects.
	f.reader.Store(&objects)
	src, err := f.startSource(ctx, objects)
	if err != nil {
		return fmt.Errorf("start source: %w", err)
	}
	if err := src.WaitForSync(ctx); err != nil {
		return fmt.Errorf("sync source: %w", err)
	}
	// WaitForSync also returns nil when the context ends.
	if err := ctx.Err(); err != nil {
		return err
	}
	// Clear the failure only now, when the source has started. Otherwise each retry would report the
	// same failure of the source again.
	f.failure.Store(nil)
	f.markKnown()
	f.enqueue()
	return nil
}

// waitForDiscovery waits until the API server's discovery lists the kind. Discovery lists a kind
// shortly after its CRD is established.
func (f *follower) waitForDiscovery(ctx context.Context, initial *initialSync) error {
	return wait.PollUntilContextCancel(ctx, discoveryInterval, true, func(context.Context) (bool, error) {
		discovered, err := f.discovered()
		if err != nil {
			initial.setFailure(err)
		}
		return discovered, nil
	})
}

// stopCache stops the cache of objects, if one runs.
func (f *follower) stopCache() {
	if f.stop == nil {
		return
	}
	f.stop()
	f.reader.Store(nil)
	f.failure.Store(nil)
	f.stop = nil
}
