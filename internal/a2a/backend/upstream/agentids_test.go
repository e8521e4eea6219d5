// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"strconv"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// The contexts of one namespace's ServiceAccounts make the sidecar forget no context of another owner.
func TestContextNamesAreDividedAmongOwners(t *testing.T) {
	names := newContextNames()
	names.remember("b", "context of b", "agent's")
	for i := range 2 * maxContexts {
		names.remember(a2a.Owner("system:serviceaccount:team:a"+strconv.Itoa(i%100)), strconv.Itoa(i), "x")
	}
	if n, _ := names.Size(); n != maxContexts || names.agentName("context of b") != "agent's" || names.agentName("0") != "0" {
		t.Errorf("%d contexts are stored, that of b has the name %q", n, names.agentName("context of b"))
	}
}
