// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// stateOf is everything in a namespace as text, without what differs between
// two runs that come to the same end: identities, times and counters.
func stateOf(ctx context.Context, cluster client.Client, namespace string) (string, error) {
	var out strings.Builder
	lists := append([]client.ObjectList{&a2av1alpha1.AgentList{}, &a2av1alpha1.AgentSkillList{}}, owned()...)
	for _, list := range lists {
		if err := cluster.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return "", fmt.Errorf("list %T: %w", list, err)
		}
		for _, object := range objects(list) {
			if object.GetName() == "default" || object.GetName() == "kube-root-ca.crt" {
				continue
			}
			text, err := json.Marshal(object)
			if err != nil {
				return "", err
			}
			var fields map[string]any
			if err := json.Unmarshal(text, &fields); err != nil {
				return "", err
			}
			if err := settle(fields); err != nil {
				return "", fmt.Errorf("%T %s: %w", object, object.GetName(), err)
			}
			rendered, err := yaml.Marshal(strip(fields))
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&out, "--- %T\n%s", object, rendered)
		}
	}
	return out.String(), nil
}

// settle complains of a status that is about an older spec.
func settle(fields map[string]any) error {
	generation, _ := fields["metadata"].(map[string]any)["generation"].(float64)
	status, _ := fields["status"].(map[string]any)
	if observed, ok := status["observedGeneration"].(float64); ok && observed != generation {
		return fmt.Errorf("status is of generation %v, spec of %v", observed, generation)
	}
	return nil
}

var volatile = map[string]bool{
	"uid": true, "resourceVersion": true, "creationTimestamp": true, "managedFields": true, "generation": true,
	// It covers the identity of the owner.
	a2av1alpha1.AnnotationAppliedDigest: true,
	"observedGeneration":                true, "lastTransitionTime": true, "clusterIP": true, "clusterIPs": true, "deletionTimestamp": true,
}

// strip removes what is volatile, at every depth.
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
