// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLinksNoRequestPath: the manager links the packages that both paths share and no
// other package of the request path, such as the sidecar's HTTP client.
func TestLinksNoRequestPath(t *testing.T) {
	const module = "github.com/a2a-operator/a2a-operator/internal/"
	shared := []string{"a2a", "a2a/auth", "a2a/authz", "a2a/card", "a2a/egress", "a2a/limit"}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go list -deps: %v\n%s", err, out)
	}
	for dependency := range strings.FieldsSeq(string(out)) {
		name, ours := strings.CutPrefix(dependency, module)
		if ours && (name == "a2a" || strings.HasPrefix(name, "a2a/") || strings.HasPrefix(name, "sidecar/")) && !slices.Contains(shared, name) {
			t.Errorf("cmd/manager links %s", dependency)
		}
	}
}
