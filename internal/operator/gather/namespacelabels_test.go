// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/cachedlabels"
)

// TestNoSelectorMatchesAMissingNamespace checks an Agent that the operator reads before the Namespace
// is in the cache.
func TestNoSelectorMatchesAMissingNamespace(t *testing.T) {
	agent := &a2av1alpha1.Agent{}
	agent.Namespace = "new"
	agent.Spec.Exposure = &a2av1alpha1.AgentExposure{}
	got, err := (&Gatherer{Reader: fake.NewClientBuilder().Build()}).namespaceLabels(t.Context(), agent)
	if err != nil {
		t.Fatal(err)
	}
	if cachedlabels.Match(labels.Everything(), got) {
		t.Errorf("a selector matches %v", got)
	}
}
