// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

// TestRevisionsOfATenant creates ControllerRevisions of 1.2 MB that seem to be those of an Agent, which asks for one of them.
func TestRevisionsOfATenant(t *testing.T) {
	c := startCluster(t)
	number := 64
	limit := int64(ManagerLimit / 2)
	if full {
		number = 1500
		limit = ManagerLimit
	}
	manager := startManagerWithin(t, c, c.kubeconfig, limit, "")
	bad := newHostile(t, c)
	good := newTenant(t, c)
	data := []byte(`{"a":"` + strings.Repeat("x", 1200<<10) + `"}`)
	bad.create(t.Context(), t, "ControllerRevisions", number, func(i int) client.Object {
		return &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: bad.namespace, Name: fmt.Sprintf("revised-%d", i), Labels: names.Labels("revised")},
			Data:       runtime.RawExtension{Raw: data}, Revision: int64(i),
		}
	})
	manager.withstands(t, fmt.Sprintf("an Agent that asks for one of %d ControllerRevisions of 1.2 MB", number), time.Minute, func(ctx context.Context) string {
		good.worksDuring(ctx, t, func(ctx context.Context) {
			bad.create(ctx, t, "Agents that ask for a revision", 1, func(int) client.Object {
				agent := newAgent(t, "revised", bad.namespace, "d", "", "")
				if err := unstructured.SetNestedField(agent.Object, int64(1), "spec", "workload", "revision"); err != nil {
					t.Error(err)
				}
				return agent
			})
			revised := newAgent(t, "revised", bad.namespace, "", "", "")
			await(ctx, func() bool {
				err := bad.Get(ctx, client.ObjectKeyFromObject(revised), revised)
				conditions, _, _ := unstructured.NestedSlice(revised.Object, "status", "conditions")
				return err == nil && len(conditions) > 0
			})
		})
		return fmt.Sprint(bad.created, " ", good)
	})
	if bad.created["ControllerRevisions"] != number || bad.created["Agents that ask for a revision"] != 1 {
		t.Errorf("created %v", bad.created)
	}
	good.inTime(t, "with the revisions of another tenant")
}
