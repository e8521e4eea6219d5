// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdwatch

import (
	"context"
	"fmt"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// discoveryPeriod is how often a new kind is looked for among those that the
// API server lists.
const discoveryPeriod = 200 * time.Millisecond

// newCRDWatch returns a cache of the one CRD of a kind: a right to see that one
// is enough.
func (k *Kinds) newCRDWatch(kind Kind, failed toolscache.WatchErrorHandlerWithContext) (cache.Cache, error) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build scheme: %w", err)
	}
	crds, err := cache.New(k.config.Cluster, cache.Options{
		HTTPClient: k.config.HTTPClient,
		Mapper:     k.config.Mapper,
		Scheme:     scheme,

		DefaultWatchErrorHandler: failed,
		ByObject: map[client.Object]cache.ByObject{&apiextensionsv1.CustomResourceDefinition{}: {
			Field:     fields.OneTermEqualSelector(metav1.ObjectNameField, kind.Resource.String()),
			Transform: stripCRD,
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("build cache of CustomResourceDefinition %s: %w", kind.Resource, err)
	}
	return crds, nil
}

// stripCRD keeps what tells whether a kind is served, and of another schema.
func stripCRD(obj any) (any, error) {
	crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return obj, nil
	}
	kept := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: crd.Name, UID: crd.UID, ResourceVersion: crd.ResourceVersion, Generation: crd.Generation, DeletionTimestamp: crd.DeletionTimestamp,
	}}
	for _, v := range crd.Spec.Versions {
		kept.Spec.Versions = append(kept.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served})
	}
	kept.Status.Conditions = crd.Status.Conditions
	return kept, nil
}

// serves tells whether the API server answers about a version of a kind.
func serves(crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	if !crd.DeletionTimestamp.IsZero() {
		return false
	}
	established := false
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			established = c.Status == apiextensionsv1.ConditionTrue
		}
	}
	for _, v := range crd.Spec.Versions {
		if v.Name == version {
			return established && v.Served
		}
	}
	return false
}

// follower caches the objects of a kind while the cluster has it.
type follower struct {
	*watched
	// open returns a cache of the objects that does not run yet.
	open func(failed toolscache.WatchErrorHandlerWithContext) (cache.Cache, error)
	// listed tells whether the API server lists the kind.
	listed func() (bool, error)
	// start lets the objects of a cache start reconciles.
	start func(context.Context, cache.Cache) (source.SyncingSource, error)
	// changed reconciles what depends on the kind.
	changed func()
	// said makes known, once, what there is to be known of the kind.
	said sync.Once
	// generation is that of the CRD when it was looked at last.
	generation int64
	// stop ends the run of the cache and waits for it; nil without one.
	stop func()
}

// follow looks at the CRD whenever it changes, until the context ends.
func (f *follower) follow(ctx context.Context, crds cache.Cache, filling *filling) {
	logger := log.FromContext(ctx).WithValues("customResourceDefinition", f.kind.Resource.String())
	running := make(chan struct{})
	go func() {
		defer close(running)
		if err := crds.Start(ctx); err != nil {
			logger.Error(err, "cannot watch a CustomResourceDefinition")
		}
	}()
	defer func() { <-running }()

	// One note is enough, however many changes it stands for.
	changes := make(chan struct{}, 1)
	note := func() {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
	// Before that, a CRD that is there looks like one that is not.
	attended := f.attend(ctx, filling)
	informer, err := filling.fill(ctx, crds, &apiextensionsv1.CustomResourceDefinition{})
	attended()
	if err != nil {
		return // the context has ended
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { note() },
		UpdateFunc: func(any, any) { note() },
		DeleteFunc: func(any) { note() },
	})
	if err != nil {
		logger.Error(err, "cannot watch a CustomResourceDefinition")
		return
	}
	note()
	for {
		select {
		case <-ctx.Done():
			f.leave()
			return
		case <-changes:
			f.look(ctx, crds)
		}
	}
}

// look starts or stops the cache of the objects, as the CRD says.
func (f *follower) look(ctx context.Context, crds cache.Cache) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := crds.Get(ctx, client.ObjectKey{Name: f.kind.Resource.String()}, crd)
	offered := err == nil && serves(crd, f.kind.Version)
	switch {
	case offered && f.stop == nil:
		f.enter(ctx)
	case !offered && f.stop != nil:
		f.leave()
		f.changed()
	case offered && crd.Generation != f.generation:
		f.changed()
	}
	f.generation = crd.Generation
	if !offered {
		f.say()
		if f.failure.Swap(nil) != nil { // to read the CRD
			f.changed()
		}
	}
}

// say makes known what there is to be known of the kind.
func (f *follower) say() { f.said.Do(func() { close(f.known) }) }

// attend tells of failures to fill a cache that last, until it is told to end.
func (f *follower) attend(ctx context.Context, filling *filling) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var attending sync.WaitGroup
	attending.Go(func() {
		filling.attend(ctx, func(err error) { f.fail(ctx, err) })
	})
	return func() {
		cancel()
		attending.Wait()
	}
}

// fail tells why the objects cannot be read, once for each reason.
func (f *follower) fail(ctx context.Context, err error) {
	reason := reasonOf(err)
	if told := f.failure.Load(); told != nil && *told == reason {
		return
	}
	log.FromContext(ctx).Error(err, "cannot read an optional kind: what does not need it goes on, and it is tried again",
		"kind", f.kind.Resource.String())
	f.failure.Store(&reason)
	f.say()
	f.changed()
}

// enter starts a cache of the objects.
func (f *follower) enter(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		err := f.fill(ctx, &running)
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "cannot watch an optional kind", "kind", f.kind.Resource.String())
		}
	})
	f.stop = func() {
		cancel()
		running.Wait()
	}
}

// fill makes the objects of the kind readable once all of them are there.
func (f *follower) fill(ctx context.Context, running *sync.WaitGroup) error {
	filling := newFilling()
	attended := sync.OnceFunc(f.attend(ctx, filling))
	defer attended()
	if err := f.discovered(ctx, filling); err != nil {
		return err
	}
	objects, err := f.open(filling.handle)
	if err != nil {
		return fmt.Errorf("build cache: %w", err)
	}
	running.Go(func() {
		if err := objects.Start(ctx); err != nil {
			log.FromContext(ctx).Error(err, "cannot watch an optional kind", "kind", f.kind.Resource.String())
		}
	})
	if _, err := filling.fill(ctx, objects, f.kind.Object); err != nil {
		return err
	}
	attended()
	f.reader.Store(&objects)
	f.failure.Store(nil)
	// Whoever is told of an object finds it: workers may run for long by now.
	src, err := f.start(ctx, objects)
	if err != nil {
		return err
	}
	if err := src.WaitForSync(ctx); err != nil {
		return err
	}
	// It also stops waiting, without an error, when the kind goes meanwhile.
	if err := ctx.Err(); err != nil {
		return err
	}
	f.say()
	f.changed()
	return nil
}

// discovered waits until the API server lists the kind, which is a moment after
// its CRD says so.
func (f *follower) discovered(ctx context.Context, filling *filling) error {
	return wait.PollUntilContextCancel(ctx, discoveryPeriod, true, func(context.Context) (bool, error) {
		listed, err := f.listed()
		if err != nil {
			filling.note(err)
		}
		return listed, nil
	})
}

// leave stops the cache, if one runs.
func (f *follower) leave() {
	if f.stop == nil {
		return
	}
	f.stop()
	f.reader.Store(nil)
	f.failure.Store(nil)
	f.stop = nil
}
