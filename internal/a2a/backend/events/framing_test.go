// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/events"
)

// newWireAgent starts an agent that sends the same bytes on each connection and then closes
// the connection.
func newWireAgent(t *testing.T, response string) string {
	t.Helper()
	l, err := listen(t, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(conn, response)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return "http://" + l.Addr().String()
}

func TestFramingShowsWhetherAStreamIsWhole(t *testing.T) {
	const (
		chunk    = `{"text":"a"}` + "\n"
		message  = `{"kind":"message","role":"agent","parts":[{"kind":"text","text":"a"}]}` + "\n"
		terminal = `{"kind":"status-update","status":{"state":"completed"}}` + "\n"
		paused   = `{"kind":"status-update","status":{"state":"input-required"}}` + "\n"
		broken   = "failed: The agent's answer broke off"
		unframed = "failed: The agent's answer ended without a final event, and its framing does not show that it is whole"
	)
	head := func(version, contentType string, more ...string) string {
		return version + " 200 OK\r\nContent-Type: " + contentType + "\r\n" + strings.Join(more, "") + "\r\n"
	}
	chunked := func(contentType string, body ...string) string {
		s := head("HTTP/1.1", contentType, "Transfer-Encoding: chunked\r\n")
		for _, b := range body {
			s += strconv.FormatInt(int64(len(b)), 16) + "\r\n" + b + "\r\n"
		}
		return s
	}
	length := func(n int) string { return "Content-Length: " + strconv.Itoa(n) + "\r\n" }
	tests := map[string]struct{ response, want, outcome string }{
		"chunked lines":                    {chunked(ndjson, chunk, ""), "turn-1=a", "whole"},
		"chunked lines, cut":               {chunked(ndjson, chunk), "turn-1=a", broken},
		"chunked lines, cut after the end": {chunked(ndjson, chunk, terminal), "turn-1=a status:completed", "ended"},
		"chunked lines, cut after a pause": {chunked(ndjson, paused), "status:input-required", broken},
		"chunked events, cut":              {chunked(sse, "data: "+chunk+"\n"), "turn-1=a", broken},
		"chunked text, cut":                {chunked("text/plain", "a"), "turn-1=a", broken},
		"lines with a length":              {head("HTTP/1.1", ndjson, length(len(chunk))) + chunk, "turn-1=a", "whole"},
		"lines short of their length":      {head("HTTP/1.1", ndjson, length(100)) + chunk, "turn-1=a", broken},
		"text short of its length":         {head("HTTP/1.1", "text/plain", length(100)) + "a", "turn-1=a", broken},
		"JSON short of its length":         {head("HTTP/1.1", "application/json", length(100)) + "{}", "", broken},
		"unframed lines":                   {head("HTTP/1.0", ndjson) + chunk, "turn-1=a", unframed},
		"unframed lines with an end":       {head("HTTP/1.0", ndjson) + chunk + terminal, "turn-1=a status:completed", "ended"},
		"unframed lines, empty":            {head("HTTP/1.0", ndjson), "", noEvent},
		"unframed lines of 1.1":            {head("HTTP/1.1", ndjson, "Connection: close\r\n") + chunk, "turn-1=a", unframed},
		"unframed events":                  {head("HTTP/1.0", sse) + "data: " + chunk + "\n", "turn-1=a", unframed},
		"unframed message":                 {head("HTTP/1.0", ndjson) + message, "message:a", "whole"},
		"unframed message and more":        {head("HTTP/1.0", ndjson) + message + message, "message:a message:a", unframed},
		"chunked message, cut":             {chunked(ndjson, message), "message:a", broken},
		"unframed text":                    {head("HTTP/1.0", "text/plain") + "a", "turn-1=a turn-1+/last", "whole"},
		"unframed JSON":                    {head("HTTP/1.0", "application/json") + "{}", "turn-1=data{}/last", "whole"},
		"unframed file":                    {head("HTTP/1.0", "image/png") + "x", "turn-1=raw[image/png ]x/last", "whole"},
		"no HTTP":                          {"hello\r\n\r\n", "", "failed: The connection to the agent broke"},
		"nothing":                          {"", "", "failed: The connection to the agent broke"},
		"endless header":                   {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", "", "failed: The header of the agent's answer has more than 16 KiB or 128 fields"},
		"many fields":                      {"HTTP/1.1 200 OK\r\n" + strings.Repeat("abc:\n", 129) + "\r\n", "", "failed: The header of the agent's answer has more than 16 KiB or 128 fields"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t, events.Options{URL: newWireAgent(t, tt.response)})
			got, outcome := run(t, b)
			if got != tt.want || outcome != tt.outcome {
				t.Errorf("Run() = %q, %q\n  want %q, %q", got, outcome, tt.want, tt.outcome)
			}
		})
	}
}

func listen(t *testing.T, address string) (net.Listener, error) {
	t.Helper()
	var config net.ListenConfig
	return config.Listen(t.Context(), "tcp", address)
}
