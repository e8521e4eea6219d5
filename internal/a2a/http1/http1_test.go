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

// server accepts connections and hands each to serve, with its number from 1.
// A connection closes when serve returns.
func server(t *testing.T, serve func(number int, in *bufio.Reader, conn net.Conn)) *url.URL {
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

// take reads a request and returns its body.
func take(in *bufio.Reader) (*http.Request, string, error) {
	r, err := http.ReadRequest(in)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(r.Body)
	return r, string(body), err
}

func client(t *testing.T, idle time.Duration) *http1.Client {
	t.Helper()
	c := http1.New(http1.Options{Connect: 5 * time.Second, MaxIdle: 2, Idle: idle, MaxHeader: 4 << 10, Now: time.Now})
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func do(ctx context.Context, c *http1.Client, u *url.URL, body string) (string, error) {
	resp, err := c.Do(ctx, &http1.Request{Method: http.MethodPost, URL: u, Header: http.Header{"Accept": {"*/*"}}, Body: []byte(body)})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(text)), err
}

// What a server may answer, and whether its connection serves the next call.
func TestAnswers(t *testing.T) {
	tests := map[string]struct {
		answer string
		want   string
		err    string
		again  bool
	}{
		"length":             {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", want: "200 hi", again: true},
		"nothing":            {answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", want: "200 ", again: true},
		"no content":         {answer: "HTTP/1.1 204 No Content\r\n\r\n", want: "204 ", again: true},
		"chunks":             {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", want: "200 hi", again: true},
		"chunks and trailer": {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: y\r\n\r\n", want: "200 hi", again: true},
		"told to close":      {answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", want: "200 hi"},
		"1.0":                {answer: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", want: "200 hi"},
		"1.0, kept":          {answer: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", want: "200 hi", again: true},
		"continue, hints":    {answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", want: "200 hi", again: true},
		"more than asked":    {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\n\r\n", want: "200 hi"},
		"hints without end":  {answer: strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 9), err: "informational"},
		"switches protocols": {answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", err: "switched protocols"},
		"no HTTP":            {answer: "SSH-2.0-x\r\n\r\n", err: "malformed"},
		"two lengths":        {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi", err: "Content-Length"},
		"long head":          {answer: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 5<<10) + "\r\n\r\n", err: "head of the answer is too long"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			numbers := make(chan int, 2)
			u := server(t, func(number int, in *bufio.Reader, conn net.Conn) {
				for {
					if _, _, err := take(in); err != nil {
						return
					}
					numbers <- number
					if _, err := io.WriteString(conn, tt.answer); err != nil {
						return
					}
				}
			})
			c := client(t, time.Minute)
			for range 2 {
				got, err := do(t.Context(), c, u, "x")
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
			if first, second := <-numbers, <-numbers; (first == second) != tt.again {
				t.Errorf("connections %d and %d, want the same: %t", first, second, tt.again)
			}
		})
	}
}

func TestAnswerThatEndsWithItsConnection(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 200 OK\r\n\r\nhi":                                        "200 hi <nil>",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi":                   "200 hi unexpected EOF",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n": "200 hi unexpected EOF",
		"HTTP/1.1 200 OK\r\n":                                              " read the answer's head: unexpected EOF",
		"":                                                                 " read the answer's head: unexpected EOF",
	} {
		u := server(t, func(_ int, in *bufio.Reader, conn net.Conn) {
			if _, _, err := take(in); err == nil {
				_, _ = io.WriteString(conn, answer)
			}
		})
		text, err := do(t.Context(), client(t, time.Minute), u, "x")
		if got := fmt.Sprint(text, " ", err); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("answer %q: %q, want %q", answer, got, want)
		}
	}
}

func TestRequest(t *testing.T) {
	type sent struct{ Line, Host, Body, Header string }
	got := make(chan sent, 1)
	u := server(t, func(_ int, in *bufio.Reader, conn net.Conn) {
		r, body, err := take(in)
		if err != nil {
			return
		}
		got <- sent{r.Method + " " + r.RequestURI, r.Host, body, fmt.Sprint(r.Header)}
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	for _, size := range []int{0, 1, 31 << 10, 33 << 10, 3 << 20} {
		long := strings.Repeat("y", size)
		resp, err := client(t, time.Minute).Do(t.Context(), &http1.Request{
			Method: http.MethodPost, URL: u.JoinPath("a b").JoinPath("?"), Body: []byte(long),
			Header: http.Header{"traceparent": {"1"}, "X": {"a", "b"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		want := sent{"POST /x/a%20b/%3F", u.Host, long, fmt.Sprintf("map[Content-Length:[%d] Traceparent:[1] X:[a b]]", size)}
		if diff := cmp.Diff(want, <-got); diff != "" {
			t.Errorf("%d bytes: request (-want +got):\n%.500s", size, diff)
		}
	}
}

func TestHeaderThatWouldBeTwo(t *testing.T) {
	c := client(t, time.Minute)
	for name, value := range map[string]string{"X": "a\r\nY: b", "X: y": "z", "": "x", "N": "\x00", "D": "\x7f"} {
		_, err := c.Do(t.Context(), &http1.Request{
			Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Header: http.Header{name: {value}},
		})
		if err == nil || !strings.Contains(err.Error(), "cannot be sent") {
			t.Errorf("Do() of %q: %q: error = %v", name, value, err)
		}
	}
}

// A server that refuses a long request may answer without reading it.
func TestAnswerBeforeTheRequestIsRead(t *testing.T) {
	u := server(t, func(_ int, in *bufio.Reader, conn net.Conn) {
		if _, err := in.ReadString('\n'); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
			_, _ = conn.Read(make([]byte, 1)) // and keeps the connection
			<-t.Context().Done()
		}
	})
	got, err := do(t.Context(), client(t, time.Minute), u, strings.Repeat("x", 64<<20))
	if got != "413 no" || err != nil {
		t.Errorf("Do() = %q, %v", got, err)
	}
}

// A connection that its server has closed, or talks on unasked, is not used.
func TestIdleConnectionThatIsNoLongerQuiet(t *testing.T) {
	for name, unasked := range map[string]string{"closed": "", "talks": "HTTP/1.1 408 Request Timeout\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			over := make(chan struct{}, 2)
			u := server(t, func(_ int, in *bufio.Reader, conn net.Conn) {
				if _, _, err := take(in); err != nil {
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
				// After the answer was taken, which this side cannot see: the peer's
				// acknowledgement comes with the next packet.
				_, _ = io.WriteString(conn, unasked)
				_ = conn.(*net.TCPConn).CloseWrite()
				over <- struct{}{}
				_, _, _ = take(in)
			})
			c := client(t, time.Minute)
			for range 2 {
				if got, err := do(t.Context(), c, u, "x"); got != "200 hi" || err != nil {
					t.Errorf("Do() = %q, %v", got, err)
				}
				<-over
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: freeport.Address(t)}
	_, err := do(t.Context(), client(t, time.Minute), u, "x")
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "dial" {
		t.Errorf("Do() error = %v, want one of dial", err)
	}
}

// The end of a call ends it wherever it is, and says why.
func TestCallEnds(t *testing.T) {
	for name, answer := range map[string]string{
		"before the head": "",
		"in the head":     "HTTP/1.1 200 OK\r\nX",
		"in the body":     "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi",
	} {
		t.Run(name, func(t *testing.T) {
			reached, left := make(chan struct{}), make(chan struct{})
			u := server(t, func(_ int, in *bufio.Reader, conn net.Conn) {
				if _, _, err := take(in); err != nil {
					return
				}
				_, _ = io.WriteString(conn, answer)
				close(reached)
				_, _ = in.ReadByte()
				close(left)
			})
			why := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-reached; cancel(why) }()
			if got, err := do(ctx, client(t, time.Minute), u, "x"); !errors.Is(err, why) {
				t.Errorf("Do() = %q, %v, want %v", got, err, why)
			}
			<-left
		})
	}
}

func TestBodyThatIsNotReadToItsEnd(t *testing.T) {
	left := make(chan struct{})
	u := server(t, func(_ int, in *bufio.Reader, conn net.Conn) {
		if _, _, err := take(in); err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi")
		_, _ = in.ReadByte()
		close(left)
	})
	resp, err := client(t, time.Minute).Do(t.Context(), &http1.Request{Method: http.MethodGet, URL: u})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	_ = resp.Body.Close()
	<-left
	if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("Read() after Close() = %d, %v", n, err)
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	left := make(chan struct{}, 3)
	u := server(t, func(_ int, in *bufio.Reader, conn net.Conn) {
		defer func() { left <- struct{}{} }()
		for {
			if _, _, err := take(in); err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		}
	})
	c := client(t, 10*time.Millisecond)
	var all []*http.Response
	for range 3 { // of which two are kept
		resp, err := c.Do(t.Context(), &http1.Request{Method: http.MethodGet, URL: u})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, resp)
	}
	for _, resp := range all {
		_ = resp.Body.Close()
	}
	<-left
}

// TestTheLastUsedAreKept: an old connection does not keep a new one out.
func TestTheLastUsedAreKept(t *testing.T) {
	c := client(t, time.Minute)
	var calls atomic.Int64
	urls := make([]*url.URL, 3)
	for i := range urls {
		urls[i] = server(t, func(_ int, in *bufio.Reader, conn net.Conn) {
			calls.Add(1)
			for {
				if _, _, err := take(in); err != nil {
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
		if _, err := do(t.Context(), c, urls[each.server], "x"); err != nil {
			t.Fatal(err)
		}
		if got := calls.Load(); got != each.connections {
			t.Errorf("after a call of server %d: %d connections, want %d", each.server, got, each.connections)
		}
	}
}

func TestSpeaks(t *testing.T) {
	for text, want := range map[string]bool{
		"http://127.0.0.1:8080/": true, "http://agent": true, "http://[::1]:80/": true, "https://agent": false,
		"http://[fe80::1%25eth0]:80/": false, "http://ägent/": false, "http:///x": false, "ftp://agent": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := http1.Speaks(u); got != want {
			t.Errorf("Speaks(%q) = %t", text, got)
		}
	}
}
