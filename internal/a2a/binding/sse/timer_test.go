// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// socket is a response whose client may stop reading.
type socket struct {
	began time.Time
	// writes maps seconds since began to the text that was written in this second.
	writes map[int]string
	// cleared counts how often the deadline of the server was removed.
	cleared int
	// stuck is the text whose write ends only at its deadline.
	stuck  string
	passed chan struct{}
}

func newSocket() *socket {
	return &socket{began: time.Now(), writes: map[int]string{}, passed: make(chan struct{})}
}

func (s *socket) Header() http.Header { return http.Header{} }
func (s *socket) WriteHeader(int)     {}
func (s *socket) Flush()              {}

func (s *socket) Write(p []byte) (int, error) {
	if s.stuck == string(p) {
		<-s.passed
		return 0, os.ErrDeadlineExceeded
	}
	s.writes[int(time.Since(s.began).Seconds())] += string(p)
	return len(p), nil
}

func (s *socket) SetWriteDeadline(t time.Time) error {
	switch {
	case t.IsZero():
		s.cleared++
	case t.Before(time.Now()):
		close(s.passed)
	default:
		return errors.New("a deadline of a write")
	}
	return nil
}

const comment = ": keep-alive\n\n"

func TestIdleStreamGetsComments(t *testing.T) {
	tests := map[string]struct {
		keepAlive, writeTimeout time.Duration
		want                    map[int]string
	}{
		"equal to the write timeout": {15 * time.Second, 15 * time.Second, map[int]string{
			10: "data: <a>\n\n", 12: "data: <b>\n\n", 27: comment, 42: comment,
		}},
		"longer than the write timeout":  {15 * time.Second, 4 * time.Second, map[int]string{10: "data: <a>\n\n", 12: "data: <b>\n\n", 27: comment, 42: comment}},
		"shorter than the write timeout": {15 * time.Second, time.Hour, map[int]string{10: "data: <a>\n\n", 12: "data: <b>\n\n", 27: comment, 42: comment}},
		"none":                           {0, 15 * time.Second, map[int]string{10: "data: <a>\n\n", 12: "data: <b>\n\n"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSocket()
				_, s := Config{KeepAlive: test.keepAlive, WriteTimeout: test.writeTimeout, Now: time.Now}.Open(t.Context(), w)
				frame := reply(nil).Frame
				for pause, event := range map[time.Duration]string{10 * time.Second: "a", 12 * time.Second: "b"} {
					time.AfterFunc(pause, func() { _ = s.WriteData(&frame, []byte(event)) })
				}
				time.Sleep(50 * time.Second)
				s.Close()
				time.Sleep(time.Hour)
				if diff := cmp.Diff(test.want, w.writes); diff != "" {
					t.Errorf("writes by second (-want +got):\n%s", diff)
				}
				if w.cleared != 1 {
					t.Errorf("the server's deadline was removed %d times, want once", w.cleared)
				}
			})
		})
	}
}

// TestStuckWriteFailsAtItsTimeout checks that a write that does not end fails exactly at
// its timeout.
func TestStuckWriteFailsAtItsTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		stuck string
		// began is the time at which the stuck write begins.
		began time.Duration
	}{
		"first":         {"data: <a>\n\n", 0},
		"later":         {"data: <a>\n\n", 7 * time.Second},
		"after comment": {"data: <a>\n\n", 34 * time.Second},
		"comment":       {comment, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSocket()
				w.stuck = test.stuck
				ctx, s := Config{KeepAlive: 15 * time.Second, WriteTimeout: 10 * time.Second, Now: time.Now}.Open(t.Context(), w)
				defer s.Close()
				frame := reply(nil).Frame
				if test.stuck != comment {
					time.Sleep(test.began)
					if _, err := s.Write(&frame, []*a2a.Record{{Event: a2a.Event{Message: &a2a.Message{ID: "a"}}}}, func(*a2a.Event) bool { return false }); !errors.Is(err, ErrStalled) {
						t.Errorf("Write() error = %v, want ErrStalled", err)
					}
				}
				<-ctx.Done()
				if got, want := time.Since(w.began), test.began+10*time.Second; got != want {
					t.Errorf("failed after %v, want %v", got, want)
				}
				if err := s.Flush(); !errors.Is(err, ErrStalled) {
					t.Errorf("Flush() error = %v afterwards, want ErrStalled", err)
				}
			})
		})
	}
}

// justInTime is a socket whose client reads at the moment of the timeout: the write
// succeeds, and the deadline fails the next write.
type justInTime struct {
	*socket
	over bool
}

func (s *justInTime) Write(p []byte) (int, error) {
	if s.over {
		return 0, os.ErrDeadlineExceeded
	}
	<-s.passed
	s.over = true
	return len(p), nil
}

func TestWriteAfterTheDeadlineFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &justInTime{socket: newSocket()}
		ctx, s := Config{KeepAlive: 15 * time.Second, WriteTimeout: 10 * time.Second, Now: time.Now}.Open(t.Context(), w)
		defer s.Close()
		if err := s.WriteData(&Frame{}, []byte("a")); err != nil {
			t.Fatalf("WriteData() error = %v", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Hour):
			t.Error("the stream is neither kept alive nor ended")
		}
	})
}

// finished is a response that fails the test if it is written after its handler returned.
type finished struct {
	http.ResponseWriter
	over bool
	t    *testing.T
}

func (f *finished) Write(p []byte) (int, error) {
	if f.over {
		f.t.Errorf("%q is written after the handler", p)
	}
	return f.ResponseWriter.Write(p)
}

func (f *finished) SetWriteDeadline(time.Time) error {
	if f.over {
		f.t.Error("a deadline is set after the handler")
	}
	return nil
}

func TestNothingIsWrittenAfterAPanic(t *testing.T) {
	tests := map[string]func(*Reply){
		"in an event": func(r *Reply) {
			r.First = []*a2a.Record{text(1, "a")}
			r.Frame.Append = func([]byte, *a2a.Event) []byte { panic("gone wrong") }
		},
		"between events": func(r *Reply) {
			r.First = []*a2a.Record{text(1, "a")}
			r.IsLast = func(*a2a.Event) bool { panic("gone wrong") }
		},
		"in the stream": func(r *Reply) { r.Stream = broken{} },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &finished{ResponseWriter: httptest.NewRecorder(), t: t}
				r := reply(make(endless))
				change(r)
				func() {
					defer func() {
						if recover() == nil {
							t.Error("it does not panic")
						}
					}()
					_ = config().Serve(t.Context(), w, r)
				}()
				w.over = true
				time.Sleep(time.Hour)
			})
		})
	}
}

func (f *finished) Flush() {}

// broken is a stream whose Next panics.
type broken struct{ a2a.Stream }
