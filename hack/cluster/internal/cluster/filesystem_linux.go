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

// unmountNoFollow is UMOUNT_NOFOLLOW, which package syscall lacks. A pod may have replaced a mount point by a
// symbolic link.
const unmountNoFollow = 0x8

// snapshotter returns the containerd snapshotter for a state directory. It returns "native" if the directory is on
// an overlay, as in a container: the snapshotter "overlayfs" cannot mount an overlay on an overlay.
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

// unmount unmounts lazily, because a process that was just killed may still use the mount.
func unmount(point string) error {
	err := syscall.Unmount(point, syscall.MNT_DETACH|unmountNoFollow)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOENT) {
		return nil // the mount point no longer exists
	}
	return err
}
