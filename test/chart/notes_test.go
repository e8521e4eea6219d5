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

// TestNotesNamePinnedImages checks that an upgrade with images that the values pin says which ones stay old.
func TestNotesNamePinnedImages(t *testing.T) {
	for values, want := range map[string][]string{
		"":                                nil,
		"image.tag=v0.0.9":                {"image.tag: v0.0.9"},
		"sidecar.image.tag=v0.0.9":        {"sidecar.image.tag: v0.0.9"},
		"image.tag=a,sidecar.image.tag=b": {"image.tag: a", "sidecar.image.tag: b"},
	} {
		out, err := tool("helm", "install", release, chartDir, "--namespace", namespace, "--dry-run=client", "--set", values)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(out), "WARNING: your values pin images"); got != (want != nil) {
			t.Errorf("%q: the notes warn: %t", values, got)
		}
		for _, line := range want {
			if !strings.Contains(string(out), "\n  "+line+"\n") {
				t.Errorf("%q: the notes lack %q", values, line)
			}
		}
	}
}
