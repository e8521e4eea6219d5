// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// mostChanges is the largest number of fields of an Agent that get a random value.
const mostChanges = 4

// makeVariety creates Agents whose fields have random values that the CRDs of a version allow.
func makeVariety(t *testing.T, u *user, v version, prefix string, count int) {
	t.Helper()
	s := specSchema(t, filepath.Join(v.crds, agentsCRD))
	all := mutations(s, nil, deep)
	chance := rand.New(rand.NewPCG(uint64(count), uint64(len(prefix))))
	for n := range count {
		made := false
		for range 200 {
			object := randomAgent(t, u, s, all, chance)
			object.SetName(fmt.Sprintf("%s-%03d", prefix, n))
			err := cluster.Create(t.Context(), object, client.FieldValidation("Strict"))
			if err == nil {
				made = true
				break
			}
			// CEL rules that span fields reject some combinations.
			if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
				t.Fatal(err)
			}
		}
		if !made {
			t.Fatalf("no Agent of %s was accepted", v.name)
		}
	}
}

func randomAgent(t *testing.T, u *user, s *schema, all []mutation, chance *rand.Rand) *unstructured.Unstructured {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(u.agent())
	if err != nil {
		t.Fatal(err)
	}
	delete(fields, "status")
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind))
	for range 1 + chance.IntN(mostChanges) {
		m := all[chance.IntN(len(all))]
		if m.invalid || len(m.path) == 0 {
			continue
		}
		object.Object["spec"] = set(s, object.Object["spec"], m.path, runtime.DeepCopyJSONValue(m.value))
	}
	return object
}
