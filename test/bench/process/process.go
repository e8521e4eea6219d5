// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process starts the servers of a benchmark or of the stream checker as processes, measures them, and
// ends them by a signal or a kill.
package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/a2a-operator/a2a-operator/test/freeport"
)

const (
	// startTimeout bounds the time until a server listens. It is long, because a busy machine is no failure. If a server
	// exits, the wait ends at once.
	startTimeout = time.Minute
	// endTimeout bounds the time until a server ends after SIGTERM.
	endTimeout = 10 * time.Second
)

// Process is a server that listens.
type Process struct {
	// Address is the address at which the process listens.
	Address string
	// Started is the start time of the program.
	Started time.Time

	command *exec.Cmd
	done    chan struct{}
	stderr  tail
}

// Usage contains the CPU time of the machine, and the CPU time of this process with its ended children.
type Usage struct {
	Machine, Own time.Duration
	// Stolen is the time that the hypervisor did not give to this machine.
	Stolen time.Duration
}

// Others returns the CPU time that other programs have used since an earlier Usage.
func (u Usage) Others(then Usage) time.Duration {
	// Some kernels add stolen time to the CPU time of a program.
	return max(0, u.Machine-then.Machine-(u.Own-then.Own), u.Stolen-then.Stolen)
}

// Start starts a program with --listen and other arguments, and waits until it listens.
func Start(ctx context.Context, program string, arguments ...string) (*Process, error) {
	address, err := freeport.Find(ctx)
	if err != nil {
		return nil, err
	}
	return Run(ctx, address, program, slices.Concat([]string{"--listen", address}, arguments)...)
}

// Run starts a program whose arguments make it listen at address, and waits until it listens.
func Run(ctx context.Context, address, program string, arguments ...string) (*Process, error) {
	p := &Process{Address: address, done: make(chan struct{})}
	p.command = exec.CommandContext(ctx, program, arguments...)
	p.command.Stderr = &p.stderr
	// The budgets of the programs follow their memory limits. The rows with thousands of streams or watches need more
	// than a default limit has room for. A sidecar uses 4 GiB at most.
	p.command.Env = append(os.Environ(), "GOMEMLIMIT=16GiB")
	p.Started = time.Now()
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() { _ = p.command.Wait(); close(p.done) }()
	if err := p.await(ctx); err != nil {
		p.Stop()
		return nil, fmt.Errorf("start %s: %w: %s", program, err, p.Stderr())
	}
	return p, nil
}

func (p *Process) await(ctx context.Context) error {
	var dialer net.Dialer
	for time.Since(p.Started) < startTimeout {
		conn, err := dialer.DialContext(ctx, "tcp", p.Address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-p.done:
			return errors.New("it ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(250 * time.Microsecond):
		}
	}
	return fmt.Errorf("not listening on %s after %v", p.Address, startTimeout)
}

// Stop kills the process and waits for its end.
func (p *Process) Stop() {
	_ = p.command.Process.Kill()
	<-p.done
}

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) error { return p.command.Process.Signal(s) }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended returns how the process ended, and the end of its standard error. It returns false while the process runs.
func (p *Process) Ended() (string, bool) {
	select {
	case <-p.done:
		return strings.TrimSpace(p.command.ProcessState.String() + ": " + p.Stderr()), true
	default:
		return "", false
	}
}

// Stderr returns the end of the process's standard error, after the process has ended.
func (p *Process) Stderr() string {
	<-p.done
	return strings.TrimSpace(string(p.stderr.text))
}

// End sends SIGTERM, and kills the process after endTimeout.
func (p *Process) End() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(endTimeout):
		p.Stop()
	}
}

// tail is a writer that stores the end of the written text. It may be read only after the last write.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	const limit = 64 << 10 // large, because a crash prints the stacks of all goroutines after its reason
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-limit):]
	return len(p), nil
}
