// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestWorstBytes measures the resident memory that a connection of each kind costs a process that
// does nothing else, and fails if the table counts with less.
func TestWorstBytes(t *testing.T) {
	if mode := os.Getenv("SERVE_WORST"); mode != "" {
		serveWorst(t, mode)
		return
	}
	const connections = 400
	header := "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", maxHeaderBytes+3<<10)
	fields := "GET / HTTP/1.1\r\nHost: a\r\n"
	for i := 0; len(fields) < maxHeaderBytes+3<<10; i++ {
		fields += strconv.FormatInt(int64(36*36+i), 36) + ":\r\n"
	}
	long := header + "\r\n\r\n"
	few := "GET / HTTP/1.1\r\nHost: a\r\n"
	for i := range maxFields - 1 {
		few += fmt.Sprintf("X-%d: %s\r\n", i, strings.Repeat("x", maxHeaderBytes/maxFields))
	}
	few += "\r\n"
	tests := map[string]struct {
		tls    bool
		opened string
		want   int64
	}{
		"reads a header":               {false, header, connBytes},
		"reads a header of fields":     {false, fields, connBytes + headBytes},
		"runs a request":               {false, long, connBytes},
		"runs a request of fields":     {false, few, connBytes},
		"reads a header over TLS":      {true, header, connBytes + tlsBytes},
		"reads fields over TLS":        {true, fields, connBytes + tlsBytes + headBytes},
		"runs a request over TLS":      {true, long, connBytes + tlsBytes},
		"runs fields over TLS":         {true, few, connBytes + tlsBytes},
		"does not begin its handshake": {true, "", connBytes + tlsBytes},
		"does not end its hello":       {true, unfinishedHello[:maxHandshakeBytes-1], connBytes + tlsBytes},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			mode := "plain"
			if test.tls {
				mode = "tls"
			}
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWorstBytes$", "-test.v")
			command.Env = append(os.Environ(), "SERVE_WORST="+mode, "GOGC=50")
			in, err := command.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = in.Close()
				_ = command.Wait()
			}()
			lines := bufio.NewReader(out)
			address := answerOf(t, lines, "address ")
			before := resident(t, in, lines)
			for range connections {
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				if test.tls && strings.HasPrefix(test.opened, "GET") {
					conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
				}
				if _, err := io.WriteString(conn, test.opened); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
			each := (resident(t, in, lines) - before) / connections
			t.Logf("%d bytes for each connection", each)
			if each > test.want {
				t.Errorf("%d bytes for each connection, the table counts with %d", each, test.want)
			}
		})
	}
}

func answerOf(t *testing.T, lines *bufio.Reader, prefix string) string {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if _, text, ok := strings.Cut(line, prefix); ok {
			return strings.TrimSpace(text)
		}
	}
}

func resident(t *testing.T, in io.Writer, lines *bufio.Reader) int64 {
	t.Helper()
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(answerOf(t, lines, "resident "), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// serveWorst serves until the end of its input. For each line of input, it writes its memory.
func serveWorst(t *testing.T, mode string) {
	t.Helper()
	ended := make(chan struct{})
	o := Options{Name: "worst", Memory: 4 << 30, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended })}
	if mode == "tls" {
		o.TLS = &tls.Config{Certificates: []tls.Certificate{newCertificate(t)}}
	}
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(o)
	s.ReadHeaderTimeout = time.Minute
	go func() { _ = s.Serve(s.Listener(inner)) }()
	fmt.Println("address", inner.Addr())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		fmt.Println("resident", stats.HeapInuse+stats.StackInuse)
	}
	close(ended)
	_ = s.Close()
}
