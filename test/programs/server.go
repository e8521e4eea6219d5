// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"context"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Output contains the standard output and standard error of a process so far. It is
// safe for concurrent use.
type Output struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends to the output.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns the output so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Serve starts a server and returns its output once the server accepts connections
// at an address. It fails the test if the server exits first, or does not listen
// within a time. When the test ends, Serve kills the server and the processes that
// it started; it logs their output if the test failed.
func Serve(tb testing.TB, command *exec.Cmd, address string, within time.Duration) *Output {
	tb.Helper()
	output := &Output{}
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		tb.Fatalf("start %s: %v", command.Path, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(exited)
	}()
	tb.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		<-exited
		if tb.Failed() {
			tb.Logf("output of %s:\n%s", command.Args, output.String())
		}
	})
	ctx, cancel := context.WithTimeout(tb.Context(), within)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = connection.Close()
			return output
		}
		select {
		case <-exited:
			tb.Fatalf("%s exited before it listened", command.Args)
		case <-ctx.Done():
			tb.Fatalf("%s does not listen at %s after %s", command.Args, address, within)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
