// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

// addressedConn is a connection of a client, of which only the address is known.
type addressedConn struct {
	net.Conn
	address net.Addr
}

func (c *addressedConn) RemoteAddr() net.Addr { return c.address }
func (c *addressedConn) Close() error         { return nil }

func tableFor(t *testing.T, connections int64, o Options) *table {
	t.Helper()
	o.Name = strings.ToLower(t.Name())
	o.Memory = memoryFor(connections)
	o.HeaderBytes = maxHeaderBytes
	return newTable(&o)
}

func (t *table) open(address netip.Addr) (*Conn, bool) {
	raw := &addressedConn{address: net.TCPAddrFromAddrPort(netip.AddrPortFrom(address, 1))}
	c := &Conn{Conn: raw, raw: raw, server: &Server{table: t, options: *t.options}}
	return c, t.add(c)
}

func address(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}) }

// TestSourceStaysWithItsConnections replaces the only connection of an address, which removes and adds its source.
func TestSourceStaysWithItsConnections(t *testing.T) {
	table := tableFor(t, 20, Options{})
	for i := range 19 {
		c, _ := table.open(address(i))
		c.begin()
	}
	first, _ := table.open(address(100))
	second, room := table.open(address(100))
	if !room || first.element != nil || table.sources[address(100)] != second.source {
		t.Errorf("room = %t, first stays = %t, source = %v, want the one of the second connection", room, first.element != nil, table.sources[address(100)])
	}
}

// TestSourceOverItsShareHarmsNoOther opens connections of an address that uses what one address can use, while all
// other connections are idle.
func TestSourceOverItsShareHarmsNoOther(t *testing.T) {
	table := tableFor(t, 100, Options{})
	for i := range 100 {
		table.open(address(i))
	}
	taken := 0
	for range 100 {
		if c, room := table.open(address(1000)); room {
			c.begin()
			taken++
		}
	}
	if idle := table.conns.Len() - taken; taken != 75 || idle != 25 {
		t.Errorf("%d running, %d idle connections of others, want 75 and 25", taken, idle)
	}
}

// TestConnectionThatMakesRoomForItselfIsClosed charges the only connection that the table may close.
func TestConnectionThatMakesRoomForItselfIsClosed(t *testing.T) {
	table := tableFor(t, 4, Options{Probes: true})
	c, _ := table.open(address(1))
	c.begin()
	for c.element != nil {
		if !table.charge(c, streamBytes) && c.element != nil {
			t.Fatal("charge() = false for a connection that stays")
		}
	}
	if table.used != 0 {
		t.Errorf("%d bytes in use without a connection", table.used)
	}
}
