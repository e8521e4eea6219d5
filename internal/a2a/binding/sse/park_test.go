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

// parkingLot parks one stream, and is the Conn of the parked stream.
type parkingLot struct {
	mu   sync.Mutex
	text bytes.Buffer
	fail error

	client   context.Context //nolint:containedctx // it lasts as long as the client
	leave    context.CancelCauseFunc
	full     bool
	complete chan bool
	parked   chan struct{}
}

func newParkingLot(t *testing.T) *parkingLot {
	t.Helper()
	l := &parkingLot{complete: make(chan bool, 1), parked: make(chan struct{})}
	l.client, l.leave = context.WithCancelCause(context.Background())
	t.Cleanup(func() { l.leave(nil) })
	return l
}

func (l *parkingLot) park(_ http.ResponseWriter, _ *http.Request, serve func(context.Context, Conn) bool) bool {
	if l.full {
		close(l.parked)
		return false
	}
	go func() {
		close(l.parked)
		l.complete <- serve(l.client, l)
	}()
	return true
}

func (l *parkingLot) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return 0, l.fail
	}
	return l.text.Write(p)
}

func (l *parkingLot) Flush() error                     { return nil }
func (l *parkingLot) SetWriteDeadline(time.Time) error { return nil }

// serveParked serves a stream that is parked at once. It returns the response before the
// parking, and the error that OnEnd received.
func serveParked(t *testing.T, l *parkingLot, c Config, stream a2a.Stream, change func(*Reply)) (before *httptest.ResponseRecorder, ended <-chan error) {
	t.Helper()
	c.Park, c.ParkAfter = l.park, time.Millisecond
	end := make(chan error, 1)
	r := reply(stream)
	r.Request = httptest.NewRequest(http.MethodGet, "/", nil)
	r.First = []*a2a.Record{text(1, "first")}
	r.OnEnd = func(_ context.Context, err error) { end <- err }
	if change != nil {
		change(r)
	}
	before = httptest.NewRecorder()
	if err := c.Serve(t.Context(), before, r); !errors.Is(err, ErrParked) {
		t.Fatalf("Serve() error = %v, want ErrParked", err)
	}
	return before, end
}

const (
	firstFrame = "id: 1\ndata: <first>\n\n"
	moreFrames = "id: 2\ndata: <a>\n\nid: 3\ndata: <b>\n\n"
)

func TestIdleStreamIsParkedAndContinues(t *testing.T) {
	l, stream := newParkingLot(t), make(endless, 2)
	before, ended := serveParked(t, l, config(), stream, nil)
	stream <- []*a2a.Record{text(2, "a")}
	stream <- []*a2a.Record{text(3, "b")}
	close(stream)
	if err := <-ended; err != nil {
		t.Errorf("OnEnd(%v)", err)
	}
	if !<-l.complete {
		t.Error("the response is not complete")
	}
	if got := before.Body.String(); got != firstFrame {
		t.Errorf("before it was parked = %q", got)
	}
	if got := l.text.String(); got != moreFrames {
		t.Errorf("afterwards = %q", got)
	}
}

// lastMoment is a stream that yields an event when its wait is canceled.
type lastMoment struct {
	endless
	waiting *a2a.Record
}

func (h *lastMoment) Next(ctx context.Context) ([]*a2a.Record, error) {
	records, err := h.endless.Next(ctx)
	if err != nil && h.waiting != nil {
		records, h.waiting = []*a2a.Record{h.waiting}, nil
	}
	return records, err
}

func TestParkingLosesNoEvent(t *testing.T) {
	l, stream := newParkingLot(t), &lastMoment{make(endless, 1), text(2, "a")}
	_, ended := serveParked(t, l, config(), stream, nil)
	stream.endless <- []*a2a.Record{text(3, "b")}
	close(stream.endless)
	if err := <-ended; err != nil || l.text.String() != moreFrames {
		t.Errorf("after it was parked = %q, OnEnd(%v)", l.text.String(), err)
	}
}

func TestStreamThatCannotBeParkedContinues(t *testing.T) {
	l, stream := newParkingLot(t), make(endless)
	l.full = true
	c := config()
	c.Park, c.ParkAfter = l.park, time.Millisecond
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

func TestParkedStreamIsKeptAlive(t *testing.T) {
	l, stream := newParkingLot(t), make(endless)
	c := config()
	c.KeepAlive = 2 * time.Millisecond
	_, ended := serveParked(t, l, c, stream, nil)
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
		t.Errorf("OnEnd(%v)", err)
	}
}

func TestParkedStreamsEnd(t *testing.T) {
	broken := errors.New("broken")
	tests := map[string]struct {
		stream   a2a.Stream
		change   func(*parkingLot)
		reply    func(*Reply)
		want     error
		complete bool
		text     string
	}{
		"the client leaves":  {make(endless), (*parkingLot).disconnect, nil, context.Canceled, true, ""},
		"the sidecar stops":  {make(endless), (*parkingLot).cutOff, nil, a2a.ErrDraining, true, ""},
		"a write fails":      {streamOf(text(2, "a")), func(l *parkingLot) { l.fail = broken }, nil, ErrStalled, false, ""},
		"the sidecar drains": {failing{a2a.ErrDraining}, nil, nil, a2a.ErrDraining, true, ""},
		"the store breaks":   {failing{broken}, nil, nil, broken, true, "data: failed\n\n"},
		"a panic": {streamOf(text(2, "a")), nil, func(r *Reply) {
			add := r.Frame.Append
			r.Frame.Append = func(dst []byte, e *a2a.Event) []byte {
				if e.Message.ID == "a" {
					panic("gone wrong")
				}
				return add(dst, e)
			}
		}, nil, false, ""},
		"the last event": {streamOf(text(2, "close")), nil, nil, nil, true, "id: 2\ndata: <close>\n\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newParkingLot(t)
			if test.change != nil {
				test.change(l)
			}
			_, ended := serveParked(t, l, config(), &afterParking{l.parked, test.stream}, test.reply)
			err := <-ended
			if name == "a panic" {
				if err == nil || !strings.Contains(err.Error(), "gone wrong") {
					t.Errorf("OnEnd(%v)", err)
				}
			} else if !errors.Is(err, test.want) {
				t.Errorf("OnEnd(%v), want %v", err, test.want)
			}
			if complete := <-l.complete; complete != test.complete || l.text.String() != test.text {
				t.Errorf("complete = %v, text = %q", complete, l.text.String())
			}
		})
	}
}

func (l *parkingLot) disconnect() { l.leave(nil) }
func (l *parkingLot) cutOff()     { l.leave(a2a.ErrDraining) }

// afterParking is a stream that has no event until it is parked.
type afterParking struct {
	parked <-chan struct{}
	a2a.Stream
}

func (s *afterParking) Next(ctx context.Context) ([]*a2a.Record, error) {
	select {
	case <-s.parked:
		return s.Stream.Next(ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func streamOf(r *a2a.Record) a2a.Stream {
	stream := make(endless, 1)
	stream <- []*a2a.Record{r}
	return stream
}

type failing struct{ err error }

func (e failing) Next(context.Context) ([]*a2a.Record, error) { return nil, e.err }
func (e failing) Close()                                      {}
