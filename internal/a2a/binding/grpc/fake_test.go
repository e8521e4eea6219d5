// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"go.uber.org/goleak"
	googlegrpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/grpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall/httpcalltest"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// fake is an a2a.Handler that answers what it was given and keeps what it was
// asked.
type fake struct {
	event   a2a.Event
	task    *a2a.Task
	page    *a2a.TaskPage
	records []*a2a.Record
	push    *a2a.PushConfig
	pushes  *a2a.PushPage
	err     error
	// streamErr ends streams; nil for io.EOF.
	streamErr error
	// waits makes calls wait until their context ends; left receives its error.
	waits bool
	left  chan error
	// entered is called when a call has come this far.
	entered func()
	// endless streams repeat their last record.
	endless bool

	mu    sync.Mutex
	asked any
	sent  int
}

func (f *fake) note(ctx context.Context, asked any) error {
	f.mu.Lock()
	f.asked = asked
	f.mu.Unlock()
	if f.entered != nil {
		f.entered()
	}
	if f.waits {
		<-ctx.Done()
		f.left <- ctx.Err()
		return ctx.Err()
	}
	return f.err
}

func (f *fake) last() any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func (f *fake) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	return f.event, f.note(ctx, r)
}

func (f *fake) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	return &fakeStream{fake: f, records: f.records}, f.note(ctx, r)
}

func (f *fake) Get(ctx context.Context, r *a2a.GetRequest) (*a2a.Task, error) {
	return f.task, f.note(ctx, r)
}

func (f *fake) List(ctx context.Context, r *a2a.ListRequest) (*a2a.TaskPage, error) {
	return f.page, f.note(ctx, r)
}

func (f *fake) Cancel(ctx context.Context, r *a2a.CancelRequest) (*a2a.Task, error) {
	return f.task, f.note(ctx, r)
}

func (f *fake) Subscribe(ctx context.Context, r *a2a.SubscribeRequest) (a2a.Stream, error) {
	return &fakeStream{fake: f, records: f.records}, f.note(ctx, r)
}

func (f *fake) SetPush(ctx context.Context, r *a2a.SetPushRequest) (*a2a.PushConfig, error) {
	return f.push, f.note(ctx, r)
}

func (f *fake) GetPush(ctx context.Context, r *a2a.PushRequest) (*a2a.PushConfig, error) {
	return f.push, f.note(ctx, r)
}

func (f *fake) ListPush(ctx context.Context, r *a2a.ListPushRequest) (*a2a.PushPage, error) {
	return f.pushes, f.note(ctx, r)
}

func (f *fake) Check(*a2a.PushConfig) error { return nil }

func (f *fake) DeletePush(ctx context.Context, r *a2a.PushRequest) error { return f.note(ctx, r) }

// fakeStream yields one record at a time, and then its error.
type fakeStream struct {
	fake    *fake
	records []*a2a.Record
}

func (s *fakeStream) Next(ctx context.Context) ([]*a2a.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.fake.mu.Lock()
	s.fake.sent++
	s.fake.mu.Unlock()
	if len(s.records) == 0 {
		if s.fake.streamErr == nil {
			return nil, io.EOF
		}
		return nil, s.fake.streamErr
	}
	next := s.records[:1]
	if !s.fake.endless || len(s.records) > 1 {
		s.records = s.records[1:]
	}
	return next, nil
}

func (s *fakeStream) Close() {}

func newTask(state a2a.State) *a2a.Task {
	return &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.Status{State: state, Time: newYear}}
}

func status(seq uint64, state a2a.State) *a2a.Record {
	return &a2a.Record{Seq: seq, Event: a2a.Event{Status: &a2a.StatusUpdate{
		TaskID: "t1", ContextID: "c1", Status: a2a.Status{State: state, Time: newYear},
	}}}
}

func artifact(seq uint64, text string) *a2a.Record {
	return &a2a.Record{Seq: seq, Event: a2a.Event{Artifact: &a2a.ArtifactUpdate{
		TaskID: "t1", ContextID: "c1", Artifact: a2a.Artifact{ID: "a1", Parts: []a2a.Part{a2a.TextPart(text)}}, LastChunk: true,
	}}}
}

func snapshot(seq uint64, state a2a.State) *a2a.Record {
	return &a2a.Record{Seq: seq, Event: a2a.Event{Task: newTask(state)}}
}

// fixture is a server on loopback, with clients of both versions.
type fixture struct {
	*fake
	address string
	card    card.Card
	// extended is the extended card; nil for none.
	extended func(card.Form) ([]byte, error)
	serving  bool
	conn     *googlegrpc.ClientConn
	v03      v03.A2AServiceClient
	v10      v10.A2AServiceClient

	mu       sync.Mutex
	observed []httpcall.Outcome
	served   sync.WaitGroup
}

// The server's own write timeout is shorter than any stream here: it must not
// end one.
const serverTimeout = time.Second

// socketTimeout is how long a connection may take nothing at all.
const socketTimeout = time.Second

func newFixture(tb testing.TB, f *fake, change ...func(*grpc.Config)) *fixture {
	tb.Helper()
	f.left = make(chan error, 1)
	x := &fixture{fake: f, serving: true, card: card.Card{Capabilities: card.Capabilities{Streaming: true, PushNotifications: true}}}
	served := func() *card.Card { return &x.card }
	admitted := &requestcheck.Handler{Handler: f, Push: f, Card: served}
	config := grpc.Config{
		Handler: admitted, Push: admitted, Card: served,
		ExtendedCard: func(_ *http.Request, _ string, form card.Form) ([]byte, error) {
			if x.extended == nil {
				return nil, &a2a.Error{Reason: a2a.ReasonUnsupportedOperation}
			}
			return x.extended(form)
		},
		PublicCard: func(_ *http.Request, form card.Form) ([]byte, error) { return []byte(`{"name":"public"}`), nil },
		Serving:    func() bool { return x.serving }, StrictVersion: func() bool { return false },
		Profile: func() errormap.Profile { return errormap.Profile101 },
		Limits:  httpcalltest.Limits(1 << 20), Log: slog.New(slog.DiscardHandler),
		Observe: func(o httpcall.Outcome) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.observed = append(x.observed, o)
		},
	}
	for _, c := range change {
		c(&config)
	}
	h := grpc.New(config)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	gate := auth.NewGate(&auth.Policy{Authenticators: []auth.Authenticator{auth.Anonymous{}}}, grpc.Deny)
	server := &http.Server{
		Protocols: protocols, WriteTimeout: serverTimeout, HTTP2: &http.HTTP2Config{WriteByteTimeout: socketTimeout},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			x.served.Add(1)
			defer x.served.Done()
			switch {
			case !grpc.Owns(r):
				http.NotFound(w, r)
			case r.Header.Get("authorization") == "forbidden":
				grpc.Deny(w, r, &a2a.Error{Reason: a2a.ReasonPermissionDenied, Message: "Forbidden: 100% né\n"})
			default:
				gate.Require(h).ServeHTTP(w, r)
			}
		}),
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	x.address = listener.Addr().String()
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	x.conn, err = googlegrpc.NewClient(x.address, googlegrpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		tb.Fatal(err)
	}
	x.v03, x.v10 = v03.NewA2AServiceClient(x.conn), v10.NewA2AServiceClient(x.conn)
	tb.Cleanup(func() {
		_ = x.conn.Close()
		x.served.Wait()
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			tb.Error(err)
		}
	})
	return x
}

func (x *fixture) outcomes() []httpcall.Outcome {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]httpcall.Outcome(nil), x.observed...)
}
