// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package http1_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newServer accepts connections and calls serve for each, with the number of the connection
// from 1. It closes the connection when serve returns.
func newServer(t *testing.T, serve func(number int, in *bufio.Reader, conn net.Conn)) *url.URL {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = listener.Close(); <-done })
	go func() {
		defer close(done)
		for number := 1; ; number++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			served := make(chan struct{})
			t.Cleanup(func() { <-served })
			t.Cleanup(func() { _ = conn.Close() })
			go func() {
				defer close(served)
				defer func() { _ = conn.Close() }()
				serve(number, bufio.NewReader(conn), conn)
			}()
		}
	}()
	return &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/x"}
}

// readRequest reads a request and its body.
func readRequest(in *bufio.Reader) (*http.Request, string, error) {
	r, err := http.ReadRequest(in)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(r.Body)
	return r, string(body), err
}

func newClient(t *testing.T, idleTimeout time.Duration) *http1.Client {
	t.Helper()
	c := http1.New(http1.Options{Connect: 5 * time.Second, MaxIdle: 2, IdleTimeout: idleTimeout})
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// post posts a text and returns the status and the body of the response.
func post(ctx context.Context, c *http1.Client, u *url.URL, body string) (string, error) {
	resp, err := c.Do(ctx, &http1.Request{Method: http.MethodPost, URL: u, Header: http.Header{"Accept": {"*/*"}}, Body: []byte(body)})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(text)), err
}

// TestResponses checks that the client reads every form of response, and reuses the
// connection if the response allows it.
func TestResponses(t *testing.T) {
	tests := map[string]struct {
		response string
		want     string
		err      string
		reused   bool
	}{
		"length":                     {response: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", want: "200 hi", reused: true},
		"empty body":                 {response: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", want: "200 ", reused: true},
		"no content":                 {response: "HTTP/1.1 204 No Content\r\n\r\n", want: "204 ", reused: true},
		"chunked":                    {response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", want: "200 hi", reused: true},
		"chunked with trailer":       {response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: y\r\n\r\n", want: "200 hi", reused: true},
		"Connection: close":          {response: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", want: "200 hi"},
		"HTTP/1.0":                   {response: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", want: "200 hi"},
		"HTTP/1.0 with keep-alive":   {response: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", want: "200 hi", reused: true},
		"informational":              {response: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", want: "200 hi", reused: true},
		"unexpected second response": {response: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\n", want: "200 hi"},
		"too many informational":     {response: strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 9), err: "informational"},
		"switches protocols":         {response: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", err: "switched protocols"},
		"not HTTP":                   {response: "SSH-2.0-x\r\n\r\n", err: "malformed"},
		"two content lengths":        {response: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi", err: "Content-Length"},
		"some fields":                {response: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + strings.Repeat("abc: 0123456789012345678\r\n", 100) + "\r\nhi", want: "200 hi", reused: true},
		"long header":                {response: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 17<<10) + "\r\n\r\n", err: "more than 16 KiB"},
		"endless status line":        {response: strings.Repeat("x", 1<<20), err: "malformed"},
		"many fields":                {response: "HTTP/1.1 200 OK\r\n" + strings.Repeat("a:\n", 129) + "\r\n", err: "128 fields"},
		"many informational fields":  {response: strings.Repeat("HTTP/1.1 103 Early Hints\r\n"+strings.Repeat("a:\n", 43)+"\r\n", 3) + "HTTP/1.1 200 OK\r\n\r\n", err: "128 fields"},
		"fields after status 012":    {response: "HTTP/1.1 012 x\r\n\r\nHTTP/1.1 200 OK\r\n" + strings.Repeat("a:\n", 129) + "\r\n", err: "128 fields"},
		"128 fields, a body of lines": {
			response: "HTTP/1.1 200 OK\r\nContent-Length: 300\r\n" + strings.Repeat("a:\n", 127) + "\r\n" + strings.Repeat("\n", 300),
			want:     "200 " + strings.Repeat("\n", 300), reused: true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			numbers := make(chan int, 2)
			u := newServer(t, func(number int, in *bufio.Reader, conn net.Conn) {
				for {
					if _, _, err := readRequest(in); err != nil {
						return
					}
					numbers <- number
					if _, err := io.WriteString(conn, tt.response); err != nil {
						return
					}
				}
			})
			c := newClient(t, time.Minute)
			for range 2 {
				got, err := post(t.Context(), c, u, "x")
				if tt.err != "" {
					if err == nil || !strings.Contains(err.Error(), tt.err) {
						t.Errorf("Do() = %q, %v, want an error about %q", got, err, tt.err)
					}
					return
				}
				if got != tt.want || err != nil {
					t.Errorf("Do() = %q, %v, want %q", got, err, tt.want)
				}
			}
			if first, second := <-numbers, <-numbers; (first == second) != tt.reused {
				t.Errorf("connections %d and %d, want the same: %t", first, second, tt.reused)
			}
		})
	}
}

func TestResponseThatEndsWithTheConnection(t *testing.T) {
	for response, want := range map[string]string{
		"HTTP/1.1 200 OK\r\n\r\nhi":                                        "200 hi <nil>",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi":                   "200 hi unexpected EOF",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n": "200 hi unexpected EOF",
		"HTTP/1.1 200 OK\r\n":                                              " read response header: unexpected EOF",
		"":                                                                 " read response header: unexpected EOF",
	} {
		u := newServer(t, func(_ int, in *bufio.Reader, conn net.Conn) {
			if _, _, err := readRequest(in); err == nil {
				_, _ = io.WriteString(conn, response)
			}
		})
		text, err := post(t.Context(), newClient(t, time.Minute), u, "x")
		if got := fmt.Sprint(text, " ", err); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("response %q: %q, want %q", response, got, want)
		}
	}
}

func TestRequestArrivesWhole(t *testing.T) {
	type received struct{ Line, Host, Body, Header string }
	got := make(chan received, 1)
	u := newServer(t, func(_ int, in *bufio.Reader, conn net.Conn) {
		r, body, err := readRequest(in)
		if err != nil {
			return
		}
		got <- received{r.Method + " " + r.RequestURI, r.Host, body, fmt.Sprint(r.Header)}
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	for _, size := range []int{0, 1, 31 << 10, 33 << 10, 3 << 20} {
		body := strings.Repeat("y", size)
		resp, err := newClient(t, time.Minute).Do(t.Context(), &http1.Request{
			Method: http.MethodPost, URL: u.JoinPath("a b").JoinPath("?"), Body: []byte(body),
			Header: http.Header{"traceparent": {"1"}, "X": {"a", "b"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		want := received{"POST /x/a%20b/%3F", u.Host, body, fmt.Sprintf("map[Content-Length:[%d] Traceparent:[1] X:[a b]]", size)}
		if diff := cmp.Diff(want, <-got); diff != "" {
			t.Errorf("%d bytes: request (-want +got):\n%.500s", size, diff)
		}
	}
}

// TestFramingFieldsOfTheHeaderAreNotSent checks that a request has one Host and one length,
// whatever the header of the caller contains: an agent behind a proxy would otherwise see
// another request than the proxy.
func TestFramingFieldsOfTheHeaderAreNotSent(t *testing.T) {
	got := make(chan string, 1)
	u := newServer(t, func(_ int, in *bufio.Reader, conn net.Conn) {
		var head strings.Builder
		for line, err := in.ReadString('\n'); err == nil && line != "\r\n"; line, err = in.ReadString('\n') {
			head.WriteString(line)
		}
		got <- head.String()
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	resp, err := newClient(t, time.Minute).Do(t.Context(), &http1.Request{
		Method: http.MethodPost, URL: u, Body: []byte("x"),
		Header: http.Header{
			"Host": {"other"}, "host": {"other"}, "Content-Length": {"100"}, "content-length": {"0"}, "Transfer-Encoding": {"chunked"},
			"transfer-Encoding": {"identity"}, "Trailer": {"X"}, "Accept": {"*/*"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	want := "POST /x HTTP/1.1\r\nHost: " + u.Host + "\r\nAccept: */*\r\nContent-Length: 1\r\n"
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("head of the request (-want +got):\n%s", diff)
	}
}

func TestHeaderThatBreaksFramingIsRejected(t *testing.T) {
	c := newClient(t, time.Minute)
	for name, value := range map[string]string{"X": "a\r\nY: b", "X: y": "z", "": "x", "N": "\x00", "D": "\x7f"} {
		_, err := c.Do(t.Context(), &http1.Request{
			Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Header: http.Header{name: {value}},
		})
		if err == nil || !strings.Contains(err.Error(), "HTTP does not allow") {
			t.Errorf("Do() of %q: %q: error = %v", name, value, err)
		}
	}
}

// TestResponseBeforeTheRequestIsRead checks that the client returns the response of a
// server that rejects a long request without reading it.
func TestResponseBeforeTheRequestIsRead(t *testing.T) {
	u := newServer(t, func(_ int, in *bufio.Reader, conn net.Conn) {
		if _, err := in.ReadString('\n'); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
			_, _ = conn.Read(make([]byte, 1)) // keeps the connection open
			<-t.Context().Done()
		}
	})
	got, err := post(t.Context(), newClient(t, time.Minute), u, strings.Repeat("x", 64<<20))
	if got != "413 no" || err != nil {
		t.Errorf("Do() = %q, %v", got, err)
	}
}

// TestUnusableIdleConnectionIsNotReused checks that the client does not reuse an idle
// connection that the server has closed, or on which it has sent a response without a
// request.
func TestUnusableIdleConnectionIsNotReused(t *testing.T) {
	for name, unexpected := range map[string]string{"closed": "", "unexpected response": "HTTP/1.1 408 Request Timeout\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			closed := make(chan struct{}, 2)
			u := newServer(t, func(_ int, in *bufio.Reader, conn net.Conn) {
				if _, _, err := readRequest(in); err != nil {
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
				_, _ = io.WriteString(conn, unexpected)
				_ = conn.(*net.TCPConn).CloseWrite()
				closed <- struct{}{}
				_, _, _ = readRequest(in)
			})
			c := newClient(t, time.Minute)
			for range 2 {
				if got, err := post(t.Context(), c, u, "x"); got != "200 hi" || err != nil {
					t.Errorf("Do() = %q, %v", got, err)
				}
				<-closed
			}
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: freeport.Address(t)}
	_, err := post(t.Context(), newClient(t, time.Minute), u, "x")
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "dial" {
		t.Errorf("Do() error = %v, want one of dial", err)
	}
}

// TestEndOfTheContextEndsTheCall checks that Do and Read return the cause of the context.
func TestEndOfTheContextEndsTheCall(t *testing.T) {
	for name, response := range map[string]string{
		"before the header": "",
		"in the header":     "HTTP/1.1 200 OK\r\nX",
		"in the body":       "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi",
	} {
		t.Run(name, func(t *testing.T) {
			reached, disconnected := make(chan struct{}), make(chan struct{})
			u := newServer(t, func(_ int, in *bufio.Reader, conn net.Conn) {
				if _, _, err := readRequest(in); err != nil {
					return
				}
				_, _ = io.WriteString(conn, response)
				close(reached)
				_, _ = in.ReadByte()
				close(disconnected)
			})
			cause := errors.New("test ended the call")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-reached; cancel(cause) }()
			if got, err := post(ctx, newClient(t, time.Minute), u, "x"); !errors.Is(err, cause) {
				t.Errorf("Do() = %q, %v, want %v", got, err, cause)
			}
			<-disconnected
		})
	}
}

func TestCloseOfAnUnreadBodyClosesTheConnection(t *testing.T) {
	disconnected := make(chan struct{})
	u := newServer(t, func(_ int, in *bufio.Reader, conn net.Conn) {
		if _, _, err := readRequest(in); err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi")
		_, _ = in.ReadByte()
		close(disconnected)
	})
	resp, err := newClient(t, time.Minute).Do(t.Context(), &http1.Request{Method: http.MethodGet, URL: u})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	_ = resp.Body.Close()
	<-disconnected
	if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("Read() after Close() = %d, %v", n, err)
	}
}

func TestIdleConnectionsAreClosedAfterTheTimeout(t *testing.T) {
	disconnected := make(chan struct{}, 3)
	u := newServer(t, func(_ int, in *bufio.Reader, conn net.Conn) {
		defer func() { disconnected <- struct{}{} }()
		for {
			if _, _, err := readRequest(in); err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		}
	})
	c := newClient(t, 10*time.Millisecond)
	var responses []*http.Response
	for range 3 { // the pool holds at most two of their connections
		resp, err := c.Do(t.Context(), &http1.Request{Method: http.MethodGet, URL: u})
		if err != nil {
			t.Fatal(err)
		}
		responses = append(responses, resp)
	}
	for _, resp := range responses {
		_ = resp.Body.Close()
	}
	<-disconnected
}

// TestFullPoolDropsTheOldestConnection checks that a full pool replaces an old connection
// by a new one.
func TestFullPoolDropsTheOldestConnection(t *testing.T) {
	c := newClient(t, time.Minute)
	var accepted atomic.Int64
	urls := make([]*url.URL, 3)
	for i := range urls {
		urls[i] = newServer(t, func(_ int, in *bufio.Reader, conn net.Conn) {
			accepted.Add(1)
			for {
				if _, _, err := readRequest(in); err != nil {
					return
				}
				if _, err := io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n"); err != nil {
					return
				}
			}
		})
	}
	for _, each := range []struct {
		server      int
		connections int64
	}{{0, 1}, {1, 2}, {2, 3}, {2, 3}, {1, 3}, {0, 4}} {
		if _, err := post(t.Context(), c, urls[each.server], "x"); err != nil {
			t.Fatal(err)
		}
		if got := accepted.Load(); got != each.connections {
			t.Errorf("after a call of server %d: %d connections, want %d", each.server, got, each.connections)
		}
	}
}

func TestSupports(t *testing.T) {
	for text, want := range map[string]bool{
		"http://127.0.0.1:8080/": true, "http://agent": true, "http://[::1]:80/": true, "https://agent": false,
		"http://[fe80::1%25eth0]:80/": false, "http://ägent/": false, "http:///x": false, "ftp://agent": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := http1.Supports(u); got != want {
			t.Errorf("Supports(%q) = %t", text, got)
		}
	}
}
