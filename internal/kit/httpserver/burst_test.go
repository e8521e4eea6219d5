// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// TestManyClientsAtTheSameTimeAreServed sends requests over new connections, many more at the same time than there is
// memory for headers that are being read.
func TestManyClientsAtTheSameTimeAreServed(t *testing.T) {
	const clients, rounds = 150, 40
	s := serve(t, Options{Memory: memoryFor(2 * clients)})
	if s.table.maxHeads > clients/5 {
		t.Fatalf("room for %d headers", s.table.maxHeads)
	}
	for range rounds {
		errs := make([]error, clients)
		var group sync.WaitGroup
		for i := range clients {
			group.Go(func() { errs[i] = answered(t, s.address) })
		}
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
}

// answered sends a request over a connection of its own, and waits for the response.
func answered(t *testing.T, address string) error {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
	if err != nil {
		return err
	}
	got, err := io.ReadAll(conn)
	if err == nil && len(got) == 0 {
		err = fmt.Errorf("no response to %s, want %d", conn.LocalAddr(), http.StatusOK)
	}
	return err
}
