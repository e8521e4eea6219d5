// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apierror has the errors of the registry's API, which the services for sidecars at the same
// listener share.
package apierror

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Error is an error with its response: the status, and the members of the JSON body.
type Error struct {
	Status int `json:"-"`
	// RetryAfter is the time after which the client may retry, sent in whole seconds. Zero means that a retry of the same
	// request would fail again.
	RetryAfter time.Duration `json:"-"`
	Code       string        `json:"code"`
	Message    string        `json:"message"`
	Field      string        `json:"field,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Invalid returns the error for a mistake in a parameter or field of a request. cure says what the client must change.
func Invalid(field, cure string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "InvalidParameter", Message: field + ": " + cure, Field: field}
}

// NotFound returns an error with the status 404.
func NotFound(message string) *Error {
	return &Error{Status: http.StatusNotFound, Code: "NotFound", Message: message}
}

// TooMany returns the error for a request that a limit refuses. The client may retry after wait, in seconds rounded up and
// at least one.
func TooMany(wait time.Duration, message string) *Error {
	seconds := time.Duration(math.Ceil(max(wait.Seconds(), 1))) * time.Second
	return &Error{Status: http.StatusTooManyRequests, RetryAfter: seconds, Code: "TooManyRequests", Message: message}
}

// Unavailable returns the error for a request that the registry cannot answer now. The client may retry after a second.
func Unavailable(message string) *Error {
	return &Error{Status: http.StatusServiceUnavailable, RetryAfter: time.Second, Code: "Unavailable", Message: message}
}

// MethodNotAllowed returns the error for a method that a path does not have.
func MethodNotAllowed(message string) *Error {
	return &Error{Status: http.StatusMethodNotAllowed, Code: "MethodNotAllowed", Message: message}
}

// Write responds with the error. The body is {"error": ...}.
func (e *Error) Write(w http.ResponseWriter) {
	body, _ := json.Marshal(map[string]*Error{"error": e}) // strings have a JSON form
	e.WriteBody(w, append(body, '\n'))
}

// WriteBody responds with the error in another form of JSON.
func (e *Error) WriteBody(w http.ResponseWriter, body []byte) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter/time.Second)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(e.Status)
	_, _ = w.Write(body)
}
