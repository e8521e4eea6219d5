// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cgroup finds and kills the processes of pods by the control groups that the kubelet created, and
// removes the groups. It needs neither the kubelet nor containerd.
package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/process"
)

// roots match the kubelet's groups in cgroup v1, v2 and hybrid mode.
var roots = []string{"/sys/fs/cgroup/kubepods", "/sys/fs/cgroup/*/kubepods"}

// removalWait bounds the wait until the kernel has emptied a group whose processes were killed.
const removalWait = 10 * time.Second

// killPasses bounds the number of searches for processes. A second search finds the child of a process that forked while
// it was killed.
const killPasses = 5

// KillPods kills every process of every pod.
func KillPods(ctx context.Context) error {
	for range killPasses {
		groups, err := groups()
		if err != nil {
			return err
		}
		members := processes(groups)
		if len(members) == 0 {
			return nil
		}
		for _, member := range members {
			if err := member.Stop(ctx, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// processes returns the running members of groups.
func processes(groups []string) []process.Identity {
	var members []process.Identity
	for _, group := range groups {
		content, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		if err != nil {
			continue
		}
		for text := range strings.FieldsSeq(string(content)) {
			pid, err := strconv.Atoi(text)
			if err != nil {
				continue
			}
			if identity, err := process.Of(pid); err == nil {
				members = append(members, identity)
			}
		}
	}
	return members
}

// RemovePods removes the control groups of the pods, which must have no processes.
func RemovePods(ctx context.Context) error {
	deadline := time.Now().Add(removalWait)
	for {
		remaining, err := groups()
		if err != nil {
			return err
		}
		var problem error
		for _, group := range remaining {
			if err := os.Remove(group); err != nil && !errors.Is(err, fs.ErrNotExist) {
				problem = fmt.Errorf("remove control group: %w", err)
			}
		}
		if problem == nil {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return problem
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// groups returns the groups of the pods, children before their parents.
func groups() ([]string, error) {
	var found []string
	for _, pattern := range roots {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("find control groups: %w", err)
		}
		for _, root := range matches {
			err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
				if err != nil {
					// Groups disappear while containers end.
					return nil //nolint:nilerr // a vanished group needs no removal
				}
				if entry.IsDir() {
					found = append(found, path)
				}
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("walk control groups: %w", err)
			}
		}
	}
	slices.Reverse(found)
	return found, nil
}
