// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package binaries builds the programs of the cluster from Go modules, and rebuilds only those whose inputs
// changed.
package binaries

import (
	"slices"
	"strings"
)

// kubernetesVersion is the version in kubernetes/go.mod, which the binaries report.
const kubernetesVersion = "v1.37.2"

// Binary is a program and its module.
type Binary struct {
	Name string
	// Module is the directory of the module, relative to the repository.
	Module string
	// Package is the package to build; a path that starts with a dot is code of this repository.
	Package string
	// Flags are linker flags in addition to the flags of every binary.
	Flags []string
}

// Catalogue lists all programs in build order. The programs that envtest needs are first.
var Catalogue = []Binary{
	kubernetes("etcd", "go.etcd.io/etcd/server/v3"),
	kubernetes("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
	kubernetes("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
	kubernetes("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
	kubernetes("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
	kubernetes("kubelet", "k8s.io/kubernetes/cmd/kubelet"),
	kubernetes("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"),
	{Name: "coredns", Module: "hack/cluster/coredns", Package: "."},
	{Name: "pause", Module: "hack/cluster", Package: "./pause"},
}

// Names returns the names in the catalogue.
func Names() []string {
	var names []string
	for _, b := range Catalogue {
		names = append(names, b.Name)
	}
	return names
}

// lookup returns the binaries of the given names in the order of the catalogue; no names mean all.
func lookup(names []string) (found []Binary, unknown []string) {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			unknown = append(unknown, name)
		}
	}
	for _, b := range Catalogue {
		if len(names) == 0 || slices.Contains(names, b.Name) {
			found = append(found, b)
		}
	}
	return found, unknown
}

func kubernetes(name, pkg string) Binary {
	return Binary{Name: name, Module: "hack/cluster/kubernetes", Package: pkg, Flags: versionFlags(kubernetesVersion)}
}

// versionFlags returns the linker flags by which a program of Kubernetes reports a version, such as v1.37.2.
func versionFlags(kubernetes string) []string {
	const version = "k8s.io/component-base/version."
	return []string{
		"-X " + version + "gitVersion=" + kubernetes,
		"-X " + version + "gitMajor=1",
		"-X " + version + "gitMinor=" + strings.Split(kubernetes, ".")[1],
		"-X " + version + "gitTreeState=clean",
		// Placeholders: the source code of a module does not contain the commit and the date. The program must be able to
		// parse both values.
		"-X " + version + "gitCommit=0000000000000000000000000000000000000000",
		"-X " + version + "buildDate=2026-01-01T00:00:00Z",
	}
}
