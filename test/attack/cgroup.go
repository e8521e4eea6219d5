// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package attack runs the real programs in a memory cgroup of their default limit, and attacks them: by connections, as a
// caller, and as a tenant of the cluster. A well-behaved client must be served all the time, and the kernel must kill no
// program.
//
// The package needs Linux, root and a memory cgroup. Without them, its tests skip and print the reason. All connections are on
// loopback.
package attack

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// ManagerLimit is the memory limit of the manager in charts/a2a-operator/values.yaml, in bytes.
	ManagerLimit = 512 << 20
	// SidecarLimit is the memory limit of the sidecar in these tests, in bytes.
	SidecarLimit = 128 << 20
)

const cgroupRoot = "/sys/fs/cgroup"

// cgroupFiles are the names of the files of a memory cgroup, which differ between the versions of cgroups.
type cgroupFiles struct {
	root                            string
	limit, swap, usage, peak, kills string
	// sockets and socketLimit are the usage of socket buffers and its limit; "" if they count in usage.
	sockets, socketLimit string
	// swapped is the content of swap that turns swap off; "" for the limit itself.
	swapped string
}

var (
	cgroupV1 = cgroupFiles{
		root: cgroupRoot + "/memory", limit: "memory.limit_in_bytes", swap: "memory.memsw.limit_in_bytes", usage: "memory.usage_in_bytes",
		peak: "memory.max_usage_in_bytes", kills: "memory.oom_control",
		sockets: "memory.kmem.tcp.usage_in_bytes", socketLimit: "memory.kmem.tcp.limit_in_bytes",
	}
	cgroupV2 = cgroupFiles{
		root: cgroupRoot, limit: "memory.max", swap: "memory.swap.max", usage: "memory.current",
		peak: "memory.peak", kills: "memory.events", swapped: "0",
	}
)

// Cgroup is a memory cgroup without swap. It is safe for concurrent use.
type Cgroup struct {
	dir   string
	files cgroupFiles
}

var cgroups atomic.Int64

// NewCgroup creates a memory cgroup with a limit in bytes, and removes it when the test ends. It skips the test if the machine
// has no memory cgroup that this process may create.
func NewCgroup(tb testing.TB, limit int64) *Cgroup {
	tb.Helper()
	c := &Cgroup{files: cgroupV2}
	if _, err := os.Stat(filepath.Join(cgroupV1.root, cgroupV1.limit)); err == nil {
		c.files = cgroupV1
	} else if err := enableMemory(); err != nil {
		tb.Skipf("SKIPPED: no memory cgroup: %v", err)
	}
	c.dir = filepath.Join(c.files.root, fmt.Sprintf("a2a-attack-%d-%d", os.Getpid(), cgroups.Add(1)))
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		tb.Skipf("SKIPPED: no memory cgroup: %v", err)
	}
	tb.Cleanup(func() {
		// The kernel removes a cgroup some milliseconds after its last process has ended.
		var err error
		for range 100 {
			if err = os.Remove(c.dir); err == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		tb.Errorf("remove cgroup: %v", err)
	})
	for _, setting := range [][2]string{{c.files.limit}, {c.files.swap, c.files.swapped}, {c.files.socketLimit}} {
		name, value := setting[0], setting[1]
		if name == "" {
			continue
		}
		if value == "" {
			value = strconv.FormatInt(limit, 10)
		}
		// A kernel without swap accounting has no file for swap, and no swap of a cgroup.
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(value), 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
			tb.Fatalf("set limit of cgroup: %v", err)
		}
	}
	return c
}

// enableMemory enables the memory controller for the children of the root of cgroups v2.
func enableMemory() error {
	file := filepath.Join(cgroupV2.root, "cgroup.subtree_control")
	enabled, err := os.ReadFile(file)
	if err != nil || bytes.Contains(enabled, []byte("memory")) {
		return err
	}
	return os.WriteFile(file, []byte("+memory"), 0o600)
}

// Command returns a command that runs a program in the cgroup from its first instruction.
func (c *Cgroup) Command(program string, args ...string) *exec.Cmd {
	script := `echo $$ > "$0" && exec "$@"`
	return exec.Command("/bin/sh", append([]string{"-c", script, filepath.Join(c.dir, "cgroup.procs"), program}, args...)...)
}

// Used returns the memory that the kernel cannot reclaim, in bytes: the usage without the inactive pages of files. The kubelet
// calls it the working set. Used includes the buffers of sockets, as cgroups v2 do.
func (c *Cgroup) Used() int64 {
	return max(0, c.number(c.files.usage)+c.Sockets()-c.stat("memory.stat", "inactive_file"))
}

// Sockets returns the part of Used that the buffers of sockets need, in bytes. It returns 0 for cgroups v2.
func (c *Cgroup) Sockets() int64 { return c.number(c.files.sockets) }

// Peak returns the largest usage so far in bytes, including pages of files. It returns 0 if the kernel does not count it
// (cgroups v2 before Linux 5.19).
func (c *Cgroup) Peak() int64 { return c.number(c.files.peak) }

// number returns the number in a file, 0 if there is none.
func (c *Cgroup) number(file string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(c.read(file)), 10, 64)
	return n
}

// Kills returns how many processes the kernel has killed because the cgroup was out of memory.
func (c *Cgroup) Kills() int64 { return c.stat(c.files.kills, "oom_kill") }

// stat returns the value of a line "name value".
func (c *Cgroup) stat(file, name string) int64 {
	for line := range strings.Lines(c.read(file)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			value, _ := strconv.ParseInt(fields[1], 10, 64)
			return value
		}
	}
	return 0
}

func (c *Cgroup) read(file string) string {
	text, _ := os.ReadFile(filepath.Join(c.dir, file))
	return string(text)
}
