// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// newInformer lists Agents and AgentSkills, and has all other kinds streamed.
//
// What is streamed never stands in memory as a whole, which is what it takes
// for kinds that are watched whole and of which little is kept: anybody may
// write ConfigMaps by the hundred megabytes. But it comes as events, and those of
// the operator's own kinds, which come in JSON, are scanned twice as often as in
// a list. Of these everything is kept.
func newInformer(source toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	switch kind.(type) {
	case *a2av1alpha1.Agent, *a2av1alpha1.AgentSkill:
		source = listed(source)
	default:
	}
	return toolscache.NewSharedIndexInformer(source, kind, resync, indexers)
}

// listed has an informer list what there is, and what is there at that moment:
// left alone it begins with what the API server happens to remember, which may
// be older than what this operator has seen before it was started again.
//
// It asks for no pages. The API server has the first one in its own cache, and
// reads the others from etcd, which costs it more than twice as much.
func listed(source toolscache.ListerWatcher) toolscache.ListerWatcher {
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
	}, unstreamed{})
}

// unstreamed tells a reflector not to ask for a stream.
type unstreamed struct{}

// IsWatchListSemanticsUnSupported is named by client-go.
func (unstreamed) IsWatchListSemanticsUnSupported() bool { return true }
