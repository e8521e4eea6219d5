// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serverconn

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
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/httpserver"
)

// parkingServer is a server that parks its responses to /park.
type parkingServer struct {
	*Parking
	server  *httpserver.Server
	address string
	// serve writes the rest of a parked response.
	serve func(context.Context, *Parked) bool
	// closed is a channel that closes when a server with TLS closes its only connection.
	// Without TLS, it is nil.
	closed <-chan struct{}
}

func newParkingServer(t *testing.T, idle time.Duration, serve func(context.Context, *Parked) bool) *parkingServer {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &parkingServer{address: listener.Addr().String(), serve: serve}
	g.open(t, idle, listener, nil)
	return g
}

func (g *parkingServer) open(t *testing.T, idle time.Duration, listener net.Listener, with *tls.Config) {
	t.Helper()
	g.Parking = NewParking(idle, time.Minute)
	g.server = httpserver.New(httpserver.Options{Name: "parking", Handler: g, TLS: with, Memory: 4 << 20, HeaderBytes: 1 << 18})
	serving := make(chan error, 2)
	for _, l := range []net.Listener{g.server.Listener(listener), g.Parking} {
		go func() { serving <- g.server.Serve(l) }()
	}
	t.Cleanup(func() {
		_ = g.server.Close()
		g.Stop(context.Background())
		for range 2 {
			if err := <-serving; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				t.Errorf("Serve() error = %v", err)
			}
		}
	})
}

func (g *parkingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if r.URL.Path != "/park" {
		_, _ = io.WriteString(w, "served "+r.URL.Path)
		return
	}
	_, _ = io.WriteString(w, "begun ")
	_ = http.NewResponseController(w).Flush()
	if !g.Park(w, r, g.serve) {
		_, _ = io.WriteString(w, "not parked")
	}
}

// client is a connection of HTTP/1.1.
type client struct {
	net.Conn
	t     *testing.T
	lines *bufio.Reader
}

func (g *parkingServer) dial(t *testing.T) *client {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &client{conn, t, bufio.NewReader(conn)}
}

func (c *client) ask(requests ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c, strings.Join(requests, "")); err != nil {
		c.t.Fatal(err)
	}
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n" }

func (c *client) answer() string {
	c.t.Helper()
	response, err := http.ReadResponse(c.lines, nil)
	if err != nil {
		c.t.Fatalf("read the answer: %v", err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatalf("read the answer after %q: %v", text, err)
	}
	return string(text)
}

func say(texts ...string) func(context.Context, *Parked) bool {
	return func(_ context.Context, c *Parked) bool {
		for _, text := range texts {
			if _, err := io.WriteString(c, text); err != nil {
				return false
			}
		}
		return true
	}
}

func TestParkedResponseAndItsConnectionContinue(t *testing.T) {
	large := strings.Repeat("x", 3*copied)
	g := newParkingServer(t, time.Minute, say("and ", "", large, " ended"))
	c := g.dial(t)
	for range 3 {
		c.ask(get("/park"))
		if got := c.answer(); got != "begun and "+large+" ended" {
			t.Fatalf("answer of %d bytes: %.40q", len(got), got)
		}
		c.ask(get("/next"))
		if got := c.answer(); got != "served /next" {
			t.Fatalf("next answer = %q", got)
		}
	}
}

// TestPipelinedRequestIsServedAfterAParkedResponse checks requests that the client sends
// together with the first one, or while the response to the first one is parked.
func TestPipelinedRequestIsServedAfterAParkedResponse(t *testing.T) {
	goOn := make(chan struct{}, 1)
	g := newParkingServer(t, time.Minute, func(_ context.Context, c *Parked) bool {
		<-goOn
		return say("ended")(nil, c)
	})
	c := g.dial(t)
	c.ask(get("/park"), get("/second"), get("/third"))
	goOn <- struct{}{}
	for _, want := range []string{"begun ended", "served /second", "served /third"} {
		if got := c.answer(); got != want {
			t.Fatalf("answer = %q, want %q", got, want)
		}
	}
	c.ask(get("/park"))
	response, err := http.ReadResponse(c.lines, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.ask(get("/second"))
	goOn <- struct{}{}
	if text, err := io.ReadAll(response.Body); string(text) != "begun ended" || err != nil {
		t.Errorf("answer = %q, %v", text, err)
	}
	if got := c.answer(); got != "served /second" {
		t.Errorf("next answer = %q", got)
	}
}

func TestClientOfAParkedResponseDisconnects(t *testing.T) {
	ended := make(chan struct{})
	g := newParkingServer(t, time.Minute, func(ctx context.Context, _ *Parked) bool {
		<-ctx.Done()
		close(ended)
		return true
	})
	c := g.dial(t)
	c.ask(get("/park"))
	if _, err := http.ReadResponse(c.lines, nil); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	await(t, ended, "the context does not end with the client")
}

// TestClientThatPipelinedDisconnects checks that the end of a client is detected even if the
// client has sent bytes of the next request, together with the first one or later.
func TestClientThatPipelinedDisconnects(t *testing.T) {
	// The server's buffer of a connection holds 4 KiB.
	large := "POST /next HTTP/1.1\r\nHost: a\r\nContent-Length: 5120\r\n\r\n" + strings.Repeat("x", 5<<10)
	for name, test := range map[string]struct{ with, later string }{
		"a byte with the request":          {with: "G"},
		"a byte later":                     {later: "G"},
		"a whole request":                  {later: get("/next")},
		"a request with the request":       {with: get("/next")},
		"a large request":                  {later: large},
		"a large request with the request": {with: large},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{})
			g := newParkingServer(t, time.Minute, func(ctx context.Context, _ *Parked) bool {
				select {
				case <-ctx.Done():
					close(ended)
				case <-t.Context().Done(): // the test has failed
				}
				return true
			})
			c := g.dial(t)
			c.ask(get("/park"), test.with)
			if _, err := http.ReadResponse(c.lines, nil); err != nil {
				t.Fatal(err)
			}
			c.ask(test.later)
			_ = c.Close()
			await(t, ended, "the context does not end with the client")
		})
	}
}

// TestLongPipelinedRequestIsServed checks that the server serves a request longer than
// maxReadAhead that the client sends while a response is parked.
func TestLongPipelinedRequestIsServed(t *testing.T) {
	goOn := make(chan struct{})
	g := newParkingServer(t, time.Minute, func(ctx context.Context, c *Parked) bool {
		<-goOn
		return say("ended")(ctx, c)
	})
	c := g.dial(t)
	c.ask(get("/park"))
	response, err := http.ReadResponse(c.lines, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.ask("GET /long HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 8*maxReadAhead) + "\r\n\r\n")
	close(goOn)
	if text, err := io.ReadAll(response.Body); string(text) != "begun ended" || err != nil {
		t.Errorf("answer = %q, %v", text, err)
	}
	if got := c.answer(); got != "served /long" {
		t.Errorf("next answer = %q", got)
	}
}

func TestInterruptedResponseIsIncomplete(t *testing.T) {
	g := newParkingServer(t, time.Minute, func(context.Context, *Parked) bool { return false })
	c := g.dial(t)
	c.ask(get("/park"))
	response, err := http.ReadResponse(c.lines, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(response.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read %q, %v, want an unexpected end", text, err)
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	g := newParkingServer(t, time.Millisecond, say("ended"))
	c := g.dial(t)
	c.ask(get("/park"))
	if got := c.answer(); got != "begun ended" {
		t.Fatalf("answer = %q", got)
	}
	if _, err := c.lines.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("read error = %v, want the end", err)
	}
}

func TestResponsesThatAreNotParked(t *testing.T) {
	tests := map[string]string{
		"HTTP/1.0": "GET /park HTTP/1.0\r\n\r\n",
		"the last": "GET /park HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
	}
	for name, request := range tests {
		t.Run(name, func(t *testing.T) {
			g := newParkingServer(t, time.Minute, say("parked"))
			c := g.dial(t)
			c.ask(request)
			if got := c.answer(); got != "begun not parked" {
				t.Errorf("answer = %q", got)
			}
		})
	}
	t.Run("after the end", func(t *testing.T) {
		g := newParkingServer(t, time.Minute, say("parked"))
		c := g.dial(t)
		_ = g.Close()
		c.ask(get("/park"))
		if got := c.answer(); got != "begun not parked" {
			t.Errorf("answer = %q", got)
		}
	})
}

// TestStop checks that Stop waits for streams during the grace period, and then cuts the remaining ones off with the cause
// of the end of its context.
func TestStop(t *testing.T) {
	goOn := make(chan struct{}, 1)
	goOn <- struct{}{}
	shutdown, cause := errors.New("shutdown"), make(chan error, 1)
	g := newParkingServer(t, time.Minute, func(ctx context.Context, c *Parked) bool {
		select {
		case <-goOn:
			return say("ended")(ctx, c)
		case <-ctx.Done():
			cause <- context.Cause(ctx)
			return true
		}
	})
	idle, streaming, cut := g.dial(t), g.dial(t), g.dial(t)
	idle.ask(get("/park"))
	if got := idle.answer(); got != "begun ended" {
		t.Fatalf("answer = %q", got)
	}
	for _, c := range []*client{streaming, cut} {
		c.ask(get("/park"))
	}
	waitFor(t, func() bool { return g.Len() == 3 })
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := make(chan struct{})
	go func() { g.Stop(ctx); close(stopped) }()
	if _, err := idle.lines.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("idle connection: %v, want the end", err)
	}
	goOn <- struct{}{}
	waitFor(t, func() bool { return g.Len() == 1 })
	cancel(shutdown)
	await(t, stopped, "Stop() does not return")
	if err := <-cause; !errors.Is(err, shutdown) {
		t.Errorf("cause of the end = %v, want that of the shutdown", err)
	}
	whole := 0
	for _, c := range []*client{streaming, cut} {
		response, err := http.ReadResponse(c.lines, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(response.Body); err == nil && string(text) == "begun ended" {
			whole++
		} else if err == nil {
			t.Errorf("a stream that was cut off looks whole: %q", text)
		}
	}
	if whole != 1 {
		t.Errorf("%d streams ended, want 1", whole)
	}
}

// newTLSParkingServer returns a parkingServer with TLS and its only client. The connection has no socket and no
// buffer, so the server can write only bytes that the client reads.
func newTLSParkingServer(t *testing.T, serve func(context.Context, *Parked) bool) (*parkingServer, *client) {
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
	with := NewTLS(func() bool { return false })
	with.Swap(&tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key})
	near, far := net.Pipe()
	server := &seen{Conn: far, closed: make(chan struct{})}
	g := &parkingServer{serve: serve, closed: server.closed}
	g.open(t, time.Minute, &onlyOne{conn: server}, with.Config())
	t.Cleanup(func() { _ = near.Close() }) // runs before the cleanup that closes the server
	conn := tls.Client(near, &tls.Config{InsecureSkipVerify: true})
	return g, &client{conn, t, bufio.NewReader(conn)}
}

// seen is a connection that closes a channel when it is closed.
type seen struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (s *seen) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Conn.Close()
}

// onlyOne is a listener that has one connection.
type onlyOne struct {
	net.Listener
	conn net.Conn
}

func (l *onlyOne) Accept() (net.Conn, error) {
	if l.conn == nil {
		return nil, net.ErrClosed
	}
	conn := l.conn
	l.conn = nil
	return conn, nil
}

func (l *onlyOne) Close() error   { return nil }
func (l *onlyOne) Addr() net.Addr { return parkingAddr{} }

// TestStalledClientDelaysNoOther checks that disconnecting a stalled client does not block others: closing a TLS
// connection would send an alert, and wait seconds for a client that does not read.
func TestStalledClientDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cutOff := make(chan struct{})
		g, c := newTLSParkingServer(t, func(_ context.Context, c *Parked) bool {
			defer close(cutOff)
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, err := c.Write([]byte("taken by nobody"))
			return err == nil
		})
		c.ask(get("/park"))
		if _, err := http.ReadResponse(c.lines, nil); err != nil {
			t.Fatal(err)
		}
		await(t, cutOff, "the client is not cut off")
		synctest.Wait() // uses no fake time
		select {
		case <-g.closed:
		default:
			t.Error("the connection that was cut off is still there")
		}
	})
}

// TestStopDoesNotWaitForClients checks that Stop does not wait for clients after its context has ended.
func TestStopDoesNotWaitForClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, c := newTLSParkingServer(t, say("ended"))
		c.ask(get("/park"))
		if got := c.answer(); got != "begun ended" {
			t.Fatalf("answer = %q", got)
		}
		const may = time.Second
		ctx, cancel := context.WithTimeout(t.Context(), may)
		defer cancel()
		began := time.Now()
		g.Stop(ctx)
		if took := time.Since(began); took != may {
			t.Errorf("Stop() returns after %v, want %v", took, may)
		}
	})
}

func TestParkedTLS(t *testing.T) {
	_, c := newTLSParkingServer(t, say("and ", "ended"))
	for range 3 {
		c.ask(get("/park"), get("/next"))
		for _, want := range []string{"begun and ended", "served /next"} {
			if got := c.answer(); got != want {
				t.Errorf("answer = %q, want %q", got, want)
			}
		}
		c.ask(get("/park"))
		if got := c.answer(); got != "begun and ended" {
			t.Errorf("answer = %q", got)
		}
	}
}

func await(t *testing.T, done <-chan struct{}, otherwise string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal(otherwise)
	}
}

func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatal("it never holds")
		}
		time.Sleep(time.Millisecond)
	}
}
