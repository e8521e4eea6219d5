// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// codes has the code of an error with a status in ARD (appendix B), and its reason in A2A. In the
// registry's own API, an error has a code of its own (apierror.Error).
var codes = map[int]struct {
	ard string
	a2a a2a.Reason
}{
	http.StatusBadRequest:         {"INVALID_ARGUMENT", a2a.ReasonInvalidParams},
	http.StatusUnauthorized:       {"UNAUTHENTICATED", a2a.ReasonUnauthenticated},
	http.StatusForbidden:          {"PERMISSION_DENIED", a2a.ReasonPermissionDenied},
	http.StatusNotFound:           {"NOT_FOUND", a2a.ReasonInvalidParams},
	http.StatusMethodNotAllowed:   {"INVALID_ARGUMENT", a2a.ReasonMethodNotFound},
	http.StatusTooManyRequests:    {"RATE_LIMIT_EXCEEDED", a2a.ReasonResourceExhausted},
	http.StatusServiceUnavailable: {"UNAVAILABLE", a2a.ReasonUnavailable},
}

// Messages that the APIs share.
const (
	wrongTokensMessage = "this address sent too many wrong tokens; request a new token"
	challengeMessage   = "send a ServiceAccount token for the audience a2a-operator.dev, or a token of the registry's OpenID Connect issuer, as Authorization: Bearer"
	unavailableMessage = "the registry cannot answer now; try again"
)

// errNotIndexed is returned until the first snapshot exists.
var errNotIndexed = errors.New("the index is not complete yet")

// errUnauthenticated is the response to a request without a valid token.
var errUnauthenticated = &apierror.Error{Status: http.StatusUnauthorized, Code: "Unauthenticated", Message: challengeMessage}

// errPeer is the response to a peer that calls an API other than ARD. A peer must not use these
// APIs, because their responses contain addresses inside the cluster.
var errPeer = &apierror.Error{
	Status: http.StatusForbidden, Code: "Forbidden",
	Message: "this caller has the right of a peer, and can search agents at " + ard.BasePath + " only; use POST " + ard.BasePath + "/search",
}

// errorOf returns the error with which each API responds to err. It logs a failure of the system, whose cause the
// response does not contain. It returns nil if the client has disconnected.
func (a *api) errorOf(ctx context.Context, err error, keysAndValues ...any) *apierror.Error {
	var (
		known     *apierror.Error
		parameter *index.ParameterError
		member    *ard.RequestError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &parameter):
		return apierror.Invalid(parameter.Field, parameter.Cure)
	case errors.As(err, &member):
		return apierror.Invalid(member.Field, member.Cure)
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return nil //nolint:nilerr // the client has disconnected and gets no response
	}
	// Too many reviews and missing keys can be frequent, and metrics count them.
	if !errors.Is(err, access.ErrTooManyReviews) && !errors.Is(err, access.ErrNoIssuerKeys) {
		a.log.Error(err, "failed to answer a request", keysAndValues...)
	}
	return apierror.Unavailable(unavailableMessage)
}

// fail writes the response to an error, in the form of the registry's own API.
func fail(w http.ResponseWriter, r *http.Request, err *apierror.Error) {
	if err.Status == http.StatusUnauthorized {
		setChallenge(w, r)
	}
	err.Write(w)
}

// setChallenge sets the header of a response to a request without a valid token (RFC
// 6750, section 3).
func setChallenge(w http.ResponseWriter, r *http.Request) {
	header := `Bearer realm="a2a-operator.dev"`
	if r.Header.Get("Authorization") != "" {
		header += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", header)
}

// tooMany counts a request that the limit with the given name refuses, and returns its error.
func tooMany(name string, refusal limit.Refusal, message string) error {
	limited.WithLabelValues(name).Inc()
	return apierror.TooMany(refusal.Wait, message)
}

// tooManyNow is tooMany for a limit whose end is not known.
func tooManyNow(name, message string) error {
	return tooMany(name, limit.Refusal{Wait: time.Second}, message)
}

// busy counts a request that the limit with the given name refuses because of other requests, and returns its error.
func busy(name, message string) error {
	limited.WithLabelValues(name).Inc()
	return apierror.Unavailable(message)
}
