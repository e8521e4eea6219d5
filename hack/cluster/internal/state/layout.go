// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state knows where a cluster keeps its files and what it has started and changed on this machine. It touches
// nothing outside its own directory.
package state

import (
	"fmt"
	"path/filepath"
)

// DefaultDir is where a cluster lives unless the command line names another place.
const DefaultDir = "/var/lib/a2a-operator-cluster"

// maxSocketPath is the longest path that the kernel accepts for a unix socket (sun_path without its final NUL).
const maxSocketPath = 107

// Dir is the directory that holds everything one cluster writes.
type Dir string

// NewDir makes a Dir of an absolute path that is short enough for the sockets below it.
func NewDir(path string) (Dir, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("resolve state directory %s: %w", path, err)
	}
	dir := Dir(absolute)
	if absolute == "/" {
		return "", fmt.Errorf("state directory %s is the root directory: choose one of its own", path)
	}
	if longest := dir.ContainerdSocket() + ".ttrpc"; len(longest) > maxSocketPath {
		return "", fmt.Errorf("state directory %s is too long: its socket path would be %d bytes, at most %d work", path, len(longest), maxSocketPath)
	}
	return dir, nil
}

// Path joins elements below the directory.
func (d Dir) Path(elements ...string) string {
	return filepath.Join(append([]string{string(d)}, elements...)...)
}

// Kubeconfig is the administrator's kubeconfig; the path never changes while the cluster lives.
func (d Dir) Kubeconfig() string { return d.Path("kubeconfig") }

// PKI is a file of the cluster's certificates and keys.
func (d Dir) PKI(name string) string { return d.Path("pki", name) }

// Config is a rendered configuration file.
func (d Dir) Config(name string) string { return d.Path("config", name) }

// Log is the output of one component.
func (d Dir) Log(component string) string { return d.Path("logs", component+".log") }

// ContainerdSocket is where the node's own containerd listens.
func (d Dir) ContainerdSocket() string { return d.Path("run", "containerd.sock") }
