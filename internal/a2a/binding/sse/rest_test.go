// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// lot has a place for one stream.
type lot struct {
	mu   sync.Mutex
	text bytes.Buffer
	fail error

	client context.Context //nolint:containedctx // of the client
	leave  context.CancelFunc
	full   bool
	whole  chan bool
	parked chan struct{}
}

func newLot(t *testing.T) *lot {
	t.Helper()
	l := &lot{whole: make(chan bool, 1), parked: make(chan struct{})}
	l.client, l.leave = context.WithCancel(context.Background())
	t.Cleanup(l.leave)
	return l
}

func (l *lot) park(_ http.ResponseWriter, _ *http.Request, serve func(context.Context, Parked) bool) bool {
	if l.full {
		close(l.parked)
		return false
	}
	go func() {
		close(l.parked)
		l.whole <- serve(l.client, l)
	}()
	return true
}

func (l *lot) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return 0, l.fail
	}
	return l.text.Write(p)
}

func (l *lot) Flush() error                     { return nil }
func (l *lot) SetWriteDeadline(time.Time) error { return nil }

// resting serves a stream that rests at once, and returns what Ended was told.
func resting(t *testing.T, l *lot, c Config, stream a2a.Stream, change func(*Reply)) (before *httptest.ResponseRecorder, ended <-chan error) {
	t.Helper()
	c.Park, c.Quiet = l.park, time.Millisecond
	told := make(chan error, 1)
	r := reply(stream)
	r.Request = httptest.NewRequest(http.MethodGet, "/", nil)
	r.First = []*a2a.Record{text(1, "first")}
	r.Ended = func(_ context.Context, err error) { told <- err }
	if change != nil {
		change(r)
	}
	before = httptest.NewRecorder()
	if err := c.Serve(t.Context(), before, r); !errors.Is(err, ErrResting) {
		t.Fatalf("Serve() error = %v, want ErrResting", err)
	}
	return before, told
}

const (
	firstFrame = "id: 1\ndata: <first>\n\n"
	moreFrames = "id: 2\ndata: <a>\n\nid: 3\ndata: <b>\n\n"
)

func TestQuietStreamRestsAndGoesOn(t *testing.T) {
	l, stream := newLot(t), make(endless, 2)
	before, ended := resting(t, l, config(), stream, nil)
	stream <- []*a2a.Record{text(2, "a")}
	stream <- []*a2a.Record{text(3, "b")}
	close(stream)
	if err := <-ended; err != nil {
		t.Errorf("Ended(%v)", err)
	}
	if !<-l.whole {
		t.Error("the response is not whole")
	}
	if got := before.Body.String(); got != firstFrame {
		t.Errorf("before it rested = %q", got)
	}
	if got := l.text.String(); got != moreFrames {
		t.Errorf("after that = %q", got)
	}
}

// hasty has an event at the moment at which it is told to rest.
type hasty struct {
	endless
	waiting *a2a.Record
}

func (h *hasty) Next(ctx context.Context) ([]*a2a.Record, error) {
	records, err := h.endless.Next(ctx)
	if err != nil && h.waiting != nil {
		records, h.waiting = []*a2a.Record{h.waiting}, nil
	}
	return records, err
}

func TestNoEventIsLostWhenAStreamGoesToRest(t *testing.T) {
	l, stream := newLot(t), &hasty{make(endless, 1), text(2, "a")}
	_, ended := resting(t, l, config(), stream, nil)
	stream.endless <- []*a2a.Record{text(3, "b")}
	close(stream.endless)
	if err := <-ended; err != nil || l.text.String() != moreFrames {
		t.Errorf("after it went to rest = %q, Ended(%v)", l.text.String(), err)
	}
}

func TestStreamThatNobodyParksGoesOn(t *testing.T) {
	l, stream := newLot(t), make(endless)
	l.full = true
	c := config()
	c.Park, c.Quiet = l.park, time.Millisecond
	r := reply(stream)
	r.Request = httptest.NewRequest(http.MethodGet, "/", nil)
	r.First = []*a2a.Record{text(1, "first")}
	go func() {
		<-l.parked
		stream <- []*a2a.Record{text(2, "a"), text(3, "b")}
		close(stream)
	}()
	w := httptest.NewRecorder()
	if err := c.Serve(t.Context(), w, r); err != nil || w.Body.String() != firstFrame+moreFrames {
		t.Errorf("stream = %q, %v", w.Body.String(), err)
	}
}

func TestRestingStreamIsKeptAlive(t *testing.T) {
	l, stream := newLot(t), make(endless)
	c := config()
	c.KeepAlive = 2 * time.Millisecond
	_, ended := resting(t, l, c, stream, nil)
	for deadline := time.Now().Add(10 * time.Second); ; {
		l.mu.Lock()
		got := l.text.String()
		l.mu.Unlock()
		if strings.Count(got, ": keep-alive\n\n") > 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("stream = %q", got)
		}
		time.Sleep(time.Millisecond)
	}
	close(stream)
	if err := <-ended; err != nil {
		t.Errorf("Ended(%v)", err)
	}
}

func TestEndsOfRestingStreams(t *testing.T) {
	broken := errors.New("broken")
	tests := map[string]struct {
		stream a2a.Stream
		change func(*lot)
		reply  func(*Reply)
		want   error
		whole  bool
		text   string
	}{
		"the client leaves":  {make(endless), (*lot).leaveIt, nil, context.Canceled, true, ""},
		"the client stalls":  {filled(text(2, "a")), func(l *lot) { l.fail = broken }, nil, ErrStalled, false, ""},
		"the sidecar drains": {ending{a2a.ErrDraining}, nil, nil, a2a.ErrDraining, true, ""},
		"the store breaks":   {ending{broken}, nil, nil, broken, true, "data: failed\n\n"},
		"a panic": {filled(text(2, "a")), nil, func(r *Reply) {
			add := r.Frame.Append
			r.Frame.Append = func(dst []byte, e *a2a.Event) []byte {
				if e.Message.ID == "a" {
					panic("gone wrong")
				}
				return add(dst, e)
			}
		}, nil, false, ""},
		"the last event": {filled(text(2, "close")), nil, nil, nil, true, "id: 2\ndata: <close>\n\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLot(t)
			if test.change != nil {
				test.change(l)
			}
			_, ended := resting(t, l, config(), &later{l.parked, test.stream}, test.reply)
			err := <-ended
			if name == "a panic" {
				if err == nil || !strings.Contains(err.Error(), "gone wrong") {
					t.Errorf("Ended(%v)", err)
				}
			} else if !errors.Is(err, test.want) {
				t.Errorf("Ended(%v), want %v", err, test.want)
			}
			if whole := <-l.whole; whole != test.whole || l.text.String() != test.text {
				t.Errorf("whole = %v, text = %q", whole, l.text.String())
			}
		})
	}
}

func (l *lot) leaveIt() { l.leave() }

// later is a stream on which nothing happens until it rests.
type later struct {
	parked <-chan struct{}
	a2a.Stream
}

func (s *later) Next(ctx context.Context) ([]*a2a.Record, error) {
	select {
	case <-s.parked:
		return s.Stream.Next(ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func filled(r *a2a.Record) a2a.Stream {
	stream := make(endless, 1)
	stream <- []*a2a.Record{r}
	return stream
}

type ending struct{ err error }

func (e ending) Next(context.Context) ([]*a2a.Record, error) { return nil, e.err }
func (e ending) Close()                                      {}
