// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// sendingConn is a connection of a client that has sent some bytes, and waits.
type sendingConn struct {
	addressedConn
	sent *strings.Reader
}

func (c *sendingConn) Read(p []byte) (int, error) {
	n, _ := c.sent.Read(p)
	return n, nil
}

// openHTTP2 opens a connection of an address, whose client has sent the preface and bytes.
func openHTTP2(t *testing.T, table *table, address netip.Addr, sent string) *Conn {
	t.Helper()
	raw := &sendingConn{addressedConn{address: net.TCPAddrFromAddrPort(netip.AddrPortFrom(address, 1))}, strings.NewReader(preface + sent)}
	c := &Conn{Conn: raw, raw: raw, server: &Server{table: table, options: *table.options}}
	c.frames.to = c
	c.frames.start()
	if !table.add(c) {
		t.Fatal("no room for a connection")
	}
	return c
}

// readAll reads what the client of a connection has sent, and begins to wait for more.
func readAll(t *testing.T, c *Conn) {
	t.Helper()
	p := make([]byte, 4<<10)
	n, err := c.Read(p)
	for n > 0 {
		n, err = c.Read(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.waitForClient()
}

// requests returns the HEADERS frames of a number of requests of HTTP/2.
func requests(n int, flags byte) (frames string) {
	for i := range n {
		frames += opened(byte(2*i+1), flags)
	}
	return frames
}

// TestConnectionWithManyStreamsGoesFirst fills a table with idle connections and with newer ones that have many requests, none of
// which has arrived in whole, or whose handlers have all returned. The server has read the frames, and waits for their clients.
func TestConnectionWithManyStreamsGoesFirst(t *testing.T) {
	for name, flags := range map[string]byte{"streams": flagEndHeaders, "streams without a window": flagEndHeaders | flagEndStream} {
		t.Run(name, func(t *testing.T) {
			table := tableFor(t, 60, Options{HTTP2: true})
			var idle []*Conn
			for i := range 30 {
				c, _ := table.open(address(i))
				c.since.Store(-int64(freshTime))
				idle = append(idle, c)
			}
			flood := openHTTP2(t, table, address(100), requests(10, flags))
			readAll(t, flood)
			for range 10 {
				flood.begin()
				flood.beginHandler()
				if flags&flagEndStream != 0 {
					flood.endHandler()
					flood.end(2)
				}
			}
			for i := range 60 {
				if _, room := table.open(address(200 + i)); !room {
					t.Fatal("no room for another connection")
				}
				if flood.element == nil {
					break
				}
			}
			if flood.element != nil {
				t.Error("the connection with many streams stays")
			}
			for _, c := range idle {
				if c.element == nil {
					t.Fatal("an idle connection is closed before the one with many streams")
				}
			}
		})
	}
}

// TestOldConnectionGoesBeforeManyStreams fills a table with a connection for whose client the server has waited for long, and with
// one that sends many requests.
func TestOldConnectionGoesBeforeManyStreams(t *testing.T) {
	table := tableFor(t, 60, Options{HTTP2: true})
	old, _ := table.open(address(1))
	old.since.Store(-int64(oldTime))
	many := openHTTP2(t, table, address(2), requests(10, flagEndHeaders))
	readAll(t, many)
	for i := 0; i < 60 && old.element != nil; i++ {
		if _, room := table.open(address(200 + i)); !room {
			t.Fatal("no room for another connection")
		}
	}
	if many.element == nil || old.element != nil {
		t.Errorf("many streams stay: %t, the old connection stays: %t, want true and false", many.element != nil, old.element != nil)
	}
}

// TestStreamWaitsForRoom sends two requests at once beside running ones that leave no room for the second one. The server reads the
// first one, and the second one once there is room.
func TestStreamWaitsForRoom(t *testing.T) {
	table := tableFor(t, 20, Options{HTTP2: true})
	first := requests(1, flagEndHeaders|flagEndStream)
	both := requests(2, flagEndHeaders|flagEndStream)
	c := openHTTP2(t, table, address(1), both)
	p := make([]byte, 4<<10)
	n, _ := c.Read(p)
	if n != len(preface) {
		t.Fatalf("Read() = %d bytes, want the preface", n)
	}
	table.charge(c, http2Bytes, false)
	c.isHTTP2.Store(true)
	var running []*Conn
	for i := 100; table.free() >= connBytes; i++ {
		other, _ := table.open(address(i))
		other.haveRead()
		other.begin()
		running = append(running, other)
	}
	n, err := c.Read(p)
	if want := len(first) + frameHeaderLength; n != want || err != nil {
		t.Fatalf("Read() = %d bytes, %v, want the first request and the header of the second frame, %d", n, err, want)
	}
	read := make(chan int)
	go func() {
		n, _ := c.Read(p)
		read <- n
	}()
	for table.waiters.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	running[0].end(2)
	table.release(running[0])
	if n, want := <-read, len(both)-len(first)-frameHeaderLength; n != want {
		t.Errorf("Read() = %d bytes, want the rest of the second request, %d", n, want)
	}
}

// TestConnectionThatWaitsForRoomMakesRoom displaces a connection that waits for room.
func TestConnectionThatWaitsForRoomMakesRoom(t *testing.T) {
	table := tableFor(t, 20, Options{HTTP2: true})
	flood := openHTTP2(t, table, address(1), requests(maxStreams, flagEndHeaders|flagEndStream))
	ended := make(chan error)
	go func() {
		p := make([]byte, 4<<10)
		_, err := flood.Read(p)
		for err == nil {
			_, err = flood.Read(p)
		}
		ended <- err
	}()
	for i := 100; !flood.isClosed.Load(); i++ {
		c, room := table.open(address(i))
		if !room {
			t.Fatal("no room for another connection")
		}
		c.since.Store(int64(time.Since(table.began) + time.Hour)) // it stays new during the test
	}
	if err := <-ended; !errors.Is(err, errNoRoom) {
		t.Errorf("Read() error = %v, want %v", err, errNoRoom)
	}
}

// TestDataOfEndedStreamsIsBounded sends bytes on a stream that has ended. The server answers each frame, and gives its bytes back.
func TestDataOfEndedStreamsIsBounded(t *testing.T) {
	var floods atomic.Int32
	s := serve(t, Options{Memory: memoryFor(40), HTTP2: true, Flooded: func() { floods.Add(1) }})
	c := s.dial(t, "127.0.0.2")
	c.send(preface + settingsFrame + opened(1, flagEndHeaders|flagEndStream))
	framer := http2.NewFramer(c, c)
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if header := frame.Header(); header.StreamID == 1 && header.Flags.Has(flagEndStream) {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, c) }()
	for range 10 * firstBudget {
		if err := framer.WriteData(1, false, []byte("x")); err != nil {
			break
		}
	}
	s.await(t, "the connection is closed", func() bool { return s.open(t) == 0 })
	if got := floods.Load(); got != 1 {
		t.Errorf("%d connections were closed for their frames, want 1", got)
	}
}

// TestSingleBytesAreCounted sends frames so that a single byte of the preface, or of a frame, remains for the next read.
func TestSingleBytesAreCounted(t *testing.T) {
	ping := string(encode(6, 0, 8))
	for name, sent := range map[string][2]string{
		"preface": {preface[:len("PRI * HTTP/2.0")-1], preface[len("PRI * HTTP/2.0")-1:] + settingsFrame},
		"header":  {preface + settingsFrame + ping[:frameHeaderLength-1], ping[frameHeaderLength-1:]},
		"payload": {preface + settingsFrame + ping[:len(ping)-1], ping[len(ping)-1:]},
	} {
		t.Run(name, func(t *testing.T) {
			var floods atomic.Int32
			s := serve(t, Options{Memory: memoryFor(40), HTTP2: true, Flooded: func() { floods.Add(1) }})
			c := s.dial(t, "127.0.0.2")
			c.send(sent[0])
			s.await(t, "the server waits for the rest", func() bool {
				s.table.mu.Lock()
				defer s.table.mu.Unlock()
				first := s.table.conns.Front()
				return first != nil && first.Value.(*Conn).since.Load() > 0 && !hasUnread(first.Value.(*Conn).raw)
			})
			go func() { _, _ = io.Copy(io.Discard, c) }()
			for range 10 * firstBudget {
				if _, err := io.WriteString(c, sent[1]+ping); err != nil {
					break
				}
				sent[1] = ""
			}
			s.await(t, "the connection is closed", func() bool { return s.open(t) == 0 })
			if got := floods.Load(); got != 1 {
				t.Errorf("%d connections were closed for their frames, want 1", got)
			}
		})
	}
}
