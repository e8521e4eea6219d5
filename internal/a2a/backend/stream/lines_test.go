// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
)

// readSSE calls take with each event of body, as "LINE=DATA".
func readSSE(body io.Reader, take func(string)) error {
	client := New(nil, Limits{})
	return client.Turn(context.Background(), func(_ context.Context, w *Watchdog) error {
		b := client.NewBody(&http.Response{Body: io.NopCloser(body), ContentLength: -1}, w)
		return b.SSE(func(line int, data []byte) error {
			take(fmt.Sprintf("%d=%s", line, data))
			return nil
		}, func() error { return nil })
	})
}

func TestSSEAcceptsEveryLineEnd(t *testing.T) {
	const body = "event: a\rdata: a\rdata: b\r\rdata: c\r\n\rdata: d\n\r\ndata: e\r\n\r\n\ndata: f\r"
	want := []string{"2=a\nb", "5=c", "7=d", "9=e", "12=f"}
	for name, from := range map[string]io.Reader{"at once": strings.NewReader(body), "byte by byte": iotest.OneByteReader(strings.NewReader(body))} {
		var got []string
		err := readSSE(from, func(e string) { got = append(got, e) })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}

// A CR ends its line before the next byte arrives, which may be an LF that belongs to the CR.
func TestSSEDoesNotWaitAfterCR(t *testing.T) {
	from, to := io.Pipe()
	received := make(chan string)
	done := make(chan error, 1)
	go func() { done <- readSSE(from, func(e string) { received <- e }) }()
	for _, step := range []struct{ text, want string }{
		{"data: a\r\n\r", "1=a"}, {"\ndata: b\r\r", "3=b"}, {"\n\n: x\ndata: c\n\n", "7=c"},
	} {
		if _, err := io.WriteString(to, step.text); err != nil {
			t.Fatal(err)
		}
		if got := <-received; got != step.want {
			t.Errorf("after %q the event is %q, want %q", step.text, got, step.want)
		}
	}
	_ = to.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The lines that have arrived completely are known, so that their events are sent together.
func TestPendingLinesCountEveryLineEnd(t *testing.T) {
	client := New(nil, Limits{})
	var got []int
	err := client.Turn(t.Context(), func(_ context.Context, w *Watchdog) error {
		body := io.NopCloser(strings.NewReader("data: a\r\rdata: b\r\n\r\ndata: c\n\n"))
		b := client.NewBody(&http.Response{Body: body, ContentLength: -1}, w)
		return b.SSE(func(int, []byte) error { got = append(got, b.PendingLines()); return nil }, func() error { return nil })
	})
	if want := []int{4, 2, 0}; err != nil || !slices.Equal(got, want) {
		t.Errorf("pending lines %v, %v, want %v", got, err, want)
	}
}

// TestSSEReservesTheDataOfManyLines checks that the data of an event of many short lines are charged before they are read, and
// released after the event.
func TestSSEReservesTheDataOfManyLines(t *testing.T) {
	const lines = 1000
	line := "data:" + strings.Repeat("x", 999) + "\n"
	tests := map[string]struct {
		body  string
		least int64
	}{
		"many lines": {strings.Repeat(line, lines), lines * 1000},
		"one line":   {"data:" + strings.Repeat("x", lines*1000) + "\n", lines * 1000},
		"few lines":  {strings.Repeat(line, 8), 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			client := New(nil, Limits{MaxEvent: 2 << 20})
			var reserved, most, atEvent int64
			b := client.NewBody(&http.Response{Body: io.NopCloser(strings.NewReader(tt.body + "\ndata: end\n\n")), ContentLength: -1}, nil)
			b.Reserve = func(bytes int64) error {
				reserved = bytes
				most = max(most, bytes)
				return nil
			}
			err := b.SSE(func(_ int, data []byte) error {
				if len(data) > 3 {
					atEvent = reserved
				}
				return nil
			}, func() error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if atEvent < memoryshare.EventCost*tt.least || most > 3*memoryshare.EventCost*tt.least {
				t.Errorf("reserved %d bytes at the event and %d at most, want %d to %d", atEvent, most, memoryshare.EventCost*tt.least, 3*memoryshare.EventCost*tt.least)
			}
			if name == "many lines" && reserved != 0 {
				t.Errorf("%d bytes stay reserved after the event", reserved)
			}
		})
	}
	t.Run("no memory", func(t *testing.T) {
		b := New(nil, Limits{MaxEvent: 2 << 20}).NewBody(&http.Response{Body: io.NopCloser(strings.NewReader(tests["many lines"].body)), ContentLength: -1}, nil)
		b.Reserve = AtMost(memoryshare.EventCost * 500 << 10)
		err := b.SSE(func(int, []byte) error { t.Error("the event was read"); return nil }, func() error { return nil })
		if err == nil || !strings.Contains(err.Error(), "is the limit") {
			t.Errorf("SSE() = %v, want the limit", err)
		}
	})
}

// TestSSEBoundsTheID checks that the id of an event, which a stream keeps, has a bound.
func TestSSEBoundsTheID(t *testing.T) {
	for size, want := range map[int]bool{maxEventID: true, maxEventID + 1: false} {
		err := readSSE(strings.NewReader("id: "+strings.Repeat("7", size)+"\ndata: a\n\n"), func(string) {})
		if (err == nil) != want {
			t.Errorf("an id of %d bytes: %v", size, err)
		}
	}
}
