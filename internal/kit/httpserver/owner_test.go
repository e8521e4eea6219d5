// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
)

// TestOwnersShareTheConnections sends requests that do not end, of one owner from many addresses, and then of another one.
func TestOwnersShareTheConnections(t *testing.T) {
	release := make(chan struct{})
	var running, refused atomic.Int32
	s := serve(t, Options{Memory: memoryFor(40)}, func(s *Server) {
		s.Handler = s.counted(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !Own(r, r.Header.Get("Owner")) {
				refused.Add(1)
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			running.Add(1)
			<-release
		}))
	})
	var clients []*client
	open := func(owner string, n int) {
		for i := range n {
			c := s.dial(t, netip.AddrFrom4([4]byte{127, 0, 1, byte(1 + i%8)}).String())
			c.send(fmt.Sprintf("GET / HTTP/1.1\r\nHost: a\r\nOwner: %s\r\n\r\n", owner))
			clients = append(clients, c)
		}
	}
	open("greedy", 30)
	s.await(t, "a half of the connections have requests of one owner", func() bool { return running.Load() == 20 && refused.Load() == 10 })
	open("other", 9)
	s.await(t, "another owner has its share", func() bool { return running.Load() == 29 && refused.Load() == 10 })
	open("greedy", 1)
	s.await(t, "the first owner has no more", func() bool { return refused.Load() == 11 })
	close(release)
	owned := func() int64 {
		s.table.mu.Lock()
		defer s.table.mu.Unlock()
		return s.table.owned + int64(len(s.table.owners))
	}
	s.await(t, "idle connections have no owner", func() bool { return owned() == 0 })
	for _, c := range clients {
		_ = c.Close()
	}
}

// TestParkedConnectionHasItsOwner parks a connection, which then costs its owner less, until it is idle.
func TestParkedConnectionHasItsOwner(t *testing.T) {
	table := tableFor(t, 4, Options{})
	c, _ := table.open(address(1))
	c.haveRead()
	c.begin()
	if !table.own(c, "a") || table.owners["a"] != c.cost {
		t.Fatalf("the owner uses %d bytes, want %d", table.owners["a"], c.cost)
	}
	c.Park()
	c.end(1)
	if table.owners["a"] != parkedBytes {
		t.Errorf("the owner of a parked connection uses %d bytes, want %d", table.owners["a"], parkedBytes)
	}
	c.EndPark()
	if len(table.owners) != 0 || table.owned != 0 {
		t.Errorf("the owners of an idle connection are %v", table.owners)
	}
}
