// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package grpc is the gRPC binding: the service of a2a.v1 for 0.2 and 0.3, and
// that of lf.a2a.v1 for 1.0, side by side.
//
// It is served by net/http like every other binding, behind the same chain: who
// is calling was settled before. Messages never exist as generated types; the
// codecs read and write their bytes, and what subscribers share is those bytes.
// The package keeps no state between calls and knows no backend.
package grpc

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/exchange"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/fault"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// Config is what a Handler needs. All fields are required.
type Config struct {
	// Handler has passed what the card rules out.
	Handler a2a.Handler
	Push    a2a.PushHandler
	// Card is the one that is served now: what it declares is what is taken.
	Card func() *card.Card
	// ExtendedCard returns the card for callers who are known, in a version's
	// form. Its error is an *a2a.Error where there is none.
	ExtendedCard func(context.Context, card.Form) ([]byte, error)
	// Serving reports whether new calls are taken, for health checks.
	Serving func() bool
	// Limits bound requests and each write.
	Limits exchange.Limits
	// StrictVersion holds clients to a2a-version by the letter.
	StrictVersion func() bool
	// Profile decides on the codes of statuses.
	Profile func() fault.Profile
	// Observe is told of each call once it is answered.
	Observe func(exchange.Outcome)
	Log     *slog.Logger
}

// Handler serves gRPC over HTTP/2.
type Handler struct {
	Config
	server *grpc.Server
}

// New returns the handler.
func New(c Config) *Handler {
	h := &Handler{Config: c}
	h.server = grpc.NewServer(
		grpc.ForceServerCodecV2(codec{}),
		grpc.MaxRecvMsgSize(int(c.Limits.MaxBody)),
		grpc.UnknownServiceHandler(h.serve(unknown)),
	)
	for _, s := range services {
		h.server.RegisterService(h.description(s), nil)
	}
	h.registerHealth()
	registerReflection(h.server)
	return h
}

const contentType = "application/grpc"

// Owns reports whether a request is one of gRPC: by its type, and in the only
// version of HTTP that can carry it.
func Owns(r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.Header.Get("Content-Type"), contentType)
	return ok && r.ProtoMajor == 2 && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// OwnsHealth reports whether a request is a health check, which asks no
// credential: those who route calls have none.
func OwnsHealth(r *http.Request) bool {
	return r.URL.Path == healthpb.Health_Check_FullMethodName && Owns(r)
}

// ServeHTTP answers one call.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := newWriter(w, h.Limits.WriteTimeout)
	if method := methods[r.URL.Path]; method != nil {
		release, err := h.read(out, r)
		defer release()
		if err != nil {
			h.refuse(out, r, method, err)
			return
		}
	} else {
		// The library reads all that a client sends, whether or not it is asked for.
		r.Body = http.MaxBytesReader(nil, r.Body, h.Limits.MaxBody)
	}
	h.server.ServeHTTP(out, r)
	if out.stalled.Load() {
		h.Log.InfoContext(r.Context(), "cut off stalled client", "binding", "grpc")
	}
}

// refuse answers a call whose request is not one message.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, m *method, err error) {
	if exchange.Gone(r.Context(), err) {
		return
	}
	problem := a2a.ErrorOf(err)
	h.Observe(exchange.Outcome{Binding: "grpc", Method: m.name, Version: m.dialect.label, Code: exchange.Code(problem)})
	deny(w, problem, h.Profile())
}
