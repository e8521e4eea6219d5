// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endless is a stream that yields the records of the channel, and ends with its context.
type endless chan []*a2a.Record

func (s endless) Next(ctx context.Context) ([]*a2a.Record, error) {
	select {
	case records, ok := <-s:
		if !ok {
			return nil, io.EOF
		}
		return records, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s endless) Close() {}

func text(seq uint64, t string) *a2a.Record {
	return &a2a.Record{Seq: seq, Event: a2a.Event{Message: &a2a.Message{ID: t}}}
}

func reply(stream a2a.Stream) *Reply {
	return &Reply{
		Frame: Frame{
			Append: func(dst []byte, e *a2a.Event) []byte { return append(dst, e.Message.ID...) },
			Prefix: []byte("<"), Suffix: []byte(">"),
		},
		Stream:      stream,
		IsLast:      func(e *a2a.Event) bool { return e.Message.ID == "close" },
		FinalEvent:  func(*a2a.Event) *a2a.Event { return nil },
		EncodeError: func(error) []byte { return []byte("failed") },
	}
}

func config() Config {
	return Config{KeepAlive: time.Minute, WriteTimeout: time.Minute, Now: time.Now}
}

// serve starts a server that responds with a stream, over HTTP/1.1 or HTTP/2. It returns
// the response and the error of Serve.
func serve(t *testing.T, c Config, stream a2a.Stream, http2 bool) (*http.Response, <-chan error) {
	t.Helper()
	result := make(chan error, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result <- c.Serve(r.Context(), w, reply(stream))
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	t.Cleanup(transport.CloseIdleConnections)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response, result
}

func both(t *testing.T, test func(t *testing.T, http2 bool)) {
	t.Helper()
	t.Run("HTTP1", func(t *testing.T) { test(t, false) })
	t.Run("HTTP2", func(t *testing.T) { test(t, true) })
}

func TestEachBatchArrivesAtOnce(t *testing.T) {
	both(t, func(t *testing.T, http2 bool) {
		t.Helper()
		stream := make(endless)
		response, result := serve(t, config(), stream, http2)
		lines := bufio.NewReader(response.Body)
		for _, batch := range [][]*a2a.Record{{text(1, "a"), text(2, "b")}, {text(3, "c")}} {
			stream <- batch
			for _, r := range batch {
				want := "id: " + string('0'+byte(r.Seq)) + "\ndata: <" + r.Message.ID + ">\n\n"
				got := make([]byte, len(want))
				if _, err := io.ReadFull(lines, got); err != nil || string(got) != want {
					t.Fatalf("read %q, %v, want %q", got, err, want)
				}
			}
		}
		close(stream)
		if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
			t.Errorf("rest = %q, %v", rest, err)
		}
		if err := <-result; err != nil {
			t.Errorf("Serve() error = %v", err)
		}
	})
}

func TestLargeAndManyEvents(t *testing.T) {
	large := strings.Repeat("x", 3<<20)
	stream := make(endless, 2)
	batch := []*a2a.Record{text(1, "a"), text(2, large), text(3, "b")}
	var want strings.Builder
	want.WriteString("id: 1\ndata: <a>\n\nid: 2\ndata: <" + large + ">\n\nid: 3\ndata: <b>\n\n")
	for range 5000 {
		batch = append(batch, text(4, "chunk"))
		want.WriteString("id: 4\ndata: <chunk>\n\n")
	}
	stream <- batch
	close(stream)
	response, _ := serve(t, config(), stream, false)
	got, err := io.ReadAll(response.Body)
	if err != nil || string(got) != want.String() {
		t.Errorf("read %d bytes, %v, want %d", len(got), err, want.Len())
	}
}

func TestLastEventEndsTheResponse(t *testing.T) {
	stream := make(endless, 1)
	stream <- []*a2a.Record{text(1, "close"), text(2, "never")}
	response, result := serve(t, config(), stream, false)
	got, _ := io.ReadAll(response.Body)
	if string(got) != "id: 1\ndata: <close>\n\n" || <-result != nil {
		t.Errorf("stream = %q", got)
	}
}

// TestStreamHasDataOnly checks a stream for clients that read only data fields.
func TestStreamHasDataOnly(t *testing.T) {
	stream := make(endless, 2)
	stream <- []*a2a.Record{text(1, "a")}
	stream <- []*a2a.Record{text(2, "close")}
	c := config()
	c.KeepAlive = 0
	r := reply(stream)
	r.Frame.Unnumbered = true
	w := httptest.NewRecorder()
	if err := c.Serve(t.Context(), w, r); err != nil {
		t.Errorf("Serve() error = %v", err)
	}
	if got := w.Body.String(); got != "data: <a>\n\ndata: <close>\n\n" {
		t.Errorf("stream = %q", got)
	}
}

func TestKeepAlive(t *testing.T) {
	both(t, func(t *testing.T, http2 bool) {
		t.Helper()
		c := config()
		c.KeepAlive = time.Millisecond
		stream := make(endless)
		response, result := serve(t, c, stream, http2)
		lines := bufio.NewReader(response.Body)
		for range 6 {
			line, err := lines.ReadString('\n')
			if err != nil || line != ": keep-alive\n" && line != "\n" {
				t.Fatalf("read %q, %v", line, err)
			}
		}
		close(stream)
		if err := <-result; err != nil {
			t.Errorf("Serve() error = %v", err)
		}
	})
}

// TestIdleStreamOutlivesTheWriteTimeout checks that no write deadline stays after a write.
// HTTP/2 would reset a stream when a deadline passes, even without a write.
func TestIdleStreamOutlivesTheWriteTimeout(t *testing.T) {
	both(t, func(t *testing.T, http2 bool) {
		t.Helper()
		c := config()
		c.WriteTimeout = 500 * time.Millisecond
		stream := make(endless)
		response, _ := serve(t, c, stream, http2)
		lines := bufio.NewReader(response.Body)
		for i := range 2 {
			if i > 0 {
				idle := time.NewTimer(3 * c.WriteTimeout / 2)
				<-idle.C
			}
			stream <- []*a2a.Record{text(1, "a")}
			for range 3 {
				if _, err := lines.ReadString('\n'); err != nil {
					t.Fatalf("read: %v", err)
				}
			}
		}
		close(stream)
	})
}

func TestSlowClientIsDisconnected(t *testing.T) {
	both(t, func(t *testing.T, http2 bool) {
		t.Helper()
		c := config()
		c.WriteTimeout = 100 * time.Millisecond
		stream := make(endless, 64)
		for range cap(stream) {
			stream <- []*a2a.Record{text(1, strings.Repeat("x", 1<<20))}
		}
		_, result := serve(t, c, stream, http2)
		select {
		case err := <-result:
			if !errors.Is(err, ErrStalled) {
				t.Errorf("Serve() error = %v, want ErrStalled", err)
			}
			// The HTTP server has ended the context of the request.
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			var logged strings.Builder
			if failure := FailureOf(ended, slog.New(slog.NewTextHandler(&logged, nil)), "Stream", err); failure != nil {
				t.Errorf("FailureOf(%v) = %v, want nil", err, failure)
			}
			if !strings.Contains(logged.String(), "disconnected slow consumer") {
				t.Errorf("log = %q, want the slow consumer", logged.String())
			}
		case <-time.After(10 * time.Second):
			t.Fatal("Serve() continues for a client that does not read")
		}
	})
}

// TestFailureOfAStreamNamesTheShutdown checks that FailureOf distinguishes a stream that
// the shutdown ended from a stream whose client disconnected.
func TestFailureOfAStreamNamesTheShutdown(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	cutOff, stop := context.WithCancelCause(t.Context())
	stop(a2a.ErrDraining)
	left, leave := context.WithCancel(t.Context())
	leave()
	for _, err := range []error{context.Canceled, fmt.Errorf("%w: broken pipe", ErrStalled), a2a.ErrDraining} {
		if got := FailureOf(cutOff, log, "Stream", err); !errors.Is(got, a2a.ErrDraining) {
			t.Errorf("FailureOf(%v) = %v at the shutdown, want ErrDraining", err, got)
		}
		if got := FailureOf(left, log, "Stream", err); !errors.Is(got, context.Canceled) {
			t.Errorf("FailureOf(%v) = %v after the client left, want that of its context", err, got)
		}
	}
	if got := FailureOf(cutOff, log, "Stream", nil); got != nil {
		t.Errorf("FailureOf(nil) = %v", got)
	}
}

func TestClientLeaves(t *testing.T) {
	both(t, func(t *testing.T, http2 bool) {
		t.Helper()
		stream := make(endless)
		response, result := serve(t, config(), stream, http2)
		stream <- []*a2a.Record{text(1, "a")}
		_ = response.Body.Close()
		if err := <-result; !errors.Is(err, context.Canceled) && !errors.Is(err, ErrStalled) {
			t.Errorf("Serve() error = %v, want that of a client that left", err)
		}
	})
}

func TestErrorsEndAStream(t *testing.T) {
	tests := map[error]string{
		a2a.ErrDraining:       "id: 1\ndata: <a>\n\n",
		a2a.ErrSlowSubscriber: "id: 1\ndata: <a>\n\n",
		errors.New("x"):       "id: 1\ndata: <a>\n\ndata: failed\n\n",
	}
	for err, want := range tests {
		t.Run(err.Error(), func(t *testing.T) {
			w := httptest.NewRecorder()
			r := reply(failing{err})
			r.First = []*a2a.Record{text(1, "a")}
			if got := config().Serve(t.Context(), w, r); !errors.Is(got, err) {
				t.Errorf("Serve() error = %v, want %v", got, err)
			}
			if w.Body.String() != want {
				t.Errorf("stream = %q, want %q", w.Body, want)
			}
		})
	}
}

func TestParseLastEventID(t *testing.T) {
	for text, want := range map[string]uint64{"7": 7, "t1:8": 8, "a:b:9": 9, "0": 0} {
		if got := ParseLastEventID(text); got == nil || *got != want {
			t.Errorf("ParseLastEventID(%q) = %v, want %d", text, got, want)
		}
	}
	for _, text := range []string{"", "x", "-1", "1.5", "t1:", "99999999999999999999"} {
		if got := ParseLastEventID(text); got != nil {
			t.Errorf("ParseLastEventID(%q) = %d, want nil", text, *got)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	c := config()
	frame := reply(nil).Frame
	records := []*a2a.Record{text(1, strings.Repeat("x", 200))}
	_, s := c.Open(b.Context(), discard{http.Header{}})
	defer s.Close()
	never := func(*a2a.Event) bool { return false }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Write(&frame, records, never); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
func (d discard) Flush()                      {}
