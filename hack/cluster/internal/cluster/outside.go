// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// kubeletPaths are the paths outside the state directory that only the kubelet writes, and that are not
// configurable.
var kubeletPaths = []string{"/var/lib/kubelet", "/var/log/containers", "/var/log/pods", "/usr/libexec/kubernetes"}

// sharedPaths are paths to which containerd and the CNI plugins of the cluster write. Other programs of the machine may
// write to them, too.
var sharedPaths = []string{"/run/containerd", "/var/lib/cni", "/opt/containerd", "/opt/cni", "/etc/cni", "/run/runc", "/run/cni", "/run/mount"}

// absentPaths returns the paths outside the state directory that do not exist yet.
func absentPaths() []string {
	var absent []string
	for _, path := range slices.Concat(kubeletPaths, sharedPaths) {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			absent = append(absent, path)
		}
	}
	return absent
}

// cleanOutside removes the files that the components left outside the state directory. absent lists the paths that did
// not exist before the cluster was created.
func cleanOutside(dir state.Dir, absent []string) error {
	if err := removeLogLinks(dir); err != nil {
		return err
	}
	if err := removeNetworkResults(dir); err != nil {
		return err
	}
	if err := removeDeadSockets("/run/containerd/s"); err != nil {
		return err
	}
	for _, path := range absent {
		if slices.Contains(kubeletPaths, path) {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("remove %s: %w", path, err)
			}
			continue
		}
		if err := removeEmpty(path); err != nil {
			return err
		}
	}
	return nil
}

// removeLogLinks removes the links in /var/log/containers that point into the state directory.
func removeLogLinks(dir state.Dir) error {
	const directory = "/var/log/containers"
	entries, err := os.ReadDir(directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", directory, err)
	}
	for _, entry := range entries {
		link := filepath.Join(directory, entry.Name())
		target, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(target, string(dir)+"/") {
			continue
		}
		if err := os.Remove(link); err != nil {
			return fmt.Errorf("remove log link: %w", err)
		}
	}
	return nil
}

// removeNetworkResults removes the CNI results of the cluster's pods. It recognizes them by the network namespace that they
// name: the namespaces of the cluster are in the state directory.
func removeNetworkResults(dir state.Dir) error {
	results, err := filepath.Glob("/var/lib/cni/results/*")
	if err != nil {
		return fmt.Errorf("find results of CNI: %w", err)
	}
	for _, result := range results {
		content, err := os.ReadFile(result)
		if err != nil || !bytes.Contains(content, []byte(string(dir)+"/")) {
			continue
		}
		if err := os.Remove(result); err != nil {
			return fmt.Errorf("remove result of CNI: %w", err)
		}
	}
	return nil
}

// removeDeadSockets removes the sockets of killed shims, which have no listener.
func removeDeadSockets(directory string) error {
	entries, err := os.ReadDir(directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", directory, err)
	}
	for _, entry := range entries {
		path := filepath.Join(directory, entry.Name())
		connection, err := net.Dial("unix", path)
		if err == nil {
			_ = connection.Close()
			continue
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove socket: %w", err)
		}
	}
	return nil
}

// removeEmpty removes a directory tree, except for directories with files.
func removeEmpty(root string) error {
	var directories []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			directories = append(directories, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("walk %s: %w", root, err)
	}
	slices.Reverse(directories)
	for _, directory := range directories {
		if err := os.Remove(directory); err != nil && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EBUSY) {
			return fmt.Errorf("remove directory: %w", err)
		}
	}
	return nil
}
