// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package freeport finds loopback addresses for servers that tests and benchmarks start as processes, and that
// cannot be given a listener.
package freeport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// The ports are below the ephemeral ports of the kernel, which a listener on port 0 or a client may get. A client
// with an ephemeral port would even connect to itself while the server at that port is down.
const first, beyond = 15_000, 30_000

// reserved holds the ports that this process has found, and the file whose locks hide them from other processes:
// a lock of one byte for each port. The kernel releases the locks when the process ends.
var reserved struct {
	mu    sync.Mutex
	file  *os.File
	ports map[int]bool
}

// Find returns a loopback address without a listener. No other call returns it, in this process or in another one
// of the same user, before this process ends: a server can therefore start late, and restart at its address.
func Find(ctx context.Context) (string, error) { return find(ctx, first, beyond) }

func find(ctx context.Context, first, beyond int) (string, error) {
	var config net.ListenConfig
	for range 1000 {
		port := first + rand.IntN(beyond-first)
		if ok, err := reserve(port); err != nil {
			return "", fmt.Errorf("find a free port: %w", err)
		} else if !ok {
			continue
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		listener, err := config.Listen(ctx, "tcp", address)
		if err == nil {
			return address, listener.Close()
		}
	}
	return "", errors.New("find a free port: all are taken")
}

// reserve reserves a port for this process. It returns false if a process has reserved it already.
func reserve(port int) (bool, error) {
	reserved.mu.Lock()
	defer reserved.mu.Unlock()
	if reserved.file == nil {
		name := filepath.Join(os.TempDir(), fmt.Sprintf("a2a-ports-%d.lock", os.Getuid()))
		file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return false, err
		}
		reserved.file, reserved.ports = file, map[int]bool{}
	}
	if reserved.ports[port] {
		return false, nil
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: int64(port), Len: 1}
	err := syscall.FcntlFlock(reserved.file.Fd(), syscall.F_SETLK, &lock)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return false, nil
	}
	if err == nil {
		reserved.ports[port] = true
	}
	return err == nil, err
}

// Test is a *testing.T, or GinkgoT().
type Test interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
}

// Address returns an address as Find does, and fails the test if there is none.
func Address(t Test) string {
	t.Helper()
	address, err := Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}
