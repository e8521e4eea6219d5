// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package freeport

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// portVariable makes the test binary a second process that tries to find the port in its value.
const portVariable = "FREEPORT_TEST_PORT"

func TestMain(m *testing.M) {
	if text := os.Getenv(portVariable); text != "" {
		port, _ := strconv.Atoi(text)
		address, err := find(context.Background(), port, port+1)
		fmt.Println("found", address, err)
		os.Exit(map[bool]int{true: 0, false: 1}[err == nil])
	}
	os.Exit(m.Run())
}

func TestAddressIsReturnedOnce(t *testing.T) {
	host, text, err := net.SplitHostPort(Address(t))
	if err != nil || host != "127.0.0.1" {
		t.Fatalf("Address() = %s, %v", host, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := find(t.Context(), port, port+1); err == nil {
		t.Errorf("this process found %s twice", again)
	}
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), portVariable+"="+text)
	if out, err := other.CombinedOutput(); err == nil {
		t.Errorf("another process found the port, too: %s", out)
	}
}

func TestListeningPortIsNotFound(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).Port
	if address, err := find(t.Context(), port, port+1); err == nil {
		t.Errorf("find() = %s, which has a listener", address)
	}
}
