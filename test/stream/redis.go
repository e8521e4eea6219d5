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

	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/redistest"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

// startRedis starts Redis as the store of several sidecars. Redis writes to disk before it acknowledges a write.
func (f *fleet) startRedis(ctx context.Context, dir string) error {
	program, err := redistest.Program()
	if err != nil {
		return err
	}
	f.redisData, err = os.MkdirTemp(dir, "redis")
	if err != nil {
		return err
	}
	address, err := freeport.Find(ctx)
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(address)
	f.redis = &server{address: address}
	f.runRedis = func(ctx context.Context, arguments ...string) (*process.Process, error) {
		p, err := process.Run(ctx, address, program, append([]string{
			"--port", port, "--bind", "127.0.0.1", "--dir", f.redisData, "--save", "", "--logfile", f.redisData + "/log",
		}, arguments...)...)
		if err != nil {
			return nil, err
		}
		return p, awaitRedis(ctx, address)
	}
	f.redis.restart = func(ctx context.Context) (*process.Process, error) { return f.runRedis(ctx, redistest.Durable...) }
	f.redis.process, err = f.redis.restart(ctx)
	return err
}

// awaitRedis waits until the store has loaded its data and answers.
func awaitRedis(ctx context.Context, address string) error {
	const timeout = 60 * time.Second
	for begin := time.Now(); time.Since(begin) < timeout; time.Sleep(5 * time.Millisecond) {
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
	return fmt.Errorf("the store at %s did not answer within %v", address, timeout)
}

func outageWindows(f *history.Faults) *[]history.Window { return &f.Outages }

// pauseRedis pauses the process of the store for the duration d (SIGSTOP).
func (f *fleet) pauseRedis(_ context.Context, d time.Duration) error {
	return f.recordFault(outageWindows, "", func() error {
		if err := f.redis.process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(d)
		err := f.redis.process.Signal(syscall.SIGCONT)
		time.Sleep(recoveryTime)
		return err
	})
}

// recoveryTime bounds the time in which a sidecar reconnects to its store.
const recoveryTime = 3 * time.Second

// killRedis kills the store, and restarts it with its data after a while.
func (f *fleet) killRedis(ctx context.Context, d time.Duration) error {
	return f.recordFault(outageWindows, "", func() (err error) {
		f.redis.process.Stop()
		time.Sleep(d)
		f.redis.process, err = f.redis.restart(context.WithoutCancel(ctx)) // the process must outlive the task that caused the kill
		time.Sleep(recoveryTime)
		return err
	})
}

// cutRedisConnections repeatedly closes all connections to the store for the duration d. Some connections close after the
// store has executed a command and before it has answered.
func (f *fleet) cutRedisConnections(ctx context.Context, d time.Duration) error {
	return f.recordFault(outageWindows, "", func() error {
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
		time.Sleep(recoveryTime)
		return nil
	})
}
