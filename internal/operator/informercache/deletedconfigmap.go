// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
)

// liveReadTimeout is the timeout of a read of a ConfigMap from the API server. The registry waits
// for these reads when it reads a batch of Agents, and shows no change of any Agent before they
// have ended.
const liveReadTimeout = 5 * time.Second

// LacksData reports whether a cached ConfigMap of an Agent has no data because the ConfigMap is
// being deleted. A finalizer may keep such a ConfigMap for any time.
//
// The cache does not keep the data of any such ConfigMap, because their number has no bound.
// Everyone who may create ConfigMaps may create some in the name of Agents that do not exist,
// with the managed fields and the digest of the operator and with a finalizer. The garbage
// collector marks these ConfigMaps for deletion, but the finalizer keeps them. StripForeign
// cannot distinguish them from the ConfigMaps of existing Agents.
func LacksData(cached *corev1.ConfigMap) bool {
	return cached != nil && cached.DeletionTimestamp != nil && cached.Data == nil
}

// WithData returns the cached ConfigMap of an existing Agent with its data. If LacksData(cached) is
// true and the Agent controls the ConfigMap, WithData reads the ConfigMap from the API server, within
// liveReadTimeout. The result is nil if cached is nil or the API server does not have the ConfigMap
// any more. It has no data if the operator did not write the ConfigMap that the API server has.
//
// live reads from the API server. WithData lists, because the operator has no right to get
// ConfigMaps.
func WithData(ctx context.Context, live client.Reader, agent metav1.Object, cached *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	if !LacksData(cached) || !metav1.IsControlledBy(cached, agent) {
		return cached, nil
	}
	ctx, cancel := context.WithTimeout(ctx, liveReadTimeout)
	defer cancel()
	var kept *corev1.ConfigMap
	err := pagedlist.Each(ctx, live, &corev1.ConfigMapList{}, 1, func(o runtime.Object) {
		found := o.(*corev1.ConfigMap)
		if !maybeByOperator(found) {
			kept = &corev1.ConfigMap{ObjectMeta: foreignIdentity(found.ObjectMeta)}
			return
		}
		kept = owned(found).(*corev1.ConfigMap)
		kept.DeletionTimestamp = found.DeletionTimestamp
	}, client.InNamespace(cached.Namespace), client.MatchingFields{metav1.ObjectNameField: cached.Name})
	if err != nil {
		return nil, fmt.Errorf("list ConfigMap %s/%s: %w", cached.Namespace, cached.Name, err)
	}
	return kept, nil
}
