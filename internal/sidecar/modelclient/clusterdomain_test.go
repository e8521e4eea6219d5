// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelclient

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestServicesHaveTheDomainOfTheCluster checks which name the guard of a model server or an MCP server looks up. No
// resolver knows the name.
func TestServicesHaveTheDomainOfTheCluster(t *testing.T) {
	for domain, want := range map[string]string{"corp.invalid": "models.team.svc.corp.invalid.", "": "models.team.svc.cluster.local."} {
		guard, err := (&Server{}).guard("spec.model.url", "http://models.team.svc/v1", domain, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://models.team.svc/v1/models", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := guard.RoundTrip(r)
		if err == nil {
			_ = response.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("domain %q: error = %v, want one that names %s", domain, err, want)
		}
	}
}
