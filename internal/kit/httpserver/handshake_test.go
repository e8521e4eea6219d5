// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
)

// admitted opens a connection of a table for the socket of a client. The server has read nothing from it.
func admitted(t *testing.T, table *table, listener net.Listener, address netip.Addr) (c *Conn, client net.Conn) {
	t.Helper()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = raw.Close()
	})
	socket := &addressedSocket{raw.(*net.TCPConn), net.TCPAddrFromAddrPort(netip.AddrPortFrom(address, 1))}
	c = &Conn{Conn: socket, raw: socket, server: &Server{table: table, options: *table.options}}
	if !table.add(c) {
		t.Fatal("no room for a connection")
	}
	return c, client
}

// addressedSocket is a socket with another address of its client.
type addressedSocket struct {
	*net.TCPConn
	address net.Addr
}

func (s *addressedSocket) RemoteAddr() net.Addr { return s.address }

// TestRequestThatTheServerHasNotReadStays fills a table with connections whose clients have sent requests and bodies that the server,
// which has no processor, has not read. Newer connections make room before them, and a new client waits until the server has read a request.
func TestRequestThatTheServerHasNotReadStays(t *testing.T) {
	const room = 20
	table := tableFor(t, room, Options{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	var all []*Conn
	for i := range room {
		c, client := admitted(t, table, listener, address(i))
		if _, err := io.WriteString(client, get); err != nil {
			t.Fatal(err)
		}
		for !hasUnread(c.raw) {
			time.Sleep(time.Millisecond)
		}
		if i%2 == 0 {
			c.begin() // what the client has sent is the body of a request
		}
		c.since.Store(int64(i-room) - int64(freshTime))
		all = append(all, c)
	}
	last := all[room-1]
	_, _ = last.raw.Read(make([]byte, len(get)))
	newer, isAdded := table.open(address(100))
	newer.haveRead()
	if !isAdded || last.element != nil {
		t.Errorf("room = %t, the newest connection without a request stays = %t, want true and false", isAdded, last.element != nil)
	}
	all = all[:room-1]
	added := make(chan bool, 1)
	go func() {
		_, room := table.open(address(101))
		added <- room
	}()
	for table.waiters.Load() == 0 && len(added) == 0 {
		time.Sleep(time.Millisecond)
	}
	for i, c := range all {
		if c.element == nil {
			t.Errorf("connection %d of %d is closed, although the server has not read its request", i, len(all))
		}
	}
	_, _ = all[3].raw.Read(make([]byte, len(get)))
	if !<-added || !all[3].isClosed.Load() {
		t.Error("no room once the server has read a request")
	}
}

// unread opens a connection whose client has sent something that the server has not read. The server has waited for this client
// longer than for those with a greater number.
func unread(t *testing.T, table *table, listener net.Listener, number int) *Conn {
	t.Helper()
	c, client := admitted(t, table, listener, address(number))
	if _, err := io.WriteString(client, get); err != nil {
		t.Fatal(err)
	}
	for !hasUnread(c.raw) {
		time.Sleep(time.Millisecond)
	}
	c.since.Store(int64(number) - int64(time.Second))
	return c
}

// TestUnreadConnectionsBlockNoOther fills a table with connections for whose clients the server waits although they send something
// all the time. New clients get in: at once if there are others, and otherwise once they have waited for long enough.
func TestUnreadConnectionsBlockNoOther(t *testing.T) {
	for name, test := range map[string]struct{ unread, others int }{"beside others": {64, 36}, "alone": {20, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := tableFor(t, int64(test.unread+test.others), Options{})
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = listener.Close() }()
			var first *Conn
			for i := range test.unread + test.others {
				if i < test.unread {
					unread(t, table, listener, i)
					continue
				}
				c, _ := table.open(address(i))
				c.since.Store(int64(i) - int64(time.Second))
				if first == nil {
					first = c
				}
			}
			if _, room := table.open(address(1000)); !room {
				t.Error("no room for a new client")
			}
			if first != nil && (first.element != nil || table.conns.Len() != test.unread+test.others) {
				t.Errorf("the first of the others stays = %t beside %d connections", first.element != nil, table.conns.Len())
			}
		})
	}
}

// TestSourceOverItsShareWaitsForUnreadConnections opens a connection of an address that has its share, beside those of others whose
// clients have sent requests that the server has not read.
func TestSourceOverItsShareWaitsForUnreadConnections(t *testing.T) {
	table := tableFor(t, 20, Options{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	for range 5 {
		c, _ := table.open(address(100))
		c.haveRead()
	}
	var others []*Conn
	for i := range 14 {
		others = append(others, unread(t, table, listener, i))
	}
	added := make(chan bool, 1)
	go func() {
		_, room := table.open(address(100))
		added <- room
	}()
	for table.waiters.Load() == 0 && len(added) == 0 {
		time.Sleep(time.Millisecond)
	}
	_, _ = others[3].raw.Read(make([]byte, len(get)))
	if !<-added || !others[3].isClosed.Load() {
		t.Error("no room once the server has read a request")
	}
}

// TestHandshakeOfABusyServerStays fills a listener while the server works on the handshake of its oldest connection.
func TestHandshakeOfABusyServerStays(t *testing.T) {
	var isBusy atomic.Bool
	works, goOn := make(chan struct{}), make(chan struct{})
	certificate := newCertificate(t)
	s := serve(t, Options{Memory: 2 * memoryFor(25), TLS: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if !isBusy.Swap(true) {
			close(works)
			<-goOn
		}
		return &certificate, nil
	}}}, func(s *Server) {
		s.table.turns.handshakes = fairslots.New[netip.Addr](fairslots.Options{Slots: 2, PerTenant: 2, Waiting: 100})
	})
	secured := func(from string) *client {
		c := s.dial(t, from)
		c.Conn = tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true})
		c.lines = bufio.NewReader(c.Conn)
		return c
	}
	oldest := secured("127.0.0.9")
	status := make(chan int)
	go func() { status <- oldest.ask() }()
	<-works
	const others = 50 // more than the listener has room for, and few enough for the time of the oldest one
	for i := range others {
		c := secured(netip.AddrFrom4([4]byte{127, 0, 1, byte(1 + i)}).String())
		if err := c.Conn.(*tls.Conn).HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s.open(t) >= others {
		t.Fatal("the listener is not full")
	}
	close(goOn)
	if got := <-status; got != http.StatusOK {
		t.Errorf("status = %d for the oldest connection, want 200", got)
	}
}

// TestSlowHandshakesMakeRoom lets clients of many addresses wait in the middle of their handshakes.
func TestSlowHandshakesMakeRoom(t *testing.T) {
	s := serve(t, Options{Memory: 2 * memoryFor(40), TLS: &tls.Config{Certificates: []tls.Certificate{newCertificate(t)}, MinVersion: tls.VersionTLS12}})
	for i := range 200 {
		c := s.dial(t, netip.AddrFrom4([4]byte{127, 0, 1, byte(1 + i)}).String())
		silent := &mute{Conn: c.Conn, sent: make(chan struct{})}
		go func() { _ = tls.Client(silent, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(t.Context()) }()
		<-silent.sent
		if i%20 != 19 {
			continue
		}
		good := s.dial(t, "127.0.0.9")
		good.Conn = tls.Client(good.Conn, &tls.Config{InsecureSkipVerify: true})
		good.lines = bufio.NewReader(good.Conn)
		if got := good.ask(); got != http.StatusOK {
			t.Fatalf("after %d handshakes: %d, want 200", i, got)
		}
	}
}

// mute sends only the first flight of a handshake.
type mute struct {
	net.Conn
	once sync.Once
	sent chan struct{}
}

func (m *mute) Write(p []byte) (n int, err error) {
	n = len(p)
	m.once.Do(func() {
		n, err = m.Conn.Write(p)
		close(m.sent)
	})
	return n, err
}
