// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// written returns the kinds that users write.
func written() []client.Object {
	return []client.Object{&a2av1alpha1.Agent{}, &a2av1alpha1.AgentSkill{}}
}

// owned returns the kinds that the operator writes.
func owned() []client.Object {
	return []client.Object{
		&appsv1.Deployment{}, &corev1.Service{}, &corev1.ServiceAccount{}, &corev1.ConfigMap{}, &networkingv1.NetworkPolicy{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{}, &corev1.Pod{},
	}
}

// listOf returns an empty list of a kind.
func listOf(kind client.Object) client.ObjectList {
	gvk, err := cluster.GroupVersionKindFor(kind)
	if err != nil {
		panic(err)
	}
	gvk.Kind += "List"
	list, err := cluster.Scheme().New(gvk)
	if err != nil {
		panic(err)
	}
	return list.(client.ObjectList)
}

// createdByKubernetes reports whether an object is one that every namespace has.
func createdByKubernetes(object client.Object) bool {
	return object.GetName() == "default" || object.GetName() == "kube-root-ca.crt"
}

// stateOf returns everything in a namespace as text, without values that differ between two
// equivalent runs: identities, times and counters. It returns an error while a status is not
// current.
func stateOf(ctx context.Context, namespace string) (string, error) {
	return dump(ctx, namespace, true)
}

// dump returns the state with or without statuses.
func dump(ctx context.Context, namespace string, statuses bool) (string, error) {
	var out strings.Builder
	for _, kind := range append(written(), owned()...) {
		list := listOf(kind)
		if err := seen.cache.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return "", fmt.Errorf("list %T: %w", list, err)
		}
		all := objects(list)
		slices.SortFunc(all, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
		for _, object := range all {
			if createdByKubernetes(object) {
				continue
			}
			rendered, err := render(object, statuses)
			if err != nil {
				return "", fmt.Errorf("%T %s: %w", object, object.GetName(), err)
			}
			fmt.Fprintf(&out, "--- %s\n%s", kindOf(object), rendered)
		}
	}
	return out.String(), nil
}

func kindOf(object client.Object) string { return reflect.TypeOf(object).Elem().Name() }

// render returns an object as text.
func render(object client.Object, statuses bool) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	if !statuses {
		delete(fields, "status")
	}
	generation, _ := fields["metadata"].(map[string]any)["generation"].(float64)
	if generation > 0 {
		if err := checkObserved(fields["status"], generation); err != nil {
			return nil, err
		}
	}
	return yaml.Marshal(strip(fields))
}

// checkObserved returns an error if a status, or a condition in it, is about an older generation.
func checkObserved(value any, generation float64) error {
	switch v := value.(type) {
	case map[string]any:
		if observed, ok := v["observedGeneration"].(float64); ok && observed != generation {
			return fmt.Errorf("status is of generation %v, spec of %v", observed, generation)
		}
		for _, member := range v {
			if err := checkObserved(member, generation); err != nil {
				return err
			}
		}
	case []any:
		for _, member := range v {
			if err := checkObserved(member, generation); err != nil {
				return err
			}
		}
	}
	return nil
}

var volatile = map[string]bool{
	"uid": true, "resourceVersion": true, "creationTimestamp": true, "managedFields": true, "generation": true,
	// This digest depends on the UID of the owner.
	a2av1alpha1.AnnotationAppliedDigest: true,
	// A ServiceAccount that a test deletes comes back with another UID.
	a2av1alpha1.AnnotationServiceAccountUID: true,
	"observedGeneration":                    true, "lastTransitionTime": true, "clusterIP": true, "clusterIPs": true, "deletionTimestamp": true,
}

// strip removes volatile fields at every depth.
func strip(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if volatile[name] {
				delete(v, name)
				continue
			}
			v[name] = strip(member)
		}
	case []any:
		for i := range v {
			v[i] = strip(v[i])
		}
	}
	return value
}

func objects(list client.ObjectList) []client.Object {
	var all []client.Object
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		if object, ok := o.(client.Object); ok {
			all = append(all, object)
		}
		return nil
	})
	return all
}
