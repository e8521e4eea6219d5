// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
)

// Outcome is the result of a search of a peer.
type Outcome string

// Outcomes.
const (
	Success         Outcome = "success"
	Timeout         Outcome = "timeout"
	Unreachable     Outcome = "unreachable"
	Unauthorized    Outcome = "unauthorized"
	Rejected        Outcome = "rejected"
	ServerError     Outcome = "server_error"
	InvalidResponse Outcome = "invalid_response"
	// ResponseTooLarge is the outcome for a response of more than maxResponse bytes.
	ResponseTooLarge Outcome = "response_too_large"
	Limited          Outcome = "limited"
	CircuitOpen      Outcome = "circuit_open"
	NoToken          Outcome = "no_token"
	// Canceled is the outcome if the client has left.
	Canceled Outcome = "canceled"
)

// failure is the error of a search of a peer. Its message contains no text of the peer, so
// that a peer cannot write into the logs and responses of this registry.
type failure struct {
	outcome Outcome
	message string
	// wait is the time for which the peer requests no further search, 0 if it requests none.
	wait time.Duration
}

func (f *failure) Error() string { return f.message }

// isOfQuery reports whether only the query failed: the peer works, and another query, or the same one later, may succeed.
func (f *failure) isOfQuery() bool {
	return f.outcome == Rejected || f.outcome == ResponseTooLarge || f.outcome == Limited
}

// transportFailure returns the failure for an error of the connection.
func transportFailure(ctx context.Context, err error) *failure {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return &failure{outcome: Canceled, message: "the client closed the connection"}
	case errors.Is(err, egress.ErrDenied):
		return &failure{outcome: Unreachable, message: "the name of the peer resolves to a link-local, metadata or loopback address, which is not allowed"}
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return &failure{outcome: Timeout, message: "the peer did not answer in time"}
	default:
		return &failure{outcome: Unreachable, message: "the connection to the peer failed; check its url, its certificate and the network"}
	}
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}
