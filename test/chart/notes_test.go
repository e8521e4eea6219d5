// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
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

// TestNotesNamePinnedDigests checks the same for digests. The chart of a release lists the digests of its images.
func TestNotesNamePinnedDigests(t *testing.T) {
	own, other := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(root+"/"+chartDir)); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(dir+"/Chart.yaml", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString("\n  artifacthub.io/images: |\n    - name: manager\n      image: example/manager@" + own + "\n")
	if err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	for digest, want := range map[string]bool{own: false, other: true} {
		out, err := tool("helm", "install", release, dir, "--namespace", namespace, "--dry-run=client", "--set", "image.digest="+digest)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(out), "\n  image.digest: "+digest+"\n"); got != want {
			t.Errorf("digest %s: the notes name it: %t, want %t", digest, got, want)
		}
		if got := strings.Contains(string(out), "WARNING: your values pin images"); got != want {
			t.Errorf("digest %s: the notes warn: %t, want %t", digest, got, want)
		}
	}
}
