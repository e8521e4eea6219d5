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
	number := 256
	atMost := 20 * time.Second
	if full {
		number = 1500
		atMost = 10 * time.Minute
	}
	manager := startManager(t, c, c.kubeconfig)
	bad := newHostile(t, c)
	good := newTenant(t, c)
	data := []byte(`{"a":"` + strings.Repeat("x", 1200<<10) + `"}`)
	manager.withstands(t, fmt.Sprintf("%d ControllerRevisions of 1.2 MB", number), atMost, func(ctx context.Context) string {
		bad.create(ctx, t, "ControllerRevisions", number, func(i int) client.Object {
			return &appsv1.ControllerRevision{
				ObjectMeta: metav1.ObjectMeta{Namespace: bad.namespace, Name: fmt.Sprintf("revised-%d", i), Labels: names.Labels("revised")},
				Data:       runtime.RawExtension{Raw: data}, Revision: int64(i),
			}
		})
		good.worksDuring(ctx, t, func(ctx context.Context) {
			bad.create(ctx, t, "Agents that ask for a revision", 1, func(int) client.Object {
				agent := newAgent(t, "revised", bad.namespace, "d", "", "")
				if err := unstructured.SetNestedField(agent.Object, int64(1), "spec", "workload", "revision"); err != nil {
					t.Error(err)
				}
				return agent
			})
			time.Sleep(2 * time.Second) // the manager reads them meanwhile
		})
		return fmt.Sprint(bad.created, " ", good)
	})
	good.inTime(t, "with the revisions of another tenant")
}
