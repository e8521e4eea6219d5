// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// agentsAtOneAddress is a cache whose Agents all request the same addresses.
type agentsAtOneAddress struct {
	client.Reader
	agents []a2av1alpha1.Agent
}

func (a agentsAtOneAddress) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*a2av1alpha1.AgentList).Items = a.agents
	return nil
}

type noOptionalKinds struct{ OptionalKinds }

func (noOptionalKinds) Reader(schema.GroupResource) client.Reader { return nil }

// A change of one Agent reconciles all Agents at its addresses, so each must read the others quickly.
func TestManyAgentsAtOneAddress(t *testing.T) {
	exposure := &a2av1alpha1.AgentExposure{ParentRefs: []a2av1alpha1.GatewayRef{{Name: "shared"}}}
	for i := range 16 {
		exposure.Hostnames = append(exposure.Hostnames, a2av1alpha1.Hostname(fmt.Sprintf("%d.example.com", i)))
	}
	var cache agentsAtOneAddress
	for i := range 10_000 {
		cache.agents = append(cache.agents, a2av1alpha1.Agent{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprintf("echo-%d", i)}, Spec: a2av1alpha1.AgentSpec{Exposure: exposure},
		})
	}
	begin := time.Now()
	found, err := New(Config{Reader: cache, Optional: noOptionalKinds{}}).competitors(t.Context(), &cache.agents[0])
	if err != nil || len(found) != len(cache.agents)-1 {
		t.Fatalf("competitors() returned %d Agents, %v", len(found), err)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("competitors() of %d Agents took %s", len(cache.agents), took)
	}
}
