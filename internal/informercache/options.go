// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package informercache configures the manager's informer caches, so that their memory depends on
// the number of Agents, and little on the number of other objects.
//
// The kinds that Agents own are cached for all owners, because the operator must detect an
// object of another owner that has an Agent's name. Transforms remove the parts that the
// operator does not read, and equal parts of objects are stored once. No cached object may
// therefore be modified.
package informercache

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// Options returns the options of a cache of the given namespaces, or of all namespaces if
// none is given.
func Options(namespaces []string) (cache.Options, error) {
	ofAgents, err := labels.NewRequirement(a2av1alpha1.LabelAgent, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	interning := newInterner()
	bindings := cache.ByObject{Transform: access.Strip}
	owned := cache.ByObject{Transform: interning.after(StripForeign)}
	return cache.Options{
		NewInformer:       newInformer,
		DefaultTransform:  interning.after(cache.TransformStripManagedFields()),
		DefaultNamespaces: Namespaces(namespaces),
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:                     owned,
			&corev1.Service{}:                        owned,
			&corev1.ServiceAccount{}:                 owned,
			&corev1.ConfigMap{}:                      owned,
			&networkingv1.NetworkPolicy{}:            owned,
			&autoscalingv2.HorizontalPodAutoscaler{}: owned,
			&policyv1.PodDisruptionBudget{}:          owned,
			&rbacv1.Role{}:                           bindings,
			&rbacv1.ClusterRole{}:                    bindings,
			&rbacv1.RoleBinding{}:                    bindings,
			&rbacv1.ClusterRoleBinding{}:             bindings,
			&corev1.Namespace{}:                      {Transform: interning.after(stripNamespace)},
			&corev1.Pod{}: {
				Label:     labels.NewSelector().Add(*ofAgents),
				Transform: interning.after(stripPod),
			},
		},
	}, nil
}

// Namespaces returns the configuration of the namespaces of a cache, or nil for all
// namespaces if names is empty.
func Namespaces(names []string) map[string]cache.Config {
	if len(names) == 0 {
		return nil
	}
	configs := map[string]cache.Config{}
	for _, name := range names {
		configs[name] = cache.Config{}
	}
	return configs
}

// newInformer returns an informer that lists Agents and AgentSkills, and streams the initial
// state of all other kinds (WatchList).
//
// A streamed state is never in memory as a whole. This matters for kinds whose objects are cached
// for all owners and mostly stripped: a cluster may have hundreds of megabytes of ConfigMaps.
// Agents and AgentSkills are cached completely, so a stream saves less memory for them. They are
// encoded in JSON, and a stream would decode each object twice as often as a list.
func newInformer(source toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	switch kind.(type) {
	case *a2av1alpha1.Agent, *a2av1alpha1.AgentSkill:
		source = consistentList(source)
	default:
	}
	return toolscache.NewSharedIndexInformer(source, kind, resync, indexers)
}

// consistentList makes an informer begin with a consistent list. By default, an informer begins
// with any state in the API server's watch cache. This state may be older than the state that
// the operator saw before a restart.
//
// The list has no pages: the API server serves only the first page from its cache. Reading the
// other pages from etcd costs the API server more than twice as much.
func consistentList(source toolscache.ListerWatcher) toolscache.ListerWatcher {
	from := toolscache.ToListerWatcherWithContext(source)
	return toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.Limit = 0
			if options.ResourceVersion == "0" {
				options.ResourceVersion = ""
			}
			return from.ListWithContext(ctx, options)
		},
		WatchFuncWithContext: from.WatchWithContext,
	}, noWatchList{})
}

// noWatchList makes a reflector treat its source as one that does not support WatchList.
type noWatchList struct{}

// IsWatchListSemanticsUnSupported implements an interface of client-go.
func (noWatchList) IsWatchListSemanticsUnSupported() bool { return true }
