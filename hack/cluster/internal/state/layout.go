// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state holds the file layout of a cluster and the record of its changes of the machine. It changes
// nothing outside its directory.
package state

import (
	"fmt"
	"path/filepath"
)

// DefaultDir is the state directory without --state-dir.
const DefaultDir = "/var/lib/a2a-operator-cluster"

// maxSocketPath is the longest path that the kernel accepts for a unix socket (sun_path without its final NUL).
const maxSocketPath = 107

// Dir is the directory that holds everything one cluster writes.
type Dir string

// NewDir returns a Dir for a path that is short enough for the sockets below it.
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

// Path returns a path below the directory.
func (d Dir) Path(elements ...string) string {
	return filepath.Join(append([]string{string(d)}, elements...)...)
}

// Kubeconfig returns the path of the administrator's kubeconfig, which never changes.
func (d Dir) Kubeconfig() string { return d.Path("kubeconfig") }

// PKI returns the path of a certificate or key.
func (d Dir) PKI(name string) string { return d.Path("pki", name) }

// Config returns the path of a rendered configuration file.
func (d Dir) Config(name string) string { return d.Path("config", name) }

// Log returns the path of a component's output.
func (d Dir) Log(component string) string { return d.Path("logs", component+".log") }

// ContainerdSocket returns the path of the socket of the node's containerd.
func (d Dir) ContainerdSocket() string { return d.Path("run", "containerd.sock") }
