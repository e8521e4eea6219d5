// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenexchange

import (
	"encoding/json"
	"errors"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Values of the parameters of a request (RFC 8693).
const (
	grantType       = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeJWT         = "urn:ietf:params:oauth:token-type:jwt"
	typeAccessToken = "urn:ietf:params:oauth:token-type:access_token"
)

// maxForm bounds a request body, in bytes. Each of the two tokens has at most 16 KiB.
const maxForm = 48 << 10

// request has the parameters of a valid request.
type request struct {
	// token is the ServiceAccount token of the caller: the actor token, or without one, the subject token.
	token string
	// subject is the subject on whose behalf the caller acts, nil without one.
	subject *subjectToken
	// client is the agent that the caller says to be. It is empty without a subject and without a resource.
	client types.NamespacedName
	// agent is the agent that the parameter audience names. It is empty with a resource.
	agent types.NamespacedName
	// audience is the audience of the issued token: that of the agent, or the resource.
	audience string
	// isResource is true if audience is the URL of an MCP server (RFC 8693, section 2.1, resource).
	isResource bool
}

// subjectToken is the token of a subject on whose behalf the caller acts.
type subjectToken struct {
	text string
	// asserted is true if the text is the JSON of an a2a.Subject.
	asserted bool
}

// parse returns the parameters of a request, or an error if the request is not valid.
func parse(w http.ResponseWriter, r *http.Request) (*request, *RequestError) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/x-www-form-urlencoded" {
		return nil, invalid("the content type must be application/x-www-form-urlencoded")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return nil, &RequestError{Status: http.StatusRequestEntityTooLarge, Code: codeInvalidRequest, Description: "the body has more than 48 KiB"}
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
	if problem := checkTokens(form); problem != nil {
		return nil, problem
	}
	if form.Has("scope") {
		return nil, &RequestError{Status: http.StatusBadRequest, Code: codeInvalidScope, Description: "scope is not supported; leave it out"}
	}
	asked := &request{token: form.Get("subject_token")}
	if problem := asked.parseTarget(form); problem != nil {
		return nil, problem
	}
	if form.Has("actor_token") {
		asked.subject = &subjectToken{text: asked.token, asserted: form.Get("subject_token_type") == a2a.TypeAssertedSubject}
		asked.token = form.Get("actor_token")
	}
	if !form.Has("actor_token") && !asked.isResource {
		return asked, nil
	}
	var ok bool
	asked.client, ok = parseAudience(form.Get("client_id"))
	if !ok {
		return nil, invalid("client_id must name the agent of the caller, as <name>.<namespace>." + a2av1alpha1.Audience)
	}
	return asked, nil
}

// parseTarget reads for what the token is: an agent, or an MCP server.
func (r *request) parseTarget(form url.Values) *RequestError {
	audiences := form["audience"]
	if form.Has("resource") && len(audiences) == 0 {
		r.audience = form.Get("resource")
		r.isResource = true
		return nil
	}
	if len(audiences) != 1 || form.Has("resource") {
		return target("name one agent by audience, as <name>.<namespace>." + a2av1alpha1.Audience + ", or one MCP server by resource")
	}
	var ok bool
	r.audience = audiences[0]
	r.agent, ok = parseAudience(r.audience)
	if !ok {
		return target("audience must name an agent, as <name>.<namespace>." + a2av1alpha1.Audience)
	}
	return nil
}

// checkTokens returns an error if the tokens of a request and their types are not valid.
func checkTokens(form url.Values) *RequestError {
	isDelegated := form.Has("actor_token")
	isAsserted := isDelegated && form.Get("subject_token_type") == a2a.TypeAssertedSubject
	switch subject := form.Get("subject_token"); {
	case !isToken(subject) && isDelegated:
		return invalid("subject_token must be a token of the subject")
	case !isToken(subject):
		return invalid("subject_token must be a ServiceAccount token for the audience " + a2av1alpha1.Audience)
	case !isAsserted && !slices.Contains(tokenTypes, form.Get("subject_token_type")):
		return invalid("subject_token_type must be " + typeJWT)
	case form.Has("requested_token_type") && !slices.Contains(tokenTypes, form.Get("requested_token_type")):
		return invalid("requested_token_type must be " + typeJWT + "; leave it out")
	case isDelegated && !isToken(form.Get("actor_token")):
		return invalid("actor_token must be a ServiceAccount token for the audience " + a2av1alpha1.Audience)
	case isDelegated && !slices.Contains(tokenTypes, form.Get("actor_token_type")):
		return invalid("actor_token_type must be " + typeJWT)
	case isAsserted && form.Has("resource"):
		return unproven("an MCP server learns of proven subjects only; send the token of the subject")
	case !isDelegated && (form.Has("actor_token_type") || form.Has("client_id") && !form.Has("resource")):
		return invalid("actor_token is missing; send it, or leave actor_token_type and client_id out")
	default:
		return nil
	}
}

var tokenTypes = []string{typeJWT, typeAccessToken}

// isToken reports whether a text can be a token.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}

// parseAudience returns the agent of an audience, and false for an audience of no agent.
func parseAudience(audience string) (types.NamespacedName, bool) {
	agent, ok := strings.CutSuffix(audience, "."+a2av1alpha1.Audience)
	name, namespace, whole := strings.Cut(agent, ".")
	ok = ok && whole && len(validation.IsDNS1123Label(name)) == 0 && len(validation.IsDNS1123Label(namespace)) == 0
	return types.NamespacedName{Namespace: namespace, Name: name}, ok
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
	// Reason is a2a.ReasonSubjectUnproven or a2a.ReasonChain, "" for all other errors.
	Reason string `json:"reason,omitempty"`
	// RetryAfter is the time after which the client may retry. It is zero if a retry of the
	// same request would fail again.
	RetryAfter time.Duration `json:"-"`
}

// Error implements error.
func (p *RequestError) Error() string { return p.Code + ": " + p.Description }

func invalid(description string) *RequestError {
	return &RequestError{Status: http.StatusBadRequest, Code: codeInvalidRequest, Description: description}
}

// unproven returns the error for a subject whose token the registry cannot verify. The caller may assert the subject instead.
func unproven(description string) *RequestError {
	problem := invalid(description)
	problem.Reason = a2a.ReasonSubjectUnproven
	return problem
}

// badChain returns the error for a chain of agents for which no token is issued.
func badChain(description string) *RequestError {
	problem := invalid(description)
	problem.Reason = a2a.ReasonChain
	return problem
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
