// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"errors"
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
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
	"github.com/a2a-operator/a2a-operator/test/bindingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fake = bindingtest.Handler

var newYear, status, artifact = bindingtest.Time, bindingtest.Status, bindingtest.Artifact

func newTask(state a2a.State) *a2a.Task { return bindingtest.Task(a2a.DialectV03, state) }

func snapshot(seq uint64, state a2a.State) *a2a.Record {
	return bindingtest.Snapshot(seq, newTask(state))
}

// fixture is a server on loopback, with clients of both versions.
type fixture struct {
	*fake
	address string
	card    card.Card
	// extended returns the extended card. If it is nil, there is none.
	extended func(card.Form) ([]byte, error)
	serving  bool
	conn     *googlegrpc.ClientConn
	v03      v03.A2AServiceClient
	v10      v10.A2AServiceClient

	mu       sync.Mutex
	observed []httpcall.Outcome
	served   sync.WaitGroup
}

// serverTimeout is the write timeout of the server. It is shorter than the streams of these
// tests and must not end them.
const serverTimeout = time.Second

// socketTimeout is the longest time for which a connection may accept no bytes.
const socketTimeout = time.Second

func newFixture(tb testing.TB, f *fake, change ...func(*grpc.Config)) *fixture {
	tb.Helper()
	x := &fixture{fake: f, serving: true, card: card.Card{Capabilities: card.Capabilities{Streaming: true, PushNotifications: true}}}
	served := func() *card.Card { return &x.card }
	admitted := &requestcheck.Handler{Handler: f, Push: f, Card: served}
	config := grpc.Config{
		Config: httpcall.Config{
			Handler: admitted, Push: admitted, Card: served, Limits: bindingtest.Limits(1 << 20), Log: slog.New(slog.DiscardHandler),
			ExtendedCard: func(_ *http.Request, _ string, form card.Form) ([]byte, error) {
				if x.extended == nil {
					return nil, &a2a.Error{Reason: a2a.ReasonUnsupportedOperation}
				}
				return x.extended(form)
			},
			Observe: func(_ context.Context, o httpcall.Outcome) {
				x.mu.Lock()
				defer x.mu.Unlock()
				x.observed = append(x.observed, o)
			},
		},
		PublicCard: func(_ *http.Request, form card.Form) ([]byte, error) { return []byte(`{"name":"public"}`), nil },
		Serving:    func() bool { return x.serving },
		Profile:    func() errormap.Profile { return errormap.Profile101 },
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
