// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// markVariable is an environment variable of every daemon, which its children inherit. It identifies a daemon
// whose id was not recorded, and a container shim that outlived its parent.
const markVariable = "A2A_OPERATOR_CLUSTER"

// searchPath is the PATH of the daemons. The PATH of the caller may lack the directories of iptables and
// runc.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Daemon is a program that outlives the caller.
type Daemon struct {
	Path string
	Args []string
	// Log is the file to which the output of the daemon is appended.
	Log string
	// Mark identifies the cluster to which the daemon belongs; see Marked.
	Mark string
}

// Start starts the daemon in a session of its own, so that it gets no signal of the caller's terminal or group.
func Start(daemon Daemon) (Identity, error) {
	name := filepath.Base(daemon.Path)
	if err := os.MkdirAll(filepath.Dir(daemon.Log), 0o755); err != nil {
		return Identity{}, fmt.Errorf("create log directory: %w", err)
	}
	log, err := os.OpenFile(daemon.Log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return Identity{}, fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(daemon.Path, daemon.Args...)
	command.Dir = "/"
	// The daemon inherits no other variable: a proxy or a Kubernetes setting of the caller would change the
	// cluster.
	command.Env = []string{"PATH=" + searchPath, "HOME=/root", markVariable + "=" + daemon.Mark}
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return Identity{}, fmt.Errorf("start %s: %w", name, err)
	}
	identity, err := Of(command.Process.Pid)
	if err != nil {
		_ = command.Wait()
		return Identity{}, fmt.Errorf("start %s: it ended at once, see %s", name, daemon.Log)
	}
	if err := command.Process.Release(); err != nil {
		return Identity{}, fmt.Errorf("release %s: %w", name, err)
	}
	return identity, nil
}
