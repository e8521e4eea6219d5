// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}
}

// served is a Server whose requests to /wait run until release is closed.
type served struct {
	*Server
	address string
	waiting atomic.Int32
	release chan struct{}
}

// memoryFor returns the memory for a number of connections without TLS.
func memoryFor(connections int64) int64 { return connections * connBytes * headShare / (headShare - 1) }

// serve serves a Server until the test ends. configure changes it before it listens.
func serve(t *testing.T, o Options, configure ...func(*Server)) *served {
	t.Helper()
	s := &served{release: make(chan struct{})}
	o.Name = strings.ToLower(t.Name())
	o.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			s.waiting.Add(1)
			select {
			case <-s.release:
			case <-r.Context().Done():
			}
			s.waiting.Add(-1)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, r.Proto)
	})
	s.Server = New(o)
	for _, change := range configure {
		change(s.Server)
	}
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(inner.Addr().String())
	s.address = net.JoinHostPort("127.0.0.1", port)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- s.Run(ctx, inner, time.Minute) }()
	t.Cleanup(func() {
		close(s.release)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run() error = %v", err)
		}
		s.await(t, "the table is empty", func() bool {
			s.table.mu.Lock()
			defer s.table.mu.Unlock()
			return len(s.table.sources) == 0 && s.table.used == 0 && s.table.ending == 0 && s.table.heads.len() == 0 && s.open(t) == 0
		})
	})
	return s
}

// open returns the gauge of open connections.
func (s *served) open(t *testing.T) float64 {
	t.Helper()
	var m dto.Metric
	if err := s.table.metrics.open.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetGauge().GetValue()
}

// client is a connection from an address of the loopback network.
type client struct {
	net.Conn
	t     *testing.T
	lines *bufio.Reader
}

func (s *served) dial(t *testing.T, from string) *client {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	t.Cleanup(func() { _ = conn.Close() })
	return &client{conn, t, bufio.NewReader(conn)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// ask sends a request and returns the status of the response, 0 if the connection is closed.
func (c *client) ask() int {
	c.t.Helper()
	_, _ = io.WriteString(c, get)
	return c.status()
}

func (c *client) status() int {
	c.t.Helper()
	response, err := http.ReadResponse(c.lines, nil)
	if err != nil {
		if isTimeout(err) {
			c.t.Fatal(err)
		}
		return 0
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		c.t.Fatal(err)
	}
	return response.StatusCode
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// isClosed waits until the server has closed the connection.
func (c *client) isClosed() {
	c.t.Helper()
	if _, err := c.lines.ReadByte(); err == nil || isTimeout(err) {
		c.t.Fatalf("read: %v, want a closed connection", err)
	}
}

func (s *served) awaitRunning(t *testing.T, n int32) {
	t.Helper()
	s.await(t, "running requests", func() bool { return s.waiting.Load() == n })
}

func (s *served) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it never holds", what)
		}
	}
}

// settingsFrame is an empty SETTINGS frame.
const settingsFrame = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// opened returns the HEADERS frame of a request of HTTP/2.
func opened(stream byte, flags byte) string {
	header := encodedHeader("x")
	return string([]byte{0, 0, byte(len(header)), frameHeaders, flags, 0, 0, 0, stream}) + string(header)
}

// TestIdleConnectionsOfOthersMakeRoom fills a listener with connections of several addresses that are in the states of a
// connection for whose client the server waits. A client of another address is served.
func TestIdleConnectionsOfOthersMakeRoom(t *testing.T) {
	states := map[string]func(*client){
		"new":               func(*client) {},
		"in a header":       func(c *client) { c.send("GET / HTTP/1.1\r\nHos") },
		"kept alive":        func(c *client) { c.ask() },
		"half closed":       func(c *client) { _ = c.Conn.(*net.TCPConn).CloseWrite() },
		"half an HTTP/2":    func(c *client) { c.send(preface[:10]) },
		"HTTP/2 that idles": func(c *client) { c.send(preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00") },
		"refused":           func(c *client) { c.send("GET / HTTP/9.9\r\n\r\n") },
		"in a body":         func(c *client) { c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nb") },
		"in a chunk":        func(c *client) { c.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nb") },
		"in HTTP/2 bodies": func(c *client) {
			c.send(preface + settingsFrame + opened(1, flagEndHeaders) + opened(3, flagEndHeaders))
		},
		"in an HTTP/2 header": func(c *client) {
			c.send(preface + settingsFrame + opened(1, flagEndStream))
		},
		"in the last frame of an HTTP/2 body": func(c *client) {
			c.send(preface + settingsFrame + opened(1, flagEndHeaders) + "\x00\x00\x09\x00\x01\x00\x00\x00\x01b")
		},
		"without a window": func(c *client) {
			c.send(preface + "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00" + opened(1, flagEndHeaders|flagEndStream))
		},
	}
	for name, enter := range states {
		t.Run(name, func(t *testing.T) {
			s := serve(t, Options{Memory: memoryFor(40), HTTP2: true})
			good := s.dial(t, "127.0.0.9")
			for i := range 300 {
				enter(s.dial(t, []string{"127.0.0.2", "127.0.0.3", "127.0.0.4"}[i%3]))
				if i%5 == 0 {
					got := good.ask()
					if got == 0 { // a client opens another connection if an idle one is closed
						good = s.dial(t, "127.0.0.9")
						got = good.ask()
					}
					if got != http.StatusOK {
						t.Fatalf("after %d connections: %d, want 200 for the client that has one connection", i, got)
					}
				}
			}
			if got := s.dial(t, "127.0.0.10").ask(); got != http.StatusOK {
				t.Errorf("a new client: %d, want 200", got)
			}
			if err := s.Ready(nil); err != nil {
				t.Errorf("Ready() error = %v", err)
			}
		})
	}
}

// TestClientInUseStaysBesideManySources fills a listener with connections of many addresses, each of which has fewer
// connections than a client that is in use.
func TestClientInUseStaysBesideManySources(t *testing.T) {
	states := map[string]func(*client){
		"new":         func(*client) {},
		"in a header": func(c *client) { c.send("GET / HTTP/1.1\r\nHos") },
		"kept alive":  func(c *client) { c.ask() },
	}
	for name, enter := range states {
		t.Run(name, func(t *testing.T) {
			s := serve(t, Options{Memory: memoryFor(200)})
			var good []*client
			for range 6 {
				good = append(good, s.dial(t, "127.0.0.9"))
			}
			for i := range 400 {
				enter(s.dial(t, netip.AddrFrom4([4]byte{127, 0, 1, byte(i)}).String()))
				if got := good[i%len(good)].ask(); got != http.StatusOK {
					t.Fatalf("after %d connections: %d, want 200 for a connection in use", i, got)
				}
				other := s.dial(t, "127.0.0.9")
				if got := other.ask(); got != http.StatusOK {
					t.Fatalf("after %d connections: %d, want 200 for a new connection", i, got)
				}
				_ = other.Close()
			}
		})
	}
}

// TestRunningRequestIsNotClosed fills a listener with running requests of one address, which keeps its share, and of others.
func TestRunningRequestIsNotClosed(t *testing.T) {
	s := serve(t, Options{Memory: memoryFor(40)})
	for range 60 {
		s.dial(t, "127.0.0.2").send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	s.awaitRunning(t, 30) // three quarters
	if err := s.Ready(nil); err != nil {
		t.Errorf("Ready() error = %v, want none because only one address is at its limit", err)
	}
	other := s.dial(t, "127.0.0.3")
	if got := other.ask(); got != http.StatusOK {
		t.Errorf("another client: %d, want 200", got)
	}
	_ = other.Close() // until the server reads its next request, it would keep its place
	s.await(t, "only the running requests are open", func() bool { return s.open(t) == 30 })
	for i := range 40 {
		s.dial(t, netip.AddrFrom4([4]byte{127, 0, 1, byte(i)}).String()).send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	s.awaitRunning(t, 40)
	s.dial(t, "127.0.0.4").isClosed()
	if err := s.Ready(nil); err != nil {
		t.Errorf("Ready() error = %v, want none after one refusal", err)
	}
	s.table.refusals.first.Add(-int64(refusalsCount))
	if err := s.Ready(nil); err == nil || !strings.Contains(err.Error(), "testrunningrequestisnotclosed is full") {
		t.Errorf("Ready() error = %v, want one that names the listener", err)
	}
	if s.waiting.Load() != 40 {
		t.Errorf("%d requests run, want 40", s.waiting.Load())
	}
}

// TestRefusedClientReadsWhy sends requests whose bodies the handler does not read. The connection must not end while a client still
// sends the body, because clients report that in place of the response.
func TestRefusedClientReadsWhy(t *testing.T) {
	s := serve(t, Options{Memory: memoryFor(40)}, func(s *Server) {
		s.Handler = s.counted(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		}))
	})
	for name, header := range map[string]string{
		"kept alive": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4194304\r\n\r\n",
		"closed":     "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4194304\r\nConnection: close\r\n\r\n",
		"HTTP/1.0":   "POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 4194304\r\n\r\n",
		"in chunks":  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n400000\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := s.dial(t, "127.0.0.2")
			c.send(header)
			if got := c.status(); got != http.StatusRequestEntityTooLarge {
				t.Errorf("%d, want 413", got)
			}
			for range 10 {
				c.send("a part of the body")
				time.Sleep(time.Millisecond) // the time in which a reset would arrive
			}
		})
	}
}

// TestClosedConnectionCountsUntilItsRequestsEnd closes connections whose handlers do not return. Without
// their cost, a client could add handlers without end.
func TestClosedConnectionCountsUntilItsRequestsEnd(t *testing.T) {
	stuck := make(chan struct{})
	var running atomic.Int32
	s := serve(t, Options{Memory: memoryFor(40)}, func(s *Server) {
		s.Handler = s.counted(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			running.Add(1)
			<-stuck
		}))
	})
	for range 20 {
		c := s.dial(t, "127.0.0.2")
		c.send(get)
		_ = c.Close()
	}
	s.await(t, "all requests run", func() bool { return running.Load() == 20 })
	s.table.mu.Lock()
	used := s.table.used
	s.table.mu.Unlock()
	if used != 20*connBytes {
		t.Errorf("%d bytes are in use, want those of 20 connections", used)
	}
	close(stuck)
	s.await(t, "nothing is in use", func() bool {
		s.table.mu.Lock()
		defer s.table.mu.Unlock()
		return s.table.used == 0
	})
}

// TestProbesAreServedBesideRunningRequests checks that probes displace other requests, but not those from inside the pod.
func TestProbesAreServedBesideRunningRequests(t *testing.T) {
	s := serve(t, Options{Memory: memoryFor(20), Probes: true})
	inside := s.dial(t, "127.0.0.1")
	inside.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
	s.awaitRunning(t, 1)
	if got := s.dial(t, "127.0.0.1").ask(); got != http.StatusOK {
		t.Errorf("status = %d", got)
	}
	if c := (&source{address: netip.MustParseAddr("127.0.0.2")}).running(); c != nil {
		t.Errorf("running() = %v for a loopback address", c)
	}
	remote := &source{address: netip.MustParseAddr("10.0.0.1")}
	first, second := &Conn{number: 1}, &Conn{number: 2}
	remote.conns.PushBack(second)
	remote.conns.PushBack(first)
	if c := remote.running(); c != first {
		t.Errorf("running() = %v, want the oldest", c)
	}
}

// TestRecentlyUsedConnectionStays checks that an address without room loses connections without requests first.
func TestRecentlyUsedConnectionStays(t *testing.T) {
	s := serve(t, Options{Memory: memoryFor(40)})
	used := s.dial(t, "127.0.0.2")
	for i := range uint64(200) {
		if i%10 == 0 && used.ask() != http.StatusOK {
			t.Fatalf("the connection in use is closed after %d others", i)
		}
		s.dial(t, "127.0.0.2")
		s.await(t, "the server has accepted the connection", func() bool {
			s.table.mu.Lock()
			defer s.table.mu.Unlock()
			return s.table.accepted == i+2
		})
	}
}

func TestHeaders(t *testing.T) {
	tests := map[string]struct {
		path, header string
		want         int
	}{
		"of 7 KiB":              {"/", "X: " + strings.Repeat("x", 7<<10) + "\r\n", http.StatusOK},
		"of 13 KiB":             {"/", "X: " + strings.Repeat("x", 13<<10) + "\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"of 100 fields":         {"/", strings.Repeat("X: "+strings.Repeat("x", 40)+"\r\n", 100), http.StatusOK},
		"of 400 fields":         {"/", strings.Repeat("X: y0123456789\r\n", 400), http.StatusRequestHeaderFieldsTooLarge},
		"with a path of 100 KB": {"/?q=" + strings.Repeat("x", 100_000), "", http.StatusRequestHeaderFieldsTooLarge},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := serve(t, Options{Memory: memoryFor(40)}).dial(t, "127.0.0.2")
			c.send("GET " + test.path + " HTTP/1.1\r\nHost: a\r\n" + test.header + "\r\n")
			if got := c.status(); got != test.want {
				t.Errorf("status = %d, want %d", got, test.want)
			}
		})
	}
}

// TestHeadersThatAreBeingReadAreBounded checks that stalled headers displace each other, and no idle connection.
func TestHeadersThatAreBeingReadAreBounded(t *testing.T) {
	s := serve(t, Options{Memory: memoryFor(200)})
	idle := s.dial(t, "127.0.0.2")
	if got := idle.ask(); got != http.StatusOK {
		t.Fatalf("status = %d", got)
	}
	for range 100 {
		s.dial(t, "127.0.0.3").send("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n")
	}
	s.await(t, "headers are bounded", func() bool { return s.table.heads.len() == s.table.maxHeads })
	for range 20 {
		if got := idle.ask(); got != http.StatusOK {
			t.Fatalf("status = %d beside stalled headers", got)
		}
	}
}

// TestSlowHeaderEnds sends a header byte by byte.
func TestSlowHeaderEnds(t *testing.T) {
	s := serve(t, Options{Memory: memoryFor(40)}, func(s *Server) { s.ReadHeaderTimeout = 100 * time.Millisecond })
	c := s.dial(t, "127.0.0.2")
	for i := 0; ; i++ {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nX: "[min(i, 27):min(i, 27)+1]); err != nil {
			return
		}
		if i > 100_000 {
			t.Fatal("the connection stays")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestStalledHandshakes(t *testing.T) {
	s := serve(t, Options{Memory: 2 * memoryFor(100), TLS: &tls.Config{Certificates: []tls.Certificate{newCertificate(t)}, MinVersion: tls.VersionTLS12}})
	for range 300 {
		s.dial(t, "127.0.0.2").send("\x16\x03\x01\x02")
	}
	c := s.dial(t, "127.0.0.3")
	c.Conn = tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	c.lines = bufio.NewReader(c.Conn)
	if got := c.ask(); got != http.StatusOK {
		t.Errorf("status = %d beside stalled handshakes", got)
	}
	if got := c.Conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != "http/1.1" {
		t.Errorf("protocol = %s, want http/1.1 without Options.HTTP2", got)
	}
	plain := s.dial(t, "127.0.0.4")
	if got := plain.ask(); got != http.StatusUpgradeRequired {
		t.Errorf("status = %d without TLS", got)
	}
}

// TestHTTP2RequestsAreCharged checks that requests of one HTTP/2 connection cannot use more memory than connections.
func TestHTTP2RequestsAreCharged(t *testing.T) {
	s := serve(t, Options{Memory: memoryFor(40), HTTP2: true})
	client := newHTTP2Client(t)
	ctx, cancel := context.WithCancel(t.Context())
	var refused atomic.Int32
	var wg sync.WaitGroup
	const requests = 200
	for range requests {
		wg.Go(func() {
			request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/wait", http.NoBody)
			response, err := client.Do(request)
			if err != nil {
				refused.Add(1) // the connection was closed to make room for another one
				return
			}
			_ = response.Body.Close()
			if response.StatusCode == http.StatusServiceUnavailable {
				refused.Add(1)
			}
		})
	}
	s.await(t, "all requests run or are refused", func() bool { return refused.Load()+s.waiting.Load() == requests })
	s.table.mu.Lock()
	used := s.table.used
	s.table.mu.Unlock()
	if most := s.table.maxUsed*ownShare/(ownShare+1) + connBytes; used > most || refused.Load() == 0 {
		t.Errorf("%d bytes in use, %d requests refused; want at most %d bytes", used, refused.Load(), most)
	}
	cancel()
	wg.Wait()
}

func TestRequestWithoutServer(t *testing.T) {
	w := httptest.NewRecorder()
	New(Options{Name: "none", Memory: 1 << 20, Handler: http.NotFoundHandler()}).Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if w.Code != http.StatusNotFound {
		t.Errorf("status = %d", w.Code)
	}
}
