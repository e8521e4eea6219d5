// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenexchange

import (
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"

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
	// namespace and name identify the agent that audience names.
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
