// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenexchange

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"
)

// The error codes of RFC 6749, sections 4.1.2.1 and 5.2, RFC 8628, section 3.5, and RFC 8693,
// section 2.2.2.
const (
	codeInvalidRequest       = "invalid_request"
	codeInvalidScope         = "invalid_scope"
	codeInvalidTarget        = "invalid_target"
	codeUnsupportedGrantType = "unsupported_grant_type"
	codeLimited              = "slow_down"
	codeUnavailable          = "temporarily_unavailable"
)

// RequestError is the reason for which the registry issues no token, with its response.
type RequestError struct {
	// Status is the status of the response.
	Status int `json:"-"`
	// Code is an error code of OAuth 2.0.
	Code string `json:"error"`
	// Description states what the client must change.
	Description string `json:"error_description"`
	// RetryAfter is the time after which the client may retry; zero means never.
	RetryAfter time.Duration `json:"-"`
}

// Error implements error.
func (p *RequestError) Error() string { return p.Code + ": " + p.Description }

func invalid(description string) *RequestError {
	return &RequestError{Status: http.StatusBadRequest, Code: codeInvalidRequest, Description: description}
}

func target(description string) *RequestError {
	return &RequestError{Status: http.StatusBadRequest, Code: codeInvalidTarget, Description: description}
}

// InvalidToken returns the error for a subject token that is not accepted. RFC 8693 requires
// the code invalid_request for it.
func InvalidToken(description string) *RequestError { return invalid(description) }

// Limited returns the error for a caller that has sent too many requests.
func Limited(retryAfter time.Duration, description string) *RequestError {
	return &RequestError{Status: http.StatusTooManyRequests, Code: codeLimited, Description: description, RetryAfter: max(retryAfter, 1)}
}

// Unavailable returns the error for a registry that cannot issue tokens now.
func Unavailable(description string) *RequestError {
	return &RequestError{Status: http.StatusServiceUnavailable, Code: codeUnavailable, Description: description, RetryAfter: time.Second}
}

// respond writes a response with a JSON body. No cache may store the response (RFC 6749,
// section 5.1).
func respond(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	body = append(body, '\n')
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func refuse(w http.ResponseWriter, p *RequestError) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	respond(w, p.Status, p)
}
