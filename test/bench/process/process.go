// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process starts the servers of a benchmark or of the stream checker,
// each in a process of its own, tells what they cost, and ends them in every
// way.
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

// startTimeout bounds the wait for a server that does not come up.
const startTimeout = 10 * time.Second

// Process is a server that listens.
type Process struct {
	// Address is where.
	Address string
	// Started is when its program was.
	Started time.Time

	command *exec.Cmd
	done    chan struct{}
	stderr  tail
}

// Usage is CPU time of the whole machine, and of this process with those that
// it has started and stopped.
type Usage struct {
	Machine, Own time.Duration
	// Stolen is what the machine did not get from the one that it runs on.
	Stolen time.Duration
}

// Others is what was used since then by what is no part of this program.
func (u Usage) Others(then Usage) time.Duration {
	// Time that is stolen from a program counts as its own, on some kernels.
	return max(0, u.Machine-then.Machine-(u.Own-then.Own), u.Stolen-then.Stolen)
}

// Start runs a program with --listen and the other arguments, until Stop.
func Start(ctx context.Context, program string, arguments ...string) (*Process, error) {
	address, err := freeport.Find(ctx)
	if err != nil {
		return nil, err
	}
	return Run(ctx, address, program, slices.Concat([]string{"--listen", address}, arguments)...)
}

// Run runs a program whose arguments make it listen at address, until Stop.
func Run(ctx context.Context, address, program string, arguments ...string) (*Process, error) {
	p := &Process{Address: address, done: make(chan struct{})}
	p.command = exec.CommandContext(ctx, program, arguments...)
	p.command.Stderr = &p.stderr
	p.Started = time.Now()
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() { _ = p.command.Wait(); close(p.done) }()
	if err := p.await(ctx); err != nil {
		p.Stop()
		return nil, fmt.Errorf("start %s: %w: %s", program, err, p.Said())
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

// Stop kills the process, and returns when it is gone.
func (p *Process) Stop() {
	_ = p.command.Process.Kill()
	<-p.done
}

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) error { return p.command.Process.Signal(s) }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Said is the last of what the process wrote to stderr, once it has ended.
func (p *Process) Said() string {
	<-p.done
	return strings.TrimSpace(string(p.stderr.text))
}

// End asks the process to end, and kills it if it does not.
func (p *Process) End() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(startTimeout):
		p.Stop()
	}
}

// tail keeps the last of what is written. It is read after the writer's end.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	const limit = 2 << 10
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-limit):]
	return len(p), nil
}
