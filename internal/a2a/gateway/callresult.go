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

// callResult is the result of a call of an agent, for its span. Only the goroutine of the
// request accesses it.
type callResult struct {
	// status is the HTTP status of the agent's response, or 0 if there was none.
	status int
	// reason is the reason of the error with which the gateway answered, "" for none.
	reason a2a.Reason
	// clientLeft is true if the caller disconnected before the end of the response. complete is
	// true if the gateway wrote the whole response.
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

// serve calls next, which writes the response of an agent. If next panics, the response is
// incomplete: the caller disconnected, or the agent's response broke off.
func (c *callResult) serve(ctx context.Context, next func()) {
	defer func() { c.clientLeft = c.clientLeft || !c.complete && ctx.Err() != nil }()
	next()
	c.complete = true
}

// statusWriter stores the status of a response in the result of a call.
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
	return w.ResponseWriter.Write(p)
}

// Unwrap implements the unwrapping of http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
