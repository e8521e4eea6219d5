// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpcall reads HTTP requests and writes their responses for the bindings:
// a body is read within limits, and a client that does not read its response is
// disconnected. It knows no method and no version, and no errors but those of
// HTTP.
package httpcall

import (
	"net/http"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// Limits bound calls. All fields are required.
type Limits struct {
	// MaxBody returns the limit of a request body, in bytes.
	MaxBody func() int64
	// Bodies is the memory budget of request bodies that are not decoded yet, and
	// Answers that of large responses that are not sent yet; nil if the handler charges them.
	Bodies, Answers *limit.Budget
	// WriteTimeout bounds each write of 64 KiB, and AnswerTimeout all writes of a response;
	// 0 is no bound.
	WriteTimeout, AnswerTimeout time.Duration
	Now                         func() time.Time
}

// Call is one HTTP request and its response.
type Call struct {
	W http.ResponseWriter
	R *http.Request
	// Limits is nil for a response to a request that is refused before it is read;
	// the server bounds the time of writing it.
	Limits *Limits
	// Status is the HTTP status of an error response, for errors of HTTP itself; 0
	// if the error determines it.
	Status int
	// Answered is true once the response has begun.
	Answered bool
	// Framing is the number of bytes of a body beside the message in it.
	Framing int64

	// pooled is the pool's buffer of a body, nil if there is none.
	pooled      *[]byte
	body        []byte
	reservation limit.Reservation
}

// maxPooled is the capacity above which a buffer is not kept, in bytes.
const maxPooled = 64 << 10

// errBusy is the error of a request for which a memory budget has no room.
var errBusy = &a2a.Error{
	Reason: a2a.ReasonUnavailable, Message: "Too much is held in memory for other requests", RetryAfter: time.Second,
}

// principalOf returns the accounting principal of a request.
func principalOf(r *http.Request) a2a.AccountingPrincipal {
	if caller, ok := auth.CallerFrom(r.Context()); ok {
		return caller.AccountingPrincipal()
	}
	return a2a.AccountingPrincipalAt(r.RemoteAddr)
}
