// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLinksNoKubernetes bounds the packages that the sidecar links. A sidecar runs in the pod of every agent, so each
// linked package uses memory in every pod and adds attack surface.
func TestLinksNoKubernetes(t *testing.T) {
	denied := []string{
		"k8s.io/",
		"sigs.k8s.io/",
		"github.com/a2a-operator/a2a-operator/api/",
		"github.com/a2a-operator/a2a-operator/controllers",
		"github.com/a2aproject/", // only for tests
		"google.golang.org/grpc", // binding/grpc serves gRPC by connect (ADR 0026)
		"google.golang.org/genproto",
		"testing",
	}
	// allowed contains the package of the type-checked form of CEL, which the sidecar
	// configuration contains and the interpreter reads (ADR 0019), and the packages of
	// the details of a gRPC status (ADR 0026).
	allowed := []string{
		"google.golang.org/genproto/googleapis/api/expr/v1alpha1", "google.golang.org/genproto/googleapis/rpc/status",
		"google.golang.org/genproto/googleapis/rpc/errdetails",
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go list -deps: %v\n%s", err, out)
	}
	for dependency := range strings.FieldsSeq(string(out)) {
		for _, prefix := range denied {
			if strings.HasPrefix(dependency, prefix) && !slices.Contains(allowed, dependency) {
				t.Errorf("cmd/sidecar links %s", dependency)
			}
		}
	}
}
