// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callThat begins a call of call_agent with a version of MCP, on a connection of its own.
func (f *fixture) callThat(t *testing.T, version, session string) net.Conn {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	meta := ""
	header := headerSession + ": " + session + "\r\n"
	if version >= sessionless {
		header = ""
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	}
	call := `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"call_agent","arguments":{"agent":"team/echo","message":"x"}` + meta + "}}"
	_, err = fmt.Fprintf(connection, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		headerVersion+": %s\r\n"+"%sMcp-Method: tools/call\r\nMcp-Name: call_agent\r\nContent-Length: %d\r\n\r\n%s", version, header, len(call), call)
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

// resume reads the rest of a stream after an event.
func (f *fixture) resume(t *testing.T, session, event string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set(headerVersion, "2025-11-25")
	r.Header.Set(headerSession, session)
	r.Header.Set("Last-Event-ID", event)
	response, err := f.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// finishing returns an agent like working, whose task ends when finish is closed.
func finishing(begun chan<- struct{}, methods chan<- string, finish <-chan struct{}) http.HandlerFunc {
	busy := working(begun, methods)
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, stop := context.WithCancel(r.Context())
		defer stop()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			select {
			case <-finish:
			case <-ctx.Done():
			}
			stop()
		}()
		busy(w, r.WithContext(ctx))
		stop()
		<-ended
		select {
		case <-finish:
			_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"1","result":{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED",`+
				`"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"all done"}]}}}}}`+"\n\n")
		default:
		}
	}
}

// In a session, a call goes on when its connection breaks, as the transport of MCP wants, and the client
// reads the rest.
func TestBrokenConnectionIsResumed(t *testing.T) {
	begun, methods, finish := make(chan struct{}, 1), make(chan string, 8), make(chan struct{})
	f := newFixture(t, finishing(begun, methods, finish))
	s := f.connect(t, "2025-11-25")
	connection := f.callThat(t, "2025-11-25", s.ID())
	<-begun
	head := make([]byte, 4<<10)
	n, err := connection.Read(head)
	if err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(string(head[:n]), "id: ") {
		more, err := connection.Read(head[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += more
	}
	_, after, _ := strings.Cut(string(head[:n]), "id: ")
	event, _, _ := strings.Cut(after, "\n")
	_ = connection.Close()
	for f.openRequests() > 0 {
		runtime.Gosched()
	}
	if used := f.options.Limits.Bodies.Used(); used == 0 {
		t.Error("the message of a call that goes on is not charged")
	}
	close(finish)
	status, text := f.resume(t, s.ID(), strings.TrimSpace(event))
	if status != http.StatusOK || !strings.Contains(text, "all done") {
		t.Errorf("the rest of the stream = %d %s", status, text)
	}
	if again, text := f.resume(t, s.ID(), strings.TrimSpace(event)); again != http.StatusOK || !strings.Contains(text, "all done") {
		t.Errorf("the rest of the stream once more = %d %s", again, text)
	}
	f.awaitRelease(t)
	close(methods)
	for method := range methods {
		if method == "CancelTask" {
			t.Error("the task was canceled")
		}
	}
}

// openRequests returns the number of open requests.
func (f *fixture) openRequests() int { return len(f.requests) }

// A client cancels a call in a session with a notification, and a call without a session by the end of its
// connection.
func TestClientsCancelTheirCalls(t *testing.T) {
	for version, cancel := range map[string]func(*testing.T, *fixture, *mcp.ClientSession, net.Conn){
		"2025-11-25": func(t *testing.T, f *fixture, s *mcp.ClientSession, _ net.Conn) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set(headerVersion, "2025-11-25")
			r.Header.Set(headerSession, s.ID())
			response, err := f.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
		},
		"2026-07-28": func(_ *testing.T, _ *fixture, _ *mcp.ClientSession, c net.Conn) { _ = c.Close() },
	} {
		t.Run(version, func(t *testing.T) {
			begun, methods := make(chan struct{}, 1), make(chan string, 8)
			f := newFixture(t, working(begun, methods))
			session := ""
			var s *mcp.ClientSession
			if version < sessionless {
				s = f.connect(t, version)
				session = s.ID()
			}
			connection := f.callThat(t, version, session)
			<-begun
			cancel(t, f, s, connection)
			if first, second := <-methods, <-methods; first != "SendStreamingMessage" || second != "CancelTask" {
				t.Errorf("the agent got %s and %s", first, second)
			}
			if s != nil {
				if err := s.Ping(t.Context(), nil); err != nil {
					t.Errorf("the session has ended: %v", err)
				}
			}
		})
	}
}

// stored returns the number of events of a stream after an index.
func (e *events) stored(t *testing.T, session, id string, index int) (n int, err error) {
	t.Helper()
	for _, err := range e.After(t.Context(), session, id, index) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// answer stores a stream with one event.
func (e *events) answer(t *testing.T, session, id string, data []byte) {
	t.Helper()
	if err := e.Open(t.Context(), session, id); err != nil {
		t.Fatal(err)
	}
	_ = e.Append(t.Context(), session, id, data) // a stream that does not fit is removed
}

func TestStoredEventsAreBounded(t *testing.T) {
	e := newEvents()
	const size = 10 << 10
	const fit = maxStored / (streamBytes + size)
	for i := range fit + 10 {
		e.answer(t, "s", fmt.Sprint(i), make([]byte, size))
	}
	if _, err := e.stored(t, "s", "9", -1); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("the oldest of too many streams: %v", err)
	}
	if err := e.Append(t.Context(), "s", "9", []byte("x")); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("an event of a removed stream: %v", err)
	}
	if n, err := e.stored(t, "s", "10", -1); n != 1 || err != nil {
		t.Errorf("a stream: %d events, %v", n, err)
	}
	if n, err := e.stored(t, "s", "10", 0); n != 0 || err != nil {
		t.Errorf("a stream after its last event: %d events, %v", n, err)
	}
	const largest = maxStored - streamBytes
	e.answer(t, "other", "large", make([]byte, largest))
	if len(e.streams) != 1 || e.bytes != maxStored {
		t.Errorf("%d streams with %d bytes remain beside a large one", len(e.streams), e.bytes)
	}
	_ = e.Append(t.Context(), "other", "large", []byte("x"))
	if len(e.streams) != 0 || e.bytes != 0 || len(e.order) != 0 {
		t.Errorf("a stream beyond the bound stays: %d streams, %d bytes", len(e.streams), e.bytes)
	}
	e.answer(t, "s", "full", make([]byte, largest))
	_ = e.Open(t.Context(), "s", "next")
	if e.bytes > maxStored {
		t.Errorf("%d bytes are stored after the begin of a stream", e.bytes)
	}
	_ = e.SessionClosed(t.Context(), "s")
	for i := range 2 * maxStreams { // calls that are never answered
		_ = e.Open(t.Context(), "s", fmt.Sprint(i))
	}
	if len(e.streams) != maxStreams {
		t.Errorf("%d open streams", len(e.streams))
	}
	_ = e.SessionClosed(t.Context(), "s")
	e.answer(t, "s", "a", []byte(pong))
	e.answer(t, "s", "b", []byte("x"))
	_ = e.Open(t.Context(), "other", "b")
	_ = e.SessionClosed(t.Context(), "s")
	if len(e.streams) != 1 || e.bytes != streamBytes || len(e.order) != 1 || len(e.pings) != 0 {
		t.Errorf("after the end of a session: %d streams, %d bytes", len(e.streams), e.bytes)
	}
	if n, err := e.stored(t, "s", "", -1); n != 0 || err != nil { // the stream for notifications outside of requests
		t.Errorf("the stream without an id: %d events, %v", n, err)
	}
}

// maxStreams bounds the streams without events.
const maxStreams = maxStored / streamBytes

// pong is the answer to a ping.
const pong = `{"jsonrpc":"2.0","id":1,"result":{}}`

// A client may ping while a call of it or of another client runs, or while nobody has read the response of a call.
func TestPingsRemoveNoResponseOfACall(t *testing.T) {
	e := newEvents()
	_ = e.Open(t.Context(), "caller", "runs")
	_ = e.Append(t.Context(), "caller", "runs", []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`))
	e.answer(t, "caller", "short", []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`))
	e.answer(t, "caller", "failed", []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}`))
	e.answer(t, "caller", "unread", make([]byte, maxStored-5*streamBytes-250)) // with the other calls, hardly a ping fits
	for i := range 3 * maxStreams {
		e.answer(t, "pings", fmt.Sprint(i), []byte(pong))
	}
	for _, id := range []string{"runs", "short", "failed", "unread"} {
		if n, err := e.stored(t, "caller", id, -1); n != 1 || err != nil {
			t.Errorf("the response %s after many pings: %d events, %v", id, n, err)
		}
	}
	if e.bytes > maxStored {
		t.Errorf("%d bytes are stored", e.bytes)
	}
}
