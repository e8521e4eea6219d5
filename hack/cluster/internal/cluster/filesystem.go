// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// unmountBelow unmounts everything below a directory, the innermost mounts first.
func unmountBelow(directory string) error {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("read mounts: %w", err)
	}
	for _, point := range mountPoints(string(content), directory) {
		if err := unmount(point); err != nil {
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
