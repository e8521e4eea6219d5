// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// countedReads is the body of a response that counts its reads.
type countedReads struct {
	io.Reader
	count int
}

func (r *countedReads) Read(p []byte) (int, error) {
	r.count++
	return r.Reader.Read(p)
}

func (r *countedReads) Close() error { return nil }

func TestDiscardRestReadsOnlyUntilTheEnd(t *testing.T) {
	tests := map[string]struct {
		body io.Reader
		// first is the number of bytes that are read before the rest is discarded.
		first, rest int
		read        bool
	}{
		"unread rest":               {strings.NewReader("line\nrest"), 5, 0, true},
		"end with the last bytes":   {iotest.DataErrReader(strings.NewReader("line\n")), 64, 0, false},
		"end after the last bytes":  {strings.NewReader("line\n"), 5, 0, true},
		"lost connection":           {iotest.ErrReader(io.ErrUnexpectedEOF), 5, 0, false},
		"rest of more than allowed": {strings.NewReader(strings.Repeat("x", 5+maxDiscard+7)), 5, 7, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			counted := &countedReads{Reader: tt.body}
			client := New(nil, Limits{})
			err := client.Turn(context.Background(), func(_ context.Context, w *Watchdog) error {
				b := client.NewBody(&http.Response{Body: counted, ContentLength: -1}, w)
				_, _ = io.ReadFull(b, make([]byte, tt.first))
				before := counted.count
				b.DiscardRest()
				if got := counted.count > before; got != tt.read {
					t.Errorf("DiscardRest() reads: %t, want %t", got, tt.read)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if rest, _ := io.ReadAll(tt.body); len(rest) != tt.rest {
				t.Errorf("%d bytes are left, want %d", len(rest), tt.rest)
			}
		})
	}
}

// TestAdmit checks that all texts that were decoded since the last read are charged together.
func TestAdmit(t *testing.T) {
	var reserved []int64
	client := New(nil, Limits{MaxEvent: 1 << 20})
	b := client.NewBody(&http.Response{ContentLength: -1}, nil)
	b.Reserve = func(bytes int64) error {
		reserved = append(reserved, bytes)
		return nil
	}
	many := []byte("[" + strings.Repeat("{},", 1000) + "{}]")
	few := []byte(`{"text":"hi"}`)
	weight := WeightOf(many)
	for _, text := range [][]byte{few, many, many} {
		if err := b.Admit(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.reserve(1); err != nil { // the next read
		t.Fatal(err)
	}
	if err := b.Admit(few); err != nil {
		t.Fatal(err)
	}
	one := WeightOf(few)
	if want := []int64{one + weight, one + 2*weight, 0}; !slices.Equal(reserved, want) {
		t.Errorf("reserved %v, want %v", reserved, want)
	}
	b.Reserve = AtMost(weight - 1)
	if err := b.Admit(many); err == nil || !strings.Contains(err.Error(), "is the limit") {
		t.Errorf("Admit() = %v, want the limit", err)
	}
}
