// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestVersionEqualsGoMod(t *testing.T) {
	content, err := os.ReadFile("../../kubernetes/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), "k8s.io/kubernetes "+kubernetesVersion) {
		t.Errorf("kubernetes/go.mod does not require k8s.io/kubernetes %s, which the binaries claim to be", kubernetesVersion)
	}
}

// TestModulesSharePackages compares the versions of the modules that several builds use. A package of the same version is compiled
// once: CoreDNS shares all packages with Kubernetes, and the product those of k8s.io, which are most of them.
func TestModulesSharePackages(t *testing.T) {
	kubernetes := versions(t, "../../kubernetes/go.mod")
	for module, version := range versions(t, "../../coredns/go.mod") {
		if want, shared := kubernetes[module]; shared && version != want {
			t.Errorf("coredns/go.mod has %s %s, and kubernetes/go.mod %s: CoreDNS compiles the packages again", module, version, want)
		}
	}
	for module, version := range versions(t, "../../../../go.mod") {
		if want, shared := kubernetes[module]; shared && strings.HasPrefix(module, "k8s.io/") && version != want {
			t.Errorf("go.mod has %s %s, and kubernetes/go.mod %s: the product compiles the packages again", module, version, want)
		}
	}
}

// versions returns the versions of the modules that a go.mod requires, after its replacements.
func versions(t *testing.T, name string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(content)) {
		switch f := strings.Fields(line); {
		case len(f) == 4 && f[1] == "=>":
			found[f[0]] = f[3] // a replacement
		case len(f) >= 2 && strings.HasPrefix(f[1], "v"):
			found[f[0]] = f[1]
		}
	}
	return found
}

func TestLookup(t *testing.T) {
	found, unknown := lookup([]string{"kube-apiserver", "etcd", "nonsense"})
	var names []string
	for _, b := range found {
		names = append(names, b.Name)
	}
	if !slices.Equal(names, []string{"etcd", "kube-apiserver"}) || !slices.Equal(unknown, []string{"nonsense"}) {
		t.Errorf("lookup = %v, %v", names, unknown)
	}
	if all, _ := lookup(nil); len(all) != len(Catalogue) {
		t.Errorf("lookup of nothing = %d binaries, want all", len(all))
	}
}

func TestStampChangesWithItsInputs(t *testing.T) {
	root := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module m\n")
	write("go.sum", "")
	write("main.go", "package main\n")
	stamp := func(b Binary, compiler string) string {
		t.Helper()
		s, err := b.stamp(root, compiler)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ours := Binary{Name: "x", Package: "."}
	first := stamp(ours, "go1.26")
	if stamp(ours, "go1.26") != first {
		t.Error("the stamp of the same inputs differs")
	}
	if stamp(ours, "go1.27") == first {
		t.Error("the stamp does not depend on the compiler")
	}
	if stamp(Binary{Name: "x", Package: ".", Flags: []string{"-X a=b"}}, "go1.26") == first {
		t.Error("the stamp does not depend on the flags")
	}
	write("main.go", "package main // changed\n")
	second := stamp(ours, "go1.26")
	if second == first {
		t.Error("the stamp does not depend on our source")
	}
	write("go.sum", "changed\n")
	if stamp(ours, "go1.26") == second {
		t.Error("the stamp does not depend on go.sum")
	}
}

func TestAPIServersOfOtherVersions(t *testing.T) {
	modules, err := filepath.Glob("../../apiserver/*/go.mod")
	if err != nil || len(modules) == 0 {
		t.Fatalf("%d modules, %v", len(modules), err)
	}
	for _, module := range modules {
		minor := filepath.Base(filepath.Dir(module))
		catalogue, _ := lookup([]string{"etcd", "kube-apiserver"})
		if err := (Builder{Root: "../../../..", APIServer: minor}).useAPIServer(catalogue); err != nil {
			t.Error(err)
			continue
		}
		if want := "gitVersion=v" + minor + "."; !strings.Contains(strings.Join(catalogue[1].Flags, " "), want) || filepath.Base(catalogue[1].Module) != minor {
			t.Errorf("kube-apiserver %s is %+v", minor, catalogue[1])
		}
		if catalogue[0].Module != "hack/cluster/kubernetes" {
			t.Errorf("etcd is of %s", catalogue[0].Module)
		}
		if other, _ := lookup([]string{"kube-apiserver"}); other[0].Module != "hack/cluster/kubernetes" {
			t.Errorf("the catalogue has the kube-apiserver of %s", other[0].Module)
		}
	}
	catalogue, _ := lookup(nil)
	if err := (Builder{Root: "../../../..", APIServer: "1.9"}).useAPIServer(catalogue); err == nil || !strings.Contains(err.Error(), "known versions are 1.33") {
		t.Errorf("kube-apiserver 1.9: %v", err)
	}
}
