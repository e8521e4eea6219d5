// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"net"
	"os"
	"slices"
	"testing"
)

// TestListening opens sockets of this process, and one that does not listen.
func TestListening(t *testing.T) {
	var want []int
	var last net.Listener
	for _, address := range []string{"127.0.0.1:0", ":0"} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		want = append(want, l.Addr().(*net.TCPAddr).Port)
		last = l
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", last.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	got, err := Listening(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range want {
		if !slices.Contains(got, port) {
			t.Errorf("ports %v, want %d among them", got, port)
		}
	}
	if slices.Contains(got, conn.LocalAddr().(*net.TCPAddr).Port) {
		t.Errorf("ports %v have that of a connection", got)
	}
}
