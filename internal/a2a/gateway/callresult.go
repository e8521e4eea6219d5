// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"net/http"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
)

// callResult is the result of a call of an agent, for its span. The goroutine of the request
// sets it.
type callResult struct {
	// status is the HTTP status of the agent's response, 0 for no response.
	status int
	// reason is the reason of the error with which the gateway answered, "" for none.
	reason a2a.Reason
	// clientLeft is true if the caller disconnected before the end of the response, and complete if
	// the gateway wrote all of the response.
	clientLeft, complete bool
}

// outcome returns how the call ended, "" for success.
func (c *callResult) outcome() string {
	switch {
	case c.clientLeft:
		return tracing.OutcomeCanceled
	case c.reason != "":
		return string(c.reason)
	case !c.complete:
		return tracing.OutcomeAborted
	case c.status >= http.StatusBadRequest:
		return strconv.Itoa(c.status)
	default:
		return ""
	}
}

// serve calls next, which writes the response of an agent. A panic of next means that the
// response has no end: the caller left, or the agent broke off.
func (c *callResult) serve(ctx context.Context, next func()) {
	defer func() { c.clientLeft = c.clientLeft || !c.complete && ctx.Err() != nil }()
	next()
	c.complete = true
}

// end ends the span of the call.
func (d *destination) end() {
	d.span.Answered(d.result.status)
	d.span.End(d.result.outcome())
}

// Conclude keeps the result of the call that Remotes serves with ctx: the reason of the error in
// the response, "" for none, or that the caller left before its end. Remotes calls it on the
// goroutine of ServeRemote.
func Conclude(ctx context.Context, reason a2a.Reason, clientLeft bool) {
	if to, ok := ctx.Value(destinationKey{}).(*destination); ok {
		to.result.reason, to.result.clientLeft = reason, clientLeft
	}
}

// statusWriter keeps the status of a response.
type statusWriter struct {
	http.ResponseWriter
	result *callResult
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if status >= http.StatusOK && w.result.status == 0 {
		w.result.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *statusWriter) Write(p []byte) (int, error) {
	if w.result.status == 0 {
		w.result.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p) //nolint:wrapcheck // the error of the response
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
