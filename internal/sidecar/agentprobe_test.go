// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestBackendAddress(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:9000": "127.0.0.1:9000", "http://127.0.0.1:9000/a/b": "127.0.0.1:9000",
		"http://agent": "agent:80", "http://[::1]:1/x": "[::1]:1", "http://[::1]/": "[::1]:80",
	} {
		if got := dialAddress(url); got != want {
			t.Errorf("dialAddress(%s) = %s, want %s", url, got, want)
		}
	}
}

// A sidecar without file descriptors says so, and does not accuse the agent, which listens.
func TestProbeWithoutFileDescriptors(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := &agentProbe{url: func() string { return "http://" + listener.Addr().String() }, now: time.Now}
	var former syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &former); err != nil {
		t.Fatal(err)
	}
	none := former
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	err = p.check(context.Background())
	if restoreErr := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &former); restoreErr != nil {
		t.Fatal(restoreErr)
	}
	if err == nil || !strings.Contains(err.Error(), "no file descriptor left") {
		t.Errorf("check() error = %v", err)
	}
	p.at = time.Time{}
	if err := p.check(context.Background()); err != nil {
		t.Errorf("check() with file descriptors: error = %v", err)
	}
}
