// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenexchange

import (
	"encoding/json"
	"errors"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// Values of the parameters of a request (RFC 8693).
const (
	grantType       = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeJWT         = "urn:ietf:params:oauth:token-type:jwt"
	typeAccessToken = "urn:ietf:params:oauth:token-type:access_token" //nolint:gosec // a name, not a credential
)

// maxForm bounds a request body, in bytes. A token has at most 16 KiB.
const maxForm = 32 << 10

// request has the parameters of a valid request.
type request struct {
	// subjectToken is the token of the caller.
	subjectToken string
	// namespace and name identify the agent that the parameter audience names.
	namespace, name string
	audience        string
}

// parse returns the parameters of a request, or an error if the request is not valid.
func parse(w http.ResponseWriter, r *http.Request) (*request, *RequestError) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/x-www-form-urlencoded" {
		return nil, invalid("the content type must be application/x-www-form-urlencoded")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return nil, &RequestError{Status: http.StatusRequestEntityTooLarge, Code: codeInvalidRequest, Description: "the body has more than 32 KiB"}
		}
		return nil, invalid("the body is not a form")
	}
	form := r.PostForm
	for name, values := range form {
		if len(values) > 1 && name != "audience" {
			return nil, invalid("a parameter is repeated; send each one once")
		}
	}
	if form.Get("grant_type") != grantType {
		return nil, &RequestError{Status: http.StatusBadRequest, Code: codeUnsupportedGrantType, Description: "grant_type must be " + grantType}
	}
	types := []string{typeJWT, typeAccessToken}
	switch subject := form.Get("subject_token"); {
	case subject == "" || strings.ContainsFunc(subject, func(c rune) bool { return c <= ' ' || c > '~' }):
		return nil, invalid("subject_token must be a ServiceAccount token for the audience " + a2av1alpha1.Audience)
	case !slices.Contains(types, form.Get("subject_token_type")):
		return nil, invalid("subject_token_type must be " + typeJWT)
	case form.Has("requested_token_type") && !slices.Contains(types, form.Get("requested_token_type")):
		return nil, invalid("requested_token_type must be " + typeJWT + "; leave it out")
	case form.Has("actor_token"):
		return nil, invalid("actor_token is not supported; leave it out")
	case form.Has("scope"):
		return nil, &RequestError{Status: http.StatusBadRequest, Code: codeInvalidScope, Description: "scope is not supported; leave it out"}
	case form.Has("resource"):
		return nil, target("resource is not supported; name the agent by audience")
	}
	audiences := form["audience"]
	if len(audiences) != 1 {
		return nil, target("name one agent by audience, as <name>.<namespace>." + a2av1alpha1.Audience)
	}
	agent, ok := strings.CutSuffix(audiences[0], "."+a2av1alpha1.Audience)
	name, namespace, whole := strings.Cut(agent, ".")
	if !ok || !whole || len(validation.IsDNS1123Label(name)) > 0 || len(validation.IsDNS1123Label(namespace)) > 0 {
		return nil, target("audience must name an agent, as <name>.<namespace>." + a2av1alpha1.Audience)
	}
	return &request{subjectToken: form.Get("subject_token"), namespace: namespace, name: name, audience: audiences[0]}, nil
}

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

// RequestError is an error response: the reason for which the registry issues no token.
type RequestError struct {
	// Status is the status of the response.
	Status int `json:"-"`
	// Code is an error code of OAuth 2.0.
	Code string `json:"error"`
	// Description states what the client must change.
	Description string `json:"error_description"`
	// RetryAfter is the time after which the client may retry. It is zero if a retry of the
	// same request would fail again.
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

// InvalidToken returns the error for a subject token that the registry does not accept. For
// this case, RFC 8693 requires the code invalid_request.
func InvalidToken(description string) *RequestError { return invalid(description) }

// Limited returns the error for a caller that exceeds its rate limit (status 429).
func Limited(retryAfter time.Duration, description string) *RequestError {
	return &RequestError{Status: http.StatusTooManyRequests, Code: codeLimited, Description: description, RetryAfter: max(retryAfter, 1)}
}

// Unavailable returns the error for a registry that cannot issue tokens now (status 503). The
// client may retry after a second.
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
