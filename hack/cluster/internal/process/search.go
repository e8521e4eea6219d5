// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Marked returns the running processes with a mark.
func Marked(mark string) ([]Identity, error) {
	wanted := []byte(markVariable + "=" + mark)
	return search(func(directory string) bool {
		environment, err := os.ReadFile(filepath.Join(directory, "environ"))
		if err != nil {
			return false
		}
		for variable := range bytes.SplitSeq(environment, []byte{0}) {
			if bytes.Equal(variable, wanted) {
				return true
			}
		}
		return false
	})
}

// Named returns the running processes of a program. The name has at most 15 bytes, because the kernel keeps no
// more.
func Named(name string) ([]Identity, error) {
	return search(func(directory string) bool {
		command, err := os.ReadFile(filepath.Join(directory, "comm"))
		return err == nil && strings.TrimSpace(string(command)) == name
	})
}

// search calls accept with the directory of each process in /proc, and returns the processes that it accepts. It leaves
// out this process, and processes that end during the search.
func search(accept func(directory string) bool) ([]Identity, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []Identity
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		identity, err := Of(pid)
		if err != nil || !accept(filepath.Join("/proc", entry.Name())) || !identity.Alive() {
			continue
		}
		found = append(found, identity)
	}
	return found, nil
}
