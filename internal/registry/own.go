// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// Own is the registry of the Agents that one user may list, for a program of this user. It reads the Agents and their
// cards with the rights of the user, and serves searches, agents, cards and watches of the registry's API without a
// listener and without tokens. It does not have what only the manager has: the Agents that other namespaces publish,
// searches by meaning, the registries of other clusters, and the signatures of cards.
type Own struct {
	cache cache.Cache
	feed  *index.Feed
	api   *api
	// serve is the handler of requests with a caller.
	serve http.Handler
	// failed receives the first error for which the registry cannot begin, such as a missing right.
	failed chan error
}

// everything is the authorizer of Own: the API server has decided which Agents the user sees.
type everything struct{}

func (everything) VisibleSet(context.Context, access.Caller) (*access.Set, error) {
	return access.NewSet(access.VisibilityCluster), nil
}

// NewOwn returns the registry of the Agents in a namespace, or in all namespaces if it is "". It sends requests only
// after Run is called.
func NewOwn(config *rest.Config, namespace string) (*Own, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, a2av1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("make scheme: %w", err)
		}
	}
	// The two kinds are known, so discovery is not needed.
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	var namespaces map[string]cache.Config
	if namespace != "" {
		namespaces = map[string]cache.Config{namespace: {}}
	}
	o := &Own{failed: make(chan error, 1)}
	objects, err := cache.New(config, cache.Options{
		Scheme:                   scheme,
		Mapper:                   mapper,
		DefaultNamespaces:        namespaces,
		DefaultTransform:         cache.TransformStripManagedFields(),
		DefaultWatchErrorHandler: o.watchFailed,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(labels.Set{a2av1alpha1.LabelManagedBy: a2av1alpha1.ManagedBy})},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make cache: %w", err)
	}
	now := clock.RealClock{}
	o.cache = objects
	// A ConfigMap that is being deleted has its data in this cache, so nothing is read live.
	o.feed = index.NewFeed((&index.Source{Reader: objects}).Read, now, logr.Discard())
	o.api = &api{
		feed:         o.feed,
		authz:        everything{},
		denials:      newDenials(logr.Discard(), now),
		watches:      newWatches(o.feed, now),
		searchLimits: newSearchLimits(now),
		log:          logr.Discard(),
	}
	o.serve = o.api.callersHandler()
	return o, nil
}

// watchFailed keeps the first error that does not pass, such as a missing right.
func (o *Own) watchFailed(_ context.Context, _ *toolscache.Reflector, err error) {
	if o.feed.Current() != nil || !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) && !apierrors.IsNotFound(err) {
		return
	}
	select {
	case o.failed <- err:
	default:
	}
}

// Run reads the Agents and follows their changes until ctx ends, and then returns nil. It calls ready when the first
// Agents are indexed. It returns an error of the API server if the user may not list and watch Agents and ConfigMaps.
func (o *Own) Run(ctx context.Context, ready func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { ended <- o.cache.Start(ctx) }()
	synced, err := index.Watch(ctx, o.cache, o.feed)
	if err != nil {
		cancel(err)
		return errors.Join(err, <-ended)
	}
	for _, done := range synced {
		select {
		case <-done:
		case err := <-o.failed:
			cancel(err)
			return errors.Join(err, <-ended)
		case <-ctx.Done():
			return <-ended
		}
	}
	o.api.watches.serving = ctx
	indexed := make(chan struct{})
	go func() {
		defer close(indexed)
		o.feed.Run(ctx)
	}()
	if _, ok := o.feed.AwaitRevision(ctx, index.Revision{}); ok {
		ready()
	}
	<-indexed
	return <-ended
}

// ServeHTTP serves a GET request for agents, a card or a watch.
func (o *Own) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.serve.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), authenticatedKey{}, access.Caller{})))
}
