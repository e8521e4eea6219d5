// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
)

const (
	// maxTokenResponse and maxToken bound a response of an authorization server, and a token, in bytes.
	maxTokenResponse = 64 << 10
	maxToken         = 16 << 10
	// tokenLifetime is the lifetime of a token whose response names none. maxTokenLifetime is the longest time that
	// a token is used.
	tokenLifetime    = 5 * time.Minute
	maxTokenLifetime = 24 * time.Hour
	// expiryMargin is how long before its expiry a token is no longer used, at most half of its lifetime.
	expiryMargin = 10 * time.Second
)

// errTokenResponse is the error for a response that is not a token response (RFC 6749, section 5.1).
var errTokenResponse = errors.New("not a token response")

// scopeError is the error for a token without a scope that the Agent requests.
type scopeError struct{ scope string }

func (e *scopeError) Error() string { return fmt.Sprintf("the token lacks the scope %q", e.scope) }

// The values of parameters of the token exchange (RFC 8693).
const (
	grantTokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeAccessToken    = "urn:ietf:params:oauth:token-type:access_token"
	typeJWT            = "urn:ietf:params:oauth:token-type:jwt"
)

// subjectTokenType returns the type of the token of a user (RFC 8693, section 3): an access token, or a JWT if it is one of a ServiceAccount, which
// is no token of an authorization server. The registry has verified the token.
func subjectTokenType(token string) string {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	var claims map[string]json.RawMessage
	if err == nil && json.Unmarshal(text, &claims) == nil && claims["kubernetes.io"] != nil {
		return typeJWT
	}
	return typeAccessToken
}

// requestToken gets a token by the client credentials grant, or for a user by the exchange of the user's token. A client that may only exchange has
// no credential of its own: requests without a user are then sent without one. The errors contain neither
// the client secret nor the token nor text of the authorization server.
func requestToken(ctx context.Context, guard http.RoundTripper, spec *a2av1alpha1.RemoteOAuth2, secret string, user remotecredential.User, now time.Time) (issued, error) {
	config := clientcredentials.Config{ClientID: spec.ClientID, ClientSecret: secret, TokenURL: spec.TokenURL, Scopes: spec.Scopes, EndpointParams: url.Values{}}
	if spec.Audience != "" {
		config.EndpointParams.Set("audience", spec.Audience)
	}
	if user.Token != "" {
		config.EndpointParams.Set("grant_type", grantTokenExchange)
		config.EndpointParams.Set("subject_token", user.Token)
		config.EndpointParams.Set("subject_token_type", subjectTokenType(user.Token))
		config.EndpointParams.Set("requested_token_type", typeAccessToken)
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{
		Transport: boundedTransport{guard},
		// A redirect is refused, so that the client secret is sent to tokenURL only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	token, err := authenticate(ctx, &config)
	if refused, ok := errors.AsType[*tokenError](err); ok && user.Token == "" && spec.Grant == a2av1alpha1.RemoteOAuth2TokenExchange && refused.ofGrant() {
		return issued{renew: now.Add(tokenLifetime)}, nil
	}
	if refused, ok := errors.AsType[*tokenError](err); ok {
		refused.ofUser = user.Token != ""
	}
	if err != nil {
		return issued{}, err
	}
	if !strings.EqualFold(token.Type(), "bearer") || len(token.AccessToken) > maxToken ||
		strings.ContainsFunc(token.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return issued{}, fmt.Errorf("%w: it has no bearer token that fits into a header", errTokenResponse)
	}
	if granted, named := token.Extra("scope").(string); named {
		for _, scope := range spec.Scopes {
			if !slices.Contains(strings.Fields(granted), scope) {
				return issued{}, &scopeError{scope}
			}
		}
	}
	lifetime := tokenLifetime
	if !token.Expiry.IsZero() {
		lifetime = min(time.Until(token.Expiry), maxTokenLifetime)
	}
	if user.Token != "" {
		lifetime = min(lifetime, user.Expires.Sub(now))
	}
	if lifetime <= 0 {
		return issued{}, fmt.Errorf("%w: its token has expired", errTokenResponse)
	}
	return issued{
		credential: remotecredential.Credential{Header: "Authorization", Value: "Bearer " + token.AccessToken},
		renew:      now.Add(lifetime / 2),
		expires:    now.Add(lifetime - min(expiryMargin, lifetime/2)),
	}, nil
}

// authenticate requests the token with the client secret in the header Authorization, and if the server may know only the parameters, once more with
// these. x/oauth2 does this, too, but after a refusal of anything else, it returns the error about the parameters.
func authenticate(ctx context.Context, config *clientcredentials.Config) (*oauth2.Token, error) {
	config.AuthStyle = oauth2.AuthStyleInHeader
	token, err := config.Token(ctx)
	if err == nil {
		return token, nil
	}
	err = tokenFailure(ctx, err)
	first, isRefused := errors.AsType[*tokenError](err)
	if !isRefused || first.status/100 != 4 || slices.Contains([]string{"invalid_grant", "invalid_scope", "invalid_target", "unauthorized_client"}, first.code) {
		return nil, err
	}
	config.AuthStyle = oauth2.AuthStyleInParams
	token, again := config.Token(ctx)
	if again == nil {
		return token, nil
	}
	again = tokenFailure(ctx, again)
	if second, ok := errors.AsType[*tokenError](again); ok && second.ofClient() && !first.ofClient() {
		return nil, err // the server reads the header
	}
	return nil, again
}

// tokenError is the refusal of an authorization server.
type tokenError struct {
	status int
	// code is the error code of RFC 6749, section 5.2, "" for another one.
	code string
	// ofUser is true if the request had the token of a user.
	ofUser bool
}

func (e *tokenError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the authorization server answers with status %d %s", e.status, e.code))
}

// ofClient reports whether the server refuses the client secret.
func (e *tokenError) ofClient() bool {
	return e.code == "invalid_client" || e.code == "" && e.status == http.StatusUnauthorized
}

// ofGrant reports whether the server refuses the client this way to get a token.
func (e *tokenError) ofGrant() bool {
	return e.code == "unauthorized_client" || e.code == "unsupported_grant_type"
}

// networkError is the failure to reach an authorization server.
type networkError struct{ error }

func (e networkError) Unwrap() error { return e.error }

// tokenFailure returns the error for an error of x/oauth2, which may contain text of the server.
func tokenFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return networkError{ctx.Err()}
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		if refused.Response.StatusCode/100 == 2 && refused.ErrorCode == "" {
			return errTokenResponse
		}
		codes := []string{"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "invalid_target"}
		code := ""
		if slices.Contains(codes, refused.ErrorCode) {
			code = refused.ErrorCode
		}
		return &tokenError{status: refused.Response.StatusCode, code: code}
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return networkError{failed.Err}
	}
	return errTokenResponse // x/oauth2 could not read or parse it
}

// boundedTransport bounds the body of each response by maxTokenResponse.
type boundedTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: maxTokenResponse}
	return response, nil
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%w: it has more than %d KiB", errTokenResponse, maxTokenResponse>>10)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
