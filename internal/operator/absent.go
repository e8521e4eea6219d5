// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// askAgainAfter is how often absent namespaces are asked for, and up to twice
// that: replicas that find one do not end at the same time.
const askAgainAfter = 5 * time.Second

// absent are namespaces that are to be watched and may not be read. The rights in
// a namespace are gone with it, and a cache that may not read one of its
// namespaces is never filled: a manager leaves out what is not there when it
// starts, so that it serves the others.
type absent struct {
	reader     client.Reader
	namespaces []string
	log        logr.Logger
}

// newAbsent returns those of the settings' namespaces that are absent, and the
// settings without them.
func newAbsent(ctx context.Context, cluster *rest.Config, settings Config, log logr.Logger) (*absent, Config, error) {
	a := &absent{log: log}
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

// ask reads as little as there is to read of each kind that is watched in a
// namespace: a Role of another release may have some of them.
func (a *absent) ask(ctx context.Context, namespace string) error {
	for _, list := range []client.ObjectList{
		&a2av1alpha1.AgentList{}, &a2av1alpha1.AgentSkillList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{},
		&corev1.ServiceAccountList{}, &corev1.ConfigMapList{}, &networkingv1.NetworkPolicyList{}, &corev1.PodList{},
		&autoscalingv2.HorizontalPodAutoscalerList{}, &policyv1.PodDisruptionBudgetList{},
	} {
		if err := a.reader.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil {
			return err
		}
	}
	return nil
}

var (
	_ manager.Runnable               = (*absent)(nil)
	_ manager.LeaderElectionRunnable = (*absent)(nil)
)

// NeedLeaderElection implements manager.LeaderElectionRunnable: the registry of
// every replica tells of the Agents.
func (a *absent) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. It ends the manager when some of the
// namespaces can be read and no further one has come since: a process is
// started anew by who runs it, and one that goes on would have to undo all that
// a manager leaves in it.
func (a *absent) Start(ctx context.Context) error {
	if len(a.namespaces) == 0 {
		return nil
	}
	var before []string
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait.Jitter(askAgainAfter, 1)):
		}
		var there []string
		for _, namespace := range a.namespaces {
			if a.ask(ctx, namespace) == nil {
				there = append(there, namespace)
			}
		}
		if len(there) > 0 && slices.Equal(there, before) {
			return fmt.Errorf("start anew: namespaces can be read now that could not: %s", strings.Join(there, ", "))
		}
		before = there
	}
}
