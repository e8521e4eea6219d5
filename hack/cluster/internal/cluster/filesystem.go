// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
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

// unmountBelow unmounts everything that is mounted below a directory, the innermost first.
func unmountBelow(directory string) error {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("read mounts: %w", err)
	}
	for _, point := range mountPoints(string(content), directory) {
		// Lazily, because a process that just died may hold it for another moment.
		if err := syscall.Unmount(point, syscall.MNT_DETACH|unmountNoFollow); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("unmount %s: %w", point, err)
		}
	}
	return nil
}

// mountPoints reads the mount points below a directory from mountinfo, the latest mount first.
func mountPoints(mountinfo, directory string) []string {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var points []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if point := unescape.Replace(fields[4]); strings.HasPrefix(point, directory+"/") {
			points = append(points, point)
		}
	}
	slices.Reverse(points)
	return points
}
