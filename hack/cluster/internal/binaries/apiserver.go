// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// apiServers is the directory with the modules of further kube-apiservers that tests run, one for each minor version of
// Kubernetes. The directory of a module has the name of the minor version.
const apiServers = "hack/cluster/apiserver"

// requirement matches the version of Kubernetes in a go.mod.
var requirement = regexp.MustCompile(`(?m)^\s*(?:require )?k8s\.io/kubernetes (v1\.[0-9]+\.[0-9]+)`)

// useAPIServer replaces the kube-apiserver in a catalogue by the kube-apiserver of the minor version b.APIServer. It does
// nothing if b.APIServer is "".
func (b Builder) useAPIServer(catalogue []Binary) error {
	if b.APIServer == "" {
		return nil
	}
	module := filepath.Join(apiServers, b.APIServer)
	text, err := os.ReadFile(filepath.Join(b.Root, module, "go.mod"))
	if err != nil {
		known, _ := filepath.Glob(filepath.Join(b.Root, apiServers, "*", "go.mod"))
		for i := range known {
			known[i] = filepath.Base(filepath.Dir(known[i]))
		}
		return fmt.Errorf("find kube-apiserver %s: there is no module %s; known versions are %s", b.APIServer, module, strings.Join(known, ", "))
	}
	found := requirement.FindSubmatch(text)
	if found == nil || !strings.HasPrefix(string(found[1]), "v"+b.APIServer+".") {
		return fmt.Errorf("find kube-apiserver %s: %s/go.mod requires no version of it", b.APIServer, module)
	}
	for i := range catalogue {
		if catalogue[i].Name == "kube-apiserver" {
			catalogue[i].Module, catalogue[i].Flags = module, versionFlags(string(found[1]))
		}
	}
	return nil
}
