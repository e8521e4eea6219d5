// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"
)

func TestNotesNameAnotherNamespaceForThePlugin(t *testing.T) {
	const setting = "export A2ACLI_REGISTRY_NAMESPACE="
	for ns, want := range map[string]bool{namespace: false, "team": true} {
		out, err := tool("helm", "install", release, chartDir, "--namespace", ns, "--dry-run=client")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(out), setting+ns); got != want || !want && strings.Contains(string(out), setting) {
			t.Errorf("namespace %s: the notes have %q: %t, want %t", ns, setting+ns, got, want)
		}
	}
}
