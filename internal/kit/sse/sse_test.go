// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadHasLimitsAndDropsHalfEvents(t *testing.T) {
	var got []string
	err := Read(strings.NewReader(": comment\r\nevent: a\r\nid: 1\r\ndata: a\r\ndata: b\r\n\r\ndata:c\n\ndata: half"), func(e Event) error {
		got = append(got, e.Type+e.ID+"="+string(e.Data))
		return nil
	})
	if want := []string{"a1=a\nb", "1=c"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	if err := Read(strings.NewReader("data: "+strings.Repeat("x", MaxEvent+1)+"\n\n"), func(Event) error { return nil }); err == nil {
		t.Error("an event of any size is accepted")
	}
}

func TestReadHeadsKeepsTheFirstBytes(t *testing.T) {
	large := strings.Repeat("x", MaxEvent)
	stream := "id: 1\nevent: a\ndata: abcdefgh" + large + "\n\ndata: abc\ndata: d" + large + "\ndata: " + large + "\ndata: e\n\ndata: z\n\n"
	var got []string
	err := ReadHeads(strings.NewReader(stream), 5, func(e Event) error {
		got = append(got, e.Type+e.ID+"="+string(e.Data))
		if cap(e.Data) > 1<<10 {
			t.Errorf("a buffer has %d bytes", cap(e.Data))
		}
		return nil
	})
	if want := []string{"a1=abcde", "1=abc\nd", "1=z"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestReadAcceptsEveryLineEnd(t *testing.T) {
	const stream = "event: a\rid: 1\rdata: a\rdata: b\r\rdata: c\r\n\rdata: d\n\r\ndata: e\r\n\r\ndata: half\r"
	want := []string{"a1=a\nb", "1=c", "1=d", "1=e"}
	for name, from := range map[string]io.Reader{"at once": strings.NewReader(stream), "byte by byte": iotest.OneByteReader(strings.NewReader(stream))} {
		var got []string
		err := Read(from, func(e Event) error {
			got = append(got, e.Type+e.ID+"="+string(e.Data))
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}

// A stream may begin with a byte order mark, which is no part of its first line (WHATWG HTML, section 9.2.5).
func TestReadIgnoresAByteOrderMark(t *testing.T) {
	const stream = "\uFEFFdata: a\n\ndata: \uFEFFb\n\n\uFEFFdata: c\n\n"
	want := []string{"a", "\uFEFFb"}
	for name, from := range map[string]io.Reader{"at once": strings.NewReader(stream), "byte by byte": iotest.OneByteReader(strings.NewReader(stream))} {
		var got []string
		err := Read(from, func(e Event) error { got = append(got, string(e.Data)); return nil })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}

// A CR ends its line before the next byte arrives, which may be an LF that belongs to the CR.
func TestReadDoesNotWaitAfterCR(t *testing.T) {
	from, to := io.Pipe()
	received := make(chan string)
	done := make(chan error, 1)
	go func() {
		done <- Read(from, func(e Event) error { received <- string(e.Data); return nil })
	}()
	for _, step := range []struct{ text, want string }{{"data: a\r\n\r", "a"}, {"\ndata: b\r\r", "b"}, {"\n\n: x\ndata: c\n\n", "c"}} {
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
