// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis/redistest"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

// shared starts a store for several sidecars, which writes down what it takes
// before it says so.
func (f *fleet) shared(ctx context.Context, dir string) error {
	program, err := redistest.Program()
	if err != nil {
		return err
	}
	data, err := os.MkdirTemp(dir, "redis")
	if err != nil {
		return err
	}
	address, err := freeport.Find(ctx)
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(address)
	f.redis = &server{address: address}
	f.redis.again = func(ctx context.Context) (*process.Process, error) {
		p, err := process.Run(ctx, address, program, append([]string{
			"--port", port, "--bind", "127.0.0.1", "--dir", data, "--save", "", "--logfile", data + "/log",
		}, redistest.Durable...)...)
		if err != nil {
			return nil, err
		}
		return p, answers(ctx, address)
	}
	f.redis.process, err = f.redis.again(ctx)
	return err
}

// answers waits for a store that has read what it wrote down.
func answers(ctx context.Context, address string) error {
	const patience = 20 * time.Second
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(5 * time.Millisecond) {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			continue
		}
		answer := make([]byte, 5)
		_, _ = conn.Write([]byte("PING\r\n"))
		_, _ = conn.Read(answer)
		_ = conn.Close()
		if strings.HasPrefix(string(answer), "+PONG") {
			return nil
		}
	}
	return fmt.Errorf("the store at %s does not answer", address)
}

func outages(f *history.Faults) *[]history.Window { return &f.Outages }

// freeze lets the store hang for a while, as on a machine that has no time.
func (f *fleet) freeze(_ context.Context, d time.Duration) error {
	return f.during(outages, func() error {
		if err := f.redis.process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(d)
		err := f.redis.process.Signal(syscall.SIGCONT)
		// Sidecars find out a moment later.
		time.Sleep(recovery)
		return err
	})
}

// recovery is how long a sidecar may take to find its store again.
const recovery = 3 * time.Second

// lose kills the store, and starts it again with what it had written down.
func (f *fleet) lose(ctx context.Context, d time.Duration) error {
	return f.during(outages, func() (err error) {
		f.redis.process.Stop()
		time.Sleep(d)
		f.redis.process, err = f.redis.again(context.WithoutCancel(ctx)) // it outlives who killed it
		time.Sleep(recovery)
		return err
	})
}

// cut breaks all connections to the store, time and again: some break when it has
// done what it was asked, and has not said so.
func (f *fleet) cut(ctx context.Context, d time.Duration) error {
	return f.during(outages, func() error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", f.redis.address)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		answer := make([]byte, 64)
		for begin := time.Now(); time.Since(begin) < d; time.Sleep(20 * time.Millisecond) {
			for _, kind := range []string{"normal", "pubsub"} {
				if _, err := conn.Write([]byte("CLIENT KILL TYPE " + kind + " SKIPME yes\r\n")); err != nil {
					return err
				}
				if n, err := conn.Read(answer); err != nil || answer[0] != ':' {
					return fmt.Errorf("cut the connections to the store: %q: %w", answer[:n], err)
				}
			}
		}
		time.Sleep(recovery)
		return nil
	})
}
