// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package responseheader_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
)

func fields(count int) string { return strings.Repeat("a:\n", count) }

// TestMeter checks which responses are refused, whatever the pieces in which they arrive.
func TestMeter(t *testing.T) {
	const status = "HTTP/1.1 200 OK\r\n"
	const hints = "HTTP/1.1 103 Early Hints\n"
	tests := map[string]struct {
		response string
		refused  bool
	}{
		"128 fields and a body":                   {status + fields(128) + "\r\n" + strings.Repeat("\n", 1000), false},
		"129 fields":                              {status + fields(129), true},
		"129 continued lines":                     {status + "a: b\n" + strings.Repeat(" c\n", 128), true},
		"16 KiB":                                  {status + "a: " + strings.Repeat("b", 16<<10), true},
		"an endless status line":                  {"HTTP/1.1 200 " + strings.Repeat("b", 16<<10), true},
		"blank lines of spaces":                   {status + strings.Repeat(" \n", 129), true},
		"informational responses":                 {strings.Repeat(hints+fields(20)+"\r\n", 6) + status + fields(8) + "\n" + fields(200), false},
		"fields of informational responses":       {strings.Repeat(hints+fields(43)+"\r\n", 3), true},
		"informational responses without a field": {strings.Repeat(hints+"\n", 1000), true},
		"a switch of protocols":                   {"HTTP/1.1 101 Switching\n\n" + fields(200), false},
		"a status below 100":                      {"HTTP/1.1 012 x\n\n" + status + fields(129), true},
		"a status after two spaces":               {"HTTP/1.1  103 x\n\n" + status + fields(129), true},
		"another protocol":                        {"SSH-2.0\n\n" + fields(129), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 7, len(tt.response)} {
				var m responseheader.Meter
				m.Begin()
				err := error(nil)
				for rest := []byte(tt.response); len(rest) > 0 && err == nil; rest = rest[min(size, len(rest)):] {
					err = m.Add(rest[:min(size, len(rest))])
				}
				if (err != nil) != tt.refused {
					t.Errorf("in pieces of %d bytes: Add() = %v, want an error: %v", size, err, tt.refused)
				}
			}
		})
	}
}

// serve answers each request of a connection.
func serve(t *testing.T, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewReader(conn); ; {
					request, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					if _, err := io.WriteString(conn, answer); err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, request.Body)
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// TestBound checks that a transport refuses the header of a response by its fields, at each request of a connection.
func TestBound(t *testing.T) {
	body := fields(2000)
	tests := map[string]struct {
		answer string
		want   string
		err    error
	}{
		"a body of many lines": {"HTTP/1.1 200 OK\r\nContent-Length: 6000\r\n\r\n" + body, body, nil},
		"a body that looks like a header": {
			"HTTP/1.1 200 OK\r\nContent-Length: 6017\r\n\r\nHTTP/1.1 200 OK\r\n" + body, "HTTP/1.1 200 OK\r\n" + body, nil,
		},
		"many fields": {"HTTP/1.1 200 OK\r\n" + fields(129), "", responseheader.ErrTooLong},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			transport := responseheader.Bound(&http.Transport{})
			t.Cleanup(transport.CloseIdleConnections)
			client := &http.Client{Transport: transport}
			address := serve(t, tt.answer)
			for range 3 {
				response, err := client.Post(address, "text/plain", strings.NewReader("x"))
				if !errors.Is(err, tt.err) {
					t.Fatalf("Post() = %v, want %v", err, tt.err)
				}
				if err != nil {
					continue
				}
				text, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if err != nil || string(text) != tt.want {
					t.Errorf("got %d bytes and %v, want %d", len(text), err, len(tt.want))
				}
			}
		})
	}
}

// TestBoundWithTraceOfInformationalResponses checks that such a trace, which makes net/http forget their size, lifts no limit.
func TestBoundWithTraceOfInformationalResponses(t *testing.T) {
	transport := responseheader.Bound(&http.Transport{})
	t.Cleanup(transport.CloseIdleConnections)
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { return nil }})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, serve(t, strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1000)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := transport.RoundTrip(request); err == nil {
		t.Errorf("RoundTrip() = %v, want an error", response)
	}
}

// TestBoundDuringUpload checks that the rest of a request, written while its response arrives, does not make a header of the body.
func TestBoundDuringUpload(t *testing.T) {
	body := fields(200_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if err := control.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		for rest := body; rest != ""; rest = rest[min(3000, len(rest)):] {
			_, _ = io.WriteString(w, rest[:min(3000, len(rest))])
			_ = control.Flush()
			_, _ = io.CopyN(io.Discard, r.Body, 4096)
		}
	}))
	t.Cleanup(server.Close)
	transport := responseheader.Bound(&http.Transport{})
	t.Cleanup(transport.CloseIdleConnections)
	upload := iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 4096*20)))
	response, err := (&http.Client{Transport: transport}).Post(server.URL, "text/plain", upload)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != body {
		t.Errorf("got %d bytes and %v, want %d", len(text), err, len(body))
	}
}

// TestState checks that a bounded transport uses TLS by its settings.
func TestState(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	trusting := server.Client().Transport.(*http.Transport).TLSClientConfig
	transport := responseheader.Bound(&http.Transport{TLSClientConfig: trusting})
	t.Cleanup(transport.CloseIdleConnections)
	var used net.Conn
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { used = c.Conn }})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if state := responseheader.State(used); state == nil || !state.PeerCertificates[0].Equal(server.Certificate()) {
		t.Errorf("State() = %v, want the certificate of the server", state)
	}
	if _, err := responseheader.Bound(&http.Transport{}).RoundTrip(request.Clone(t.Context())); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("RoundTrip() = %v, want an unknown authority", err)
	}
}
