// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/programs"
)

// Program is a program of this repository that runs in a memory cgroup. It does not start again after it has ended, so a test
// sees each end. It is safe for concurrent use.
type Program struct {
	*Cgroup
	// PID is the id of the process.
	PID int
	// Output is the log of the program so far.
	Output *programs.Output
	// Exited is closed when the process has ended.
	Exited <-chan struct{}
	state  func() string
}

// Start starts a program in a memory cgroup with a limit in bytes. command is the path of the program's package, which
// programs.Built has built. When the test ends, Start kills the program, and logs the end of its output if the test failed.
func Start(tb testing.TB, limit int64, command string, args ...string) *Program {
	tb.Helper()
	cgroup := NewCgroup(tb, limit)
	process := cgroup.Command(programs.Path(command), args...)
	output := &programs.Output{}
	process.Stdout, process.Stderr = output, output
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		tb.Fatalf("start %s: %v", command, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = process.Wait()
		close(exited)
	}()
	p := &Program{Cgroup: cgroup, PID: process.Process.Pid, Output: output, Exited: exited}
	p.state = func() string { return process.ProcessState.String() }
	tb.Cleanup(func() {
		_ = process.Process.Kill()
		<-exited
		if tb.Failed() {
			text := output.String()
			tb.Logf("output of %s:\n%s", command, text[max(0, len(text)-2<<10):])
		}
	})
	return p
}

// Failure returns why the program has ended or was killed, or "" if it runs.
func (p *Program) Failure() string {
	select {
	case <-p.Exited:
		return fmt.Sprintf("the program ended: %s, %d out-of-memory kills", p.state(), p.Kills())
	default:
		return ""
	}
}

// Terminate sends SIGTERM, and returns how long the program took to end. It fails the test if the program does not end
// within a time.
func (p *Program) Terminate(tb testing.TB, within time.Duration) time.Duration {
	tb.Helper()
	began := time.Now()
	if err := syscall.Kill(p.PID, syscall.SIGTERM); err != nil {
		tb.Errorf("SIGTERM: %v; %s", err, p.Failure())
	}
	select {
	case <-p.Exited:
	case <-time.After(within):
		tb.Errorf("the program runs %v after SIGTERM", within)
	}
	return time.Since(began)
}
