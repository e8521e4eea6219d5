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

// The ports are below the ephemeral ports, which the kernel assigns to listeners on port 0 and to clients. A client with
// an ephemeral port could even connect to itself while the server at this port is down.
const first, beyond = 15_000, 30_000

// reserved contains the ports that this process has found, and a file. For each port, this process locks one byte of the
// file, so that other processes do not find the port. The kernel releases the locks when the process ends.
var reserved struct {
	mu    sync.Mutex
	file  *os.File
	ports map[int]bool
}

// Find returns a loopback address without a listener. Until this process ends, no other call returns the address, neither in
// this process nor in another process of the user. A server can therefore start later, and restart at its address.
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
