// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package freeport finds addresses for servers that tests and benchmarks start,
// and that can be given no listener.
package freeport

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports are below those that the kernel gives away: to who listens on port
// 0, and to clients, which would even connect to themselves while a server is
// not there yet. So an address stays free until its server comes, and while it
// is away.
const first, beyond = 15_000, 30_000

// Find returns an address of loopback that nobody listens at.
func Find(ctx context.Context) (string, error) {
	var config net.ListenConfig
	for range 1000 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(beyond-first)))
		listener, err := config.Listen(ctx, "tcp", address)
		if err == nil {
			return address, listener.Close()
		}
	}
	return "", errors.New("find a free port: there is none")
}

// Test is a *testing.T, or Ginkgo's.
type Test interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
}

// Address is that of Find, for a test.
func Address(t Test) string {
	t.Helper()
	address, err := Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}
