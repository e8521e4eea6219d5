// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// network delivers over TCP on loopback.
type network struct {
	*push.Pushes
	tasks     *memory.Store
	results   chan push.Result
	abandoned chan push.Cause
}

func (r *network) Attempted(x push.Result) { r.results <- x }
func (r *network) Abandoned(c push.Cause)  { r.abandoned <- c }

func newNetwork(t *testing.T, o push.Options) *network {
	t.Helper()
	r := &network{tasks: memory.New(memory.Options{}), results: make(chan push.Result, 100), abandoned: make(chan push.Cause, 100)}
	guard := egress.New(egress.Options{Policy: &egress.Policy{Local: true, CIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	t.Cleanup(guard.CloseIdleConnections)
	o.Tasks, o.Configs, o.Guard, o.Observer = r.tasks, memory.NewPushes(memory.PushOptions{}), guard, r
	o.FirstDelay = time.Millisecond
	p, err := push.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.Pushes = p
	t.Cleanup(func() {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errEndOfTest)
		_ = p.Drain(ctx)
	})
	return r
}

// finishes creates a task whose end is posted to a URL.
func (r *network) finishes(t *testing.T, url string) {
	t.Helper()
	key := store.Key{Owner: "alice", TaskID: "t1"}
	log, err := r.tasks.Create(t.Context(), store.NewTask{Key: key, Origin: store.Origin{ContextID: "c1"}, Events: []a2a.Event{state("t1", a2a.StateSubmitted)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.SetPush(t.Context(), &a2a.SetPushRequest{Owner: "alice", Config: a2a.PushConfig{TaskID: "t1", URL: url}}); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), store.Append{After: 1, Events: []a2a.Event{state("t1", a2a.StateCompleted)}}); err != nil {
		t.Fatal(err)
	}
}

func TestWire17_MisbehavingReceivers(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	hijack := func(w http.ResponseWriter) net.Conn {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
		}
		return conn
	}
	zeros := make([]byte, 1<<20)
	for name, test := range map[string]struct {
		// first handles the first request. The receiver accepts the second one.
		first http.HandlerFunc
		want  []push.Result
	}{
		"works":    {func(http.ResponseWriter, *http.Request) {}, []push.Result{push.ResultDelivered}},
		"fails":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, []push.Result{push.ResultRetry, push.ResultDelivered}},
		"stalls":   {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, []push.Result{push.ResultRetry, push.ResultDelivered}},
		"hangs up": {func(w http.ResponseWriter, _ *http.Request) { _ = hijack(w).Close() }, []push.Result{push.ResultRetry, push.ResultDelivered}},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, []push.Result{push.ResultRefused}},
		"no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			conn := hijack(w)
			_, _ = conn.Write([]byte("SSH-2.0-OpenSSH_9.9\r\n"))
			_ = conn.Close()
		}, []push.Result{push.ResultRetry, push.ResultDelivered}},
		"answers 64 MiB": {func(w http.ResponseWriter, _ *http.Request) {
			for range 64 {
				if _, err := w.Write(zeros); err != nil {
					return
				}
			}
			t.Error("somebody read all of 64 MiB")
		}, []push.Result{push.ResultDelivered}},
		"never ends its answer": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, []push.Result{push.ResultDelivered}},
		"answers with an endless head": {func(w http.ResponseWriter, _ *http.Request) {
			conn := hijack(w)
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nX-Large: "))
			for range 64 {
				if _, err := conn.Write(zeros); err != nil {
					break
				}
			}
			_ = conn.Close()
		}, []push.Result{push.ResultRetry, push.ResultDelivered}},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-A2A-Event-Id") != "t1:2" {
					t.Errorf("event id = %q", r.Header.Get("X-A2A-Event-Id"))
				}
				// The server notices a disconnected client only after it has read the body.
				_, _ = io.Copy(io.Discard, r.Body)
				if requests.Add(1) == 1 {
					test.first(w, r)
				}
			}))
			defer server.Close()
			r := newNetwork(t, push.Options{Timeout: 500 * time.Millisecond})
			r.finishes(t, server.URL+"/hook")
			for i, want := range test.want {
				if got := <-r.results; got != want {
					t.Errorf("attempt %d: %s, want %s", i, got, want)
				}
			}
			if err := r.Drain(t.Context()); err != nil {
				t.Errorf("Drain() error = %v", err)
			}
			if len(r.results) > 0 {
				t.Errorf("one more attempt: %s", <-r.results)
			}
		})
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect was followed")
	}
}
