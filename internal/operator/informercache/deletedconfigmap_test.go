// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// liveConfigMap is an API server with at most one ConfigMap. It counts its requests.
type liveConfigMap struct {
	client.Reader
	configMap *corev1.ConfigMap
	failure   error
	requests  int
}

func (l *liveConfigMap) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	l.requests++
	var filter client.ListOptions
	filter.ApplyOptions(options)
	name, _ := filter.FieldSelector.RequiresExactMatch("metadata.name")
	if l.configMap != nil && filter.Namespace == l.configMap.Namespace && name == l.configMap.Name {
		list.(*corev1.ConfigMapList).Items = []corev1.ConfigMap{*l.configMap.DeepCopy()}
	}
	return l.failure
}

// deletedConfigMap returns a ConfigMap that the operator wrote for an Agent and that is being deleted.
func deletedConfigMap(agent *a2av1alpha1.Agent) *corev1.ConfigMap {
	deletion := metav1.Unix(1, 0)
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: agent.Namespace, Name: names.ConfigMap(agent.Name), ResourceVersion: "7",
			DeletionTimestamp: &deletion, Finalizers: []string{"example.com/backup"},
			Annotations:     map[string]string{a2av1alpha1.AnnotationConfigDigest: sidecarconfig.Digest([]byte("{}"))},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind))},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}},
		},
		Data: map[string]string{sidecarconfig.FileName: "{}"},
	}
}

func TestWithData(t *testing.T) {
	t.Parallel()
	agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo", UID: "uid"}}
	changed := func(change func(*corev1.ConfigMap)) *corev1.ConfigMap {
		configMap := deletedConfigMap(agent)
		change(configMap)
		return configMap
	}
	// kept returns the parts of a ConfigMap that the cache keeps of one that is not being deleted.
	kept := func(change func(*corev1.ConfigMap)) *corev1.ConfigMap {
		return changed(func(c *corev1.ConfigMap) {
			c.ManagedFields, c.Finalizers = nil, nil
			change(c)
		})
	}
	whole := kept(func(*corev1.ConfigMap) {})
	for name, test := range map[string]struct {
		// cached is the ConfigMap before the transform of the cache.
		cached, live, want *corev1.ConfigMap
		failure            error
		requests           int
	}{
		"being deleted": {cached: deletedConfigMap(agent), live: deletedConfigMap(agent), want: whole, requests: 1},
		"being deleted, and written since": {
			cached: deletedConfigMap(agent), requests: 1,
			live: changed(func(c *corev1.ConfigMap) { c.ResourceVersion, c.Data[sidecarconfig.FileName] = "8", "new" }),
			want: kept(func(c *corev1.ConfigMap) { c.ResourceVersion, c.Data[sidecarconfig.FileName] = "8", "new" }),
		},
		"being deleted, with data that the operator does not read": {
			cached: deletedConfigMap(agent), requests: 1, want: whole,
			live: changed(func(c *corev1.ConfigMap) {
				c.Data["large"], c.BinaryData = "text", map[string][]byte{"large": {1}}
				c.Data[sidecarconfig.CardFileName] = strings.Repeat("x", sidecarconfig.MaxSize+1)
			}),
		},
		"being deleted, without its data and managed fields": {
			cached:   changed(func(c *corev1.ConfigMap) { c.Data, c.ManagedFields = nil, nil }),
			live:     changed(func(c *corev1.ConfigMap) { c.Data, c.ManagedFields = nil, nil }),
			want:     kept(func(c *corev1.ConfigMap) { c.Data = nil }),
			requests: 1,
		},
		"deleted since": {cached: deletedConfigMap(agent), requests: 1},
		"replaced since by a ConfigMap of another owner": {
			cached: deletedConfigMap(agent), requests: 1,
			live: changed(func(c *corev1.ConfigMap) { c.DeletionTimestamp, c.OwnerReferences = nil, nil }),
			want: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: whole.Name, ResourceVersion: "7"}},
		},
		"not being deleted": {
			cached: changed(func(c *corev1.ConfigMap) { c.DeletionTimestamp = nil }),
			want:   kept(func(c *corev1.ConfigMap) { c.DeletionTimestamp = nil }),
		},
		"of another Agent with the name": {
			cached: changed(func(c *corev1.ConfigMap) { c.OwnerReferences[0].UID = "former" }),
			live:   deletedConfigMap(agent),
			want: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: "team", Name: whole.Name, ResourceVersion: "7", DeletionTimestamp: whole.DeletionTimestamp,
				OwnerReferences: changed(func(c *corev1.ConfigMap) { c.OwnerReferences[0].UID = "former" }).OwnerReferences,
			}},
		},
		"no ConfigMap": {},
		"an API server that fails": {
			cached: deletedConfigMap(agent), live: deletedConfigMap(agent), failure: errors.New("no connection"), requests: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cached := test.cached
			if cached != nil {
				stripped, err := StripForeign(cached.DeepCopy())
				if err != nil {
					t.Fatal(err)
				}
				cached = stripped.(*corev1.ConfigMap)
				if cached.DeletionTimestamp != nil && (cached.Data != nil || cached.Annotations != nil) {
					t.Errorf("the cache keeps %+v of a ConfigMap that is being deleted", cached)
				}
			}
			live := &liveConfigMap{configMap: test.live, failure: test.failure}
			got, err := WithData(t.Context(), live, agent, cached)
			if !errors.Is(err, test.failure) {
				t.Errorf("WithData() error = %v, want %v", err, test.failure)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("WithData() (-want +got):\n%s", diff)
			}
			if live.requests != test.requests {
				t.Errorf("WithData() sent %d requests, want %d", live.requests, test.requests)
			}
		})
	}
}
