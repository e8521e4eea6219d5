// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/logging"
)

// middleware wraps a handler.
type middleware func(http.Handler) http.Handler

// denyFunc answers a request with an error.
type denyFunc = func(http.ResponseWriter, *http.Request, *a2a.Error)

// chain returns a middleware that applies all, the first one outermost.
func chain(all ...middleware) middleware {
	return func(h http.Handler) http.Handler {
		for _, a := range slices.Backward(all) {
			h = a(h)
		}
		return h
	}
}

// readTimeout bounds the time in which a request must arrive. http.Server.ReadTimeout is
// not used, because it would also end streams. A binding removes this deadline when it
// has read the body.
const readTimeout = 25 * time.Second

func limitRead(now func() time.Time) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).SetReadDeadline(now().Add(readTimeout))
			next.ServeHTTP(w, r)
		})
	}
}

// limitTime bounds the time in which a request must arrive and its response must be read,
// until the handler calls unlimitTime.
func limitTime(now func() time.Time) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			setDeadlines(w, now().Add(readTimeout), now().Add(WriteTimeout))
			next.ServeHTTP(w, r)
		})
	}
}

// unlimitTime removes the bounds of limitTime, for a handler that waits. A read deadline
// would end the context of the request.
func unlimitTime(w http.ResponseWriter) { setDeadlines(w, time.Time{}, time.Time{}) }

func setDeadlines(w http.ResponseWriter, read, write time.Time) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(read)
	_ = control.SetWriteDeadline(write)
}

func recoverPanic(log *slog.Logger, deny denyFunc) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() { //nolint:contextcheck // the context is in the request
				reason := recover()
				if reason == nil {
					return
				}
				if reason == http.ErrAbortHandler { //nolint:errorlint // net/http compares in the same way
					panic(reason)
				}
				log.ErrorContext(r.Context(), "request panicked", "reason", reason, "stack", string(debug.Stack()))
				if w.Header().Get("Content-Type") != "" {
					// The response has begun, so only a broken connection can show that it is
					// incomplete.
					panic(http.ErrAbortHandler)
				}
				deny(w, r, &a2a.Error{Reason: a2a.ReasonInternal})
			}()
			next.ServeHTTP(w, r)
		})
	}
}

// withTrace adds the trace id of a request to its context, for the log. The agent
// receives the trace header itself.
func withTrace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := traceID(r.Header.Get("Traceparent")); id != "" {
			r = r.WithContext(logging.ContextWithTraceID(r.Context(), id))
		}
		next.ServeHTTP(w, r)
	})
}

// traceID returns the trace id in a W3C traceparent header, or "" if the header is not
// valid.
func traceID(traceparent string) string {
	fields := strings.Split(traceparent, "-")
	if len(fields) < 4 || len(fields[1]) != 32 || strings.Trim(fields[1], "0123456789abcdef") != "" {
		return ""
	}
	return fields[1]
}
