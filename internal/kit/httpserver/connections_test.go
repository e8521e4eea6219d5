// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// addressedConn is a connection of a client, of which only the address is known.
type addressedConn struct {
	net.Conn
	address net.Addr
}

func (c *addressedConn) RemoteAddr() net.Addr { return c.address }
func (c *addressedConn) Close() error         { return nil }

func (c *addressedConn) SetReadDeadline(time.Time) error { return nil }

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
		c.haveRead()
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
		c, _ := table.open(address(i))
		c.since.Store(-int64(freshTime))
	}
	taken := 0
	for range 100 {
		if c, room := table.open(address(1000)); room {
			c.haveRead()
			taken++
		}
	}
	if idle := table.conns.Len() - taken; taken != 75 || idle != 25 {
		t.Errorf("%d running, %d idle connections of others, want 75 and 25", taken, idle)
	}
}

// TestAnsweringConnectionStaysBesideIdleOne fills a table with connections that send responses and a newer one that is idle.
func TestAnsweringConnectionStaysBesideIdleOne(t *testing.T) {
	table := tableFor(t, 20, Options{})
	var idle *Conn
	for i := range 20 {
		idle, _ = table.open(address(i))
		idle.since.Store(int64(i) - int64(freshTime) - 20)
		if i < 19 {
			idle.answer(true)
		}
	}
	if _, room := table.open(address(100)); !room || idle.element != nil {
		t.Errorf("room = %t, the idle connection stays = %t, want true and false", room, idle.element != nil)
	}
	if _, room := table.open(address(101)); !room {
		t.Error("no room beside connections that send responses")
	}
}

// TestFreshConnectionStaysBesideLargeSource opens connections of an address in use beside the new connection of another one.
func TestFreshConnectionStaysBesideLargeSource(t *testing.T) {
	table := tableFor(t, 20, Options{})
	for range 14 {
		c, _ := table.open(address(1))
		c.haveRead()
	}
	for i := range 5 {
		c, _ := table.open(address(2 + i))
		c.haveRead()
	}
	fresh, _ := table.open(address(100))
	fresh.since.Store(int64(time.Since(table.began) + time.Hour)) // it stays new during the test
	if _, room := table.open(address(1)); room || fresh.element == nil {
		t.Errorf("room = %t, the new connection stays = %t, want false and true", room, fresh.element != nil)
	}
}

// TestConnectionThatMakesRoomForItselfIsClosed charges the only connection that the table may close.
func TestConnectionThatMakesRoomForItselfIsClosed(t *testing.T) {
	table := tableFor(t, 4, Options{Probes: true})
	c, _ := table.open(address(1))
	c.haveRead()
	c.begin()
	for c.element != nil {
		if !table.charge(c, streamBytes, false) && c.element != nil {
			t.Fatal("charge() = false for a connection that stays")
		}
	}
	if table.used == 0 || table.ending != table.used {
		t.Errorf("%d bytes in use, %d of closed connections, want those of the running request", table.used, table.ending)
	}
	c.end(1)
	if table.used != 0 || table.ending != 0 {
		t.Errorf("%d bytes in use without a connection", table.used)
	}
}

// TestRefusalsPersist checks that only refusals over some time make a listener unready.
func TestRefusalsPersist(t *testing.T) {
	for name, test := range map[string]struct {
		seconds []int
		now     int
		want    bool
	}{
		"none":               {nil, 100, false},
		"one":                {[]int{100}, 100, false},
		"for some seconds":   {[]int{100, 102, 104}, 104, false},
		"for a longer time":  {[]int{100, 102, 105}, 106, true},
		"in the past":        {[]int{100, 102, 105}, 115, false},
		"again after a rest": {[]int{100, 105, 120}, 121, false},
		"seldom":             {[]int{100, 109, 118}, 119, true},
	} {
		var r refusals
		for _, at := range test.seconds {
			r.note(time.Duration(at) * time.Second)
		}
		if got := r.persist(time.Duration(test.now) * time.Second); got != test.want {
			t.Errorf("%s: persist() = %t, want %t", name, got, test.want)
		}
	}
}
