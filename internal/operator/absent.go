// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// askAgainAfter is how often absent namespaces are asked for.
const askAgainAfter = 10 * time.Second

// errAppeared ends a manager that does not watch all that there is to watch.
var errAppeared = errors.New("a namespace can be read now that could not")

// absent are namespaces that are to be watched and whose Agents may not be read.
// The rights in a namespace are gone with it, and a cache that may not read one
// of its namespaces is never filled: a manager leaves out what is not there when
// it starts, so that it serves the others.
type absent struct {
	reader     client.Reader
	namespaces []string
	log        logr.Logger
	every      time.Duration
}

// newAbsent returns those of the settings' namespaces that are absent, and the
// settings without them.
func newAbsent(ctx context.Context, cluster *rest.Config, settings Config, log logr.Logger) (*absent, Config, error) {
	a := &absent{log: log, every: askAgainAfter}
	if len(settings.WatchNamespaces) == 0 {
		return a, settings, nil
	}
	scheme, err := NewScheme()
	if err != nil {
		return nil, settings, err
	}
	if a.reader, err = client.New(cluster, client.Options{Scheme: scheme}); err != nil {
		return nil, settings, fmt.Errorf("build client: %w", err)
	}
	var why error
	watched := settings.WatchNamespaces
	settings.WatchNamespaces = nil
	for _, namespace := range watched {
		switch err := a.insist(ctx, namespace); {
		case err == nil:
			settings.WatchNamespaces = append(settings.WatchNamespaces, namespace)
		case apierrors.IsForbidden(err):
			why = err
			a.namespaces = append(a.namespaces, namespace)
			log.Error(err, "the Agents of a namespace are not served: make the namespace and the manager's rights in it, or take it out of --watch-namespaces",
				"namespace", namespace)
		default:
			return nil, settings, fmt.Errorf("list Agents of namespace %s: %w", namespace, err)
		}
	}
	if len(settings.WatchNamespaces) == 0 { // which would be all
		return nil, settings, fmt.Errorf("no namespace of --watch-namespaces can be read, of %s: %w", strings.Join(watched, ", "), why)
	}
	return a, settings, nil
}

// insist asks again when the API server fails to answer, for some seconds.
func (a *absent) insist(ctx context.Context, namespace string) error {
	backoff := wait.Backoff{Steps: 5, Duration: 200 * time.Millisecond, Factor: 2}
	again := func(err error) bool { return ctx.Err() == nil && !apierrors.IsForbidden(err) }
	return retry.OnError(backoff, again, func() error { return a.ask(ctx, namespace) })
}

// ask reads as little as there is to read.
func (a *absent) ask(ctx context.Context, namespace string) error {
	return a.reader.List(ctx, &a2av1alpha1.AgentList{}, client.InNamespace(namespace), client.Limit(1))
}

var (
	_ manager.Runnable               = (*absent)(nil)
	_ manager.LeaderElectionRunnable = (*absent)(nil)
)

// NeedLeaderElection implements manager.LeaderElectionRunnable: the registry of
// every replica tells of the Agents.
func (a *absent) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. It returns errAppeared when one of the
// namespaces can be read.
func (a *absent) Start(ctx context.Context) error {
	if len(a.namespaces) == 0 {
		return nil
	}
	ticker := time.NewTicker(a.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		there := func(namespace string) bool { return a.ask(ctx, namespace) == nil }
		if at := slices.IndexFunc(a.namespaces, there); at >= 0 {
			a.log.Info("starting anew: the Agents of a namespace can be read", "namespace", a.namespaces[at])
			return errAppeared
		}
	}
}
