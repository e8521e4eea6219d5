// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// overlayMagic is the type of an overlay filesystem in statfs.
const overlayMagic = 0x794c7630

// unmountNoFollow is UMOUNT_NOFOLLOW, which package syscall lacks: a pod may have put a symbolic link where a mount was.
const unmountNoFollow = 0x8

// snapshotter chooses how image layers are stacked. An overlay cannot lie on another overlay, which is where the state
// directory is when the machine is itself a container.
func snapshotter(dir state.Dir) (string, error) {
	var info syscall.Statfs_t
	if err := syscall.Statfs(dir.Path(), &info); err != nil {
		return "", fmt.Errorf("inspect filesystem of %s: %w", dir, err)
	}
	if info.Type == overlayMagic {
		return "native", nil
	}
	return "overlayfs", nil
}

// unmount takes a mount away lazily, because a process that just died may hold it for another moment.
func unmount(point string) error {
	err := syscall.Unmount(point, syscall.MNT_DETACH|unmountNoFollow)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOENT) {
		return nil // it is gone
	}
	return err
}
