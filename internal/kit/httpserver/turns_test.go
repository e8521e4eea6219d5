// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"crypto/tls"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestFloodsTakeTurns lets many connections of one address send pings, and then one of another address. The pings of many connections
// take no less time than those of one, the other address waits for few of them, and a connection whose requests are answered
// for none.
func TestFloodsTakeTurns(t *testing.T) {
	const connections = 16
	pings := strings.Repeat(string(encode(6, 0, 8)), firstBudget)
	synctest.Test(t, func(t *testing.T) {
		table := tableFor(t, 100, Options{HTTP2: true})
		began := time.Now()
		var floods sync.WaitGroup
		for range connections {
			c := openHTTP2(t, table, address(1), pings)
			floods.Go(func() { readInPieces(t, c) })
		}
		synctest.Wait()
		other := openHTTP2(t, table, address(2), pings[:3*excessOfTurn*len(pings)/firstBudget])
		readInPieces(t, other)
		if took := time.Since(began); took > 8*excessPace {
			t.Errorf("the pings of another address wait for %v", took)
		}
		before := time.Now()
		answered := openHTTP2(t, table, address(1), pings)
		answered.frames.received([]byte(preface))
		for range maxStreams {
			answered.frames.sent([]byte(opened(1, flagEndHeaders)))
		}
		if _, ok := answered.frames.received([]byte(pings[:len(pings)/4])); !ok || !answered.awaitExcess() || time.Since(before) > 0 {
			t.Errorf("the pings of a client whose requests are answered wait for %v", time.Since(before))
		}
		floods.Wait()
		if took, want := time.Since(began), connections*(firstBudget/excessOfTurn-1)*excessPace; took < want {
			t.Errorf("%d connections of one address may send their pings within %v, want %v", connections, took, want)
		}
	})
}

// readInPieces reads all that the client of a connection has sent, a frame at a time as net/http does.
func readInPieces(t *testing.T, c *Conn) {
	t.Helper()
	p := make([]byte, frameHeaderLength)
	n, err := c.Read(p)
	for n > 0 {
		n, err = c.Read(p)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestFloodIsClosedInItsTurn closes a connection that waits for its turn.
func TestFloodIsClosedInItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := tableFor(t, 20, Options{HTTP2: true})
		c := openHTTP2(t, table, address(1), "")
		c.frames.excess = 1000 * excessOfTurn
		began := time.Now()
		time.AfterFunc(3*excessPace, c.release)
		if c.awaitExcess() || time.Since(began) != 3*excessPace {
			t.Errorf("the connection waits for %v, want until it is closed", time.Since(began))
		}
	})
}

// TestHandshakesTakeTurns runs many handshakes at once.
func TestHandshakesTakeTurns(t *testing.T) {
	var mu sync.Mutex
	running := 0
	most := 0
	change := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		running += by
		most = max(most, running)
	}
	certificate := newCertificate(t)
	s := serve(t, Options{Memory: 2 * memoryFor(100), TLS: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		change(1)
		time.Sleep(time.Millisecond) // the work for a handshake
		change(-1)
		return &certificate, nil
	}}})
	var clients sync.WaitGroup
	for i := range 40 {
		c := s.dial(t, netip.AddrFrom4([4]byte{127, 0, 1, byte(1 + i/2)}).String())
		clients.Go(func() {
			if err := tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
	if want := max(1, runtime.GOMAXPROCS(0)/2); most > want {
		t.Errorf("%d handshakes compute at the same time, want at most %d", most, want)
	}
}
