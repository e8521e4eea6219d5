// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// newInformer returns an informer that lists Agents and AgentSkills, and streams the initial
// state of all other kinds (WatchList).
//
// A streamed state is never in memory as a whole. This matters for kinds whose objects are
// cached for all owners and mostly stripped: a cluster may have hundreds of megabytes of
// ConfigMaps. The operator's own kinds are cached completely. They are encoded in JSON, and a
// stream would decode each object twice as often as a list.
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
