// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpcall reads HTTP requests and writes their responses for the bindings. It reads
// a body within limits, and disconnects a client that does not read its response. It depends
// on no method and no version of A2A, and reports only errors of HTTP itself.
package httpcall

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
)

// Limits bound calls. All fields except Answers and AnswerTimeout are required.
type Limits struct {
	// MaxBody returns the limit of a request body, in bytes.
	MaxBody func() int64
	// Bodies is the memory budget of request bodies that are not decoded yet. A byte of a body
	// costs memoryshare.BodyCost bytes. Answers is
	// the memory budget of large responses that are not written yet. Answers is nil if the
	// handler that the binding calls charges the responses itself.
	Bodies, Answers *limit.Budget
	// WriteTimeout bounds each write of 64 KiB. AnswerTimeout bounds the time of writing a
	// whole response that is not a stream, and a whole message over gRPC. An AnswerTimeout
	// of 0 is no bound.
	WriteTimeout, AnswerTimeout time.Duration
	Now                         func() time.Time
}

// Call is one HTTP request and its response.
type Call struct {
	W http.ResponseWriter
	R *http.Request
	// Limits is nil for a response to a request that is refused before its body is read.
	// Only the write timeout of the HTTP server then bounds the time of writing the
	// response.
	Limits *Limits
	// Status is the HTTP status of the response for an error of HTTP itself, 0 if the error
	// determines the status.
	Status int
	// Answered is true once the response has begun.
	Answered bool
	// Framing is the number of bytes in a body in addition to its message.
	Framing int64

	// pooled is the buffer of the body, which returns to its pool. It is nil if there is
	// none.
	pooled      *[]byte
	body        []byte
	reservation limit.Reservation
	// transfer is that of a large body, and endTransfer ends it. They are nil for none.
	transfer    *limit.Transfer
	endTransfer func()
}

// maxPooled is the largest capacity of a buffer that is returned to its pool, in bytes.
const maxPooled = 64 << 10

// errBusy is the error of a request for which a memory budget has no room.
var errBusy = &a2a.Error{
	Reason: a2a.ReasonUnavailable, Message: "All memory for buffered bodies and responses, or the caller's share of it, is in use; try again", RetryAfter: time.Second,
}

// errSlow is the error of a request whose body arrived too slowly while others waited for its memory.
var errSlow = &a2a.Error{
	Reason: a2a.ReasonUnavailable, Message: "Request body arrived too slowly while other requests waited for memory; try again", RetryAfter: time.Second,
}

// noMemory returns the error of a request for which a memory budget had no room in time. It
// is the error of ctx if ctx ended during the wait, and otherwise errBusy.
func noMemory(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return errBusy
}

// principalOf returns the accounting principal of a request.
func principalOf(r *http.Request) a2a.AccountingPrincipal {
	if caller, ok := auth.CallerFrom(r.Context()); ok {
		return caller.AccountingPrincipal()
	}
	return a2a.AccountingPrincipalAt(r.RemoteAddr)
}

// Config has the settings that all bindings share. Only StrictVersion is optional. Each
// function may return another result at each call.
type Config struct {
	// Handler runs the operations on tasks. It checks requests against the card.
	Handler a2a.Handler
	// Push runs the operations on push configurations.
	Push a2a.PushHandler
	// Card returns the card that is served at the time of the call.
	Card func() *card.Card
	// ExtendedCard returns the extended card for the caller of r in a form. It returns an
	// *a2a.Error if the agent has no extended card or the caller may not read it.
	ExtendedCard func(r *http.Request, tenant string, form card.Form) ([]byte, error)
	// StrictVersion reports whether versions are checked strictly. A request for a method or
	// path of 1.0 then must have A2A-Version, and a request that names 1.0 cannot use the
	// methods and paths of other versions. A nil StrictVersion means false.
	StrictVersion func() bool
	// Limits bound requests and responses.
	Limits *Limits
	// Observe is called once for each request that ended, with the context of the request. It
	// must not block.
	Observe func(context.Context, Outcome)
	Log     *slog.Logger
}

// CheckPush returns an error if the card does not declare push notifications. Bindings call it
// before they decode a request.
func (c *Config) CheckPush() error {
	if !c.Card().Capabilities.PushNotifications {
		return &a2a.Error{Reason: a2a.ReasonPushNotSupported}
	}
	return nil
}

// Activate returns the requested extensions that the card declares, and lists them in the
// response header called name. If a required extension is not requested, Activate fails. The
// error has the reason lacking, because versions before 1.0 have no code for a missing
// extension.
func (c *Config) Activate(response http.Header, name string, requested []string, lacking a2a.Reason) ([]string, error) {
	activated, err := requestcheck.Activate(c.Card(), requested)
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		return nil, &a2a.Error{Reason: lacking, Message: problem.Message}
	}
	if len(activated) > 0 {
		response.Set(name, strings.Join(activated, ", "))
	}
	return activated, err
}

// IsStrict reports whether StrictVersion is on.
func (c *Config) IsStrict() bool { return c.StrictVersion != nil && c.StrictVersion() }

// Outcome is the result of a request, for metrics and for the access log. Each field except
// Started has few values: Method and Version are "" unless they are supported.
type Outcome struct {
	// Binding is jsonrpc, rest, grpc or wellknown.
	Binding string
	// Method is the operation by its name in 1.0, in every version.
	Method  a2a.Method
	Version string
	// Code is the JSON-RPC error code in every binding, 0 for success.
	Code int
	// Reason is the reason of the error, "" for success.
	Reason a2a.Reason
	// Started is the time at which the binding received the request, zero if no binding did.
	Started time.Time
	// ClientLeft is true if the client left before the end of the response.
	ClientLeft bool
}

// Refused returns the outcome with the code and the reason of an error.
func (o Outcome) Refused(problem *a2a.Error) Outcome {
	o.Code = errormap.Lookup(problem, errormap.Profile101).JSONRPC
	o.Reason = errormap.ReasonOf(problem)
	return o
}

// Conclude passes the outcome of a request that ended with err to observe, and logs an
// internal error. It returns the error to report to the client, nil if there is none or if
// the client disconnected.
func (o Outcome) Conclude(ctx context.Context, log *slog.Logger, observe func(context.Context, Outcome), err error) *a2a.Error {
	if err == nil {
		observe(ctx, o)
		return nil
	}
	if ClientLeft(ctx, err) {
		o.ClientLeft = true
		observe(ctx, o)
		return nil
	}
	if CutOff(ctx) {
		err = a2a.ErrDraining
	}
	problem := a2a.ErrorOf(err)
	if problem.Reason == a2a.ReasonInternal {
		log.ErrorContext(ctx, "request failed", "method", o.Method, "error", err)
	}
	observe(ctx, o.Refused(problem))
	return problem
}

// ClientLeft reports whether a request ended with err because its client disconnected.
func ClientLeft(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err()) && !CutOff(ctx)
}

// CutOff reports whether the shutdown has ended the context of a request. The response is
// then incomplete.
func CutOff(ctx context.Context) bool { return errors.Is(context.Cause(ctx), a2a.ErrDraining) }
