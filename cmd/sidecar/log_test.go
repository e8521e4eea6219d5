// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"io"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestLogIsJSON makes a server send two responses to one request. The HTTP client of net/http logs the second one with
// the standard logger.
func TestLogIsJSON(t *testing.T) {
	former, flags, out := slog.Default(), stdlog.Flags(), stdlog.Writer()
	t.Cleanup(func() {
		slog.SetDefault(former)
		stdlog.SetFlags(flags)
		stdlog.SetOutput(out)
	})
	lines, to := io.Pipe()
	stdlog.SetOutput(to) // the output if newLog did not replace the standard logger
	newLog(to, slog.LevelInfo)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	idle := make(chan struct{})
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			<-idle
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	}()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	response, err := client.Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	close(idle)
	line, err := bufio.NewReader(lines).ReadString('\n')
	var entry struct{ Level, Msg string }
	if err != nil || json.Unmarshal([]byte(line), &entry) != nil || entry.Level == "" || !strings.Contains(entry.Msg, "Unsolicited response") {
		t.Errorf("logged %q, %v, want a line of JSON about an unsolicited response", line, err)
	}
}
