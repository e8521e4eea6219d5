// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/test/bindingtest"
)

// TestMissingBodyTimesOut checks that a request whose body does not arrive times out,
// although the server has no timeout for streams.
func TestMissingBodyTimesOut(t *testing.T) {
	x := newFixture(&fake{})
	x.Limits.Now = func() time.Time { return time.Now().Add(50*time.Millisecond - httpcall.BodyTimeout) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.ServeHTTP(w, r.WithContext(auth.WithCaller(r.Context(), auth.Caller{Owner: "alice"})))
	}))
	defer server.Close()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	_, _ = io.WriteString(connection, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status = %d", response.StatusCode)
	}
}

// TestUnreadResponseTimesOut checks that a response that the client does not read releases
// its memory after a timeout.
func TestUnreadResponseTimesOut(t *testing.T) {
	task := newTask(a2a.StateCompleted)
	task.Artifacts = []a2a.Artifact{{ID: "a", Parts: []a2a.Part{a2a.TextPart(strings.Repeat("x", 32<<20))}}}
	x := newFixture(&fake{Task: task})
	x.Limits.WriteTimeout = 50 * time.Millisecond
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		x.ServeHTTP(w, r.WithContext(auth.WithCaller(r.Context(), auth.Caller{Owner: "alice"})))
	}))
	defer server.Close()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	const body = `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"}}`
	_, _ = io.WriteString(connection, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "+
		strconv.Itoa(len(body))+"\r\n\r\n"+body)
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("the handler still writes to a client that does not read")
	}
}

// TestLargeEventsOfStalledStreamsAreCharged checks that a stream whose client does not read
// stays charged for the event that it writes, and that a stream ends with an error if it
// gets no memory for its event.
func TestLargeEventsOfStalledStreamsAreCharged(t *testing.T) {
	for name, method := range map[string]string{"0.1": "tasks/sendSubscribe", "0.3": "tasks/resubscribe", "1.0": "SubscribeToTask"} {
		t.Run(name, func(t *testing.T) {
			body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"id":"t1","message":{"role":"user","parts":[{"type":"text","text":"Hi"}]}}}`
			x := newFixture(&fake{Records: []*a2a.Record{artifact(1, strings.Repeat("x", 1<<20)), status(2, a2a.StateCompleted)}})
			x.Limits.Answers = limit.NewBudget(2<<20, time.Millisecond)
			stalled := bindingtest.NewStalled()
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r = r.WithContext(auth.WithCaller(t.Context(), auth.Caller{Owner: "alice"}))
			done := make(chan struct{})
			go func() {
				defer close(done)
				x.ServeHTTP(stalled, r)
			}()
			<-stalled.Writing
			if got := x.post(t, body).Body.String(); !strings.Contains(got, "memory for buffered") || len(got) > 1<<10 {
				t.Errorf("the second stream has %d bytes, want an error: %.200s", len(got), got)
			}
			stalled.Read()
			<-done
			if got := stalled.Body.Len(); got < 1<<20 {
				t.Errorf("the first stream has %d bytes, want the event", got)
			}
			if held := x.Limits.Answers.Used(); held != 0 {
				t.Errorf("after both streams, %d bytes are held", held)
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	x := newFixture(&fake{Task: newTask(a2a.StateWorking)})
	x.Observe = func(context.Context, httpcall.Outcome) {}
	const body = `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"}}`
	ctx := auth.WithCaller(b.Context(), auth.Caller{Owner: "alice"})
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		x.ServeHTTP(httptest.NewRecorder(), r)
	}
}

// The memory of a large message stays reserved while the handler decides about the message, and no longer than the request.
func TestLargeMessagesKeepTheirMemory(t *testing.T) {
	for text, least := range map[string]int64{"hi": 0, strings.Repeat("x", 256<<10): 256 << 10} {
		f := &fake{Task: newTask(a2a.StateCompleted)}
		f.Event.Task = f.Task
		x := newFixture(f)
		var held int64
		f.Entered = func() { held = x.Limits.Bodies.Used() }
		x.post(t, `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"`+text+`"}]}}}`)
		if held < least || least == 0 && held > 0 {
			t.Errorf("a message of %d bytes: %d bytes are reserved, want %d at least", len(text), held, least)
		}
		if left := x.Limits.Bodies.Used(); left > 0 {
			t.Errorf("a message of %d bytes: %d bytes are reserved after the request", len(text), left)
		}
	}
}
