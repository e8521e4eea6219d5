// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
)

// JWTConfig configures a JWT authenticator.
type JWTConfig struct {
	// Issuer must equal the token's iss.
	Issuer string
	// Audiences lists the accepted audiences. The token's aud must contain one of them.
	Audiences []string
	// PrincipalClaim is the name of the claim that contains the principal. "" means sub.
	PrincipalClaim string
	// NamespaceClaim is the name of the claim that contains the namespace of the caller. If
	// it is "", Policy.Namespaces does not apply to the callers.
	NamespaceClaim string
	// OwnerClaim is the name of the claim whose value is the owner of the tasks. Callers
	// with the same value share their tasks. If it is "", the principal is the owner.
	OwnerClaim string
	// KeepClaims makes Authenticate set Caller.Claims.
	KeepClaims bool
	// Scopes are the scopes that tokens need, nil for none.
	Scopes *Scopes
	// Keys are the keys of the issuer.
	Keys *IssuerKeys
	Now  func() time.Time
}

// JWT verifies tokens of one issuer (RFC 7519) with keys that IssuerKeys fetches in the
// background.
type JWT struct {
	config JWTConfig
	cache  keyedCache[keySet]
}

// NewJWT returns an authenticator.
func NewJWT(c JWTConfig) *JWT {
	c.PrincipalClaim = cmp.Or(c.PrincipalClaim, "sub")
	return &JWT{config: c}
}

// Challenge returns the challenge for a bearer token.
func (*JWT) Challenge() string { return bearerChallenge }

// Authenticate verifies a bearer token of the issuer.
func (j *JWT) Authenticate(r *http.Request) (Caller, error) {
	now := j.config.Now()
	// keys is nil if the newest keys are older than maxKeysAge. The cache of nil keys is
	// empty, so tokens that were verified before are refused, too.
	keys := j.config.Keys.current(now)
	caller, err := j.authenticate(r, keys, now)
	if errors.Is(err, errUnknownKey) {
		if newer := j.config.Keys.newer(r.Context(), keys); newer != nil {
			return j.authenticate(r, newer, now)
		}
	}
	return caller, err
}

func (j *JWT) authenticate(r *http.Request, keys *keySet, now time.Time) (Caller, error) {
	return j.cache.of(keys).authenticate(r, now, func(text string) (Caller, time.Time, error) { return j.verify(text, keys, now) })
}

// errUnknownKey is the error for a token that names no key of its issuer.
var errUnknownKey = unauthenticated(refusedSignature)

const refusedSignature = "Token is not signed by a key of its issuer"

// VerifiedBefore looks up the token in the cache of verified tokens.
func (j *JWT) VerifiedBefore(r *http.Request) (Credential, bool) {
	now := j.config.Now()
	return j.cache.of(j.config.Keys.current(now)).verifiedBefore(r, now)
}

func (j *JWT) verify(text string, keys *keySet, now time.Time) (Caller, time.Time, error) {
	none := time.Time{}
	token, issuer, err := parseToken(text)
	switch {
	case err != nil:
		return Caller{}, none, err
	case issuer != j.config.Issuer:
		return Caller{}, none, errOtherIssuer
	case keys == nil:
		return Caller{}, none, unauthenticated("Token cannot be verified: the keys of its issuer are not known")
	}
	if !acceptedHeader(&token.Headers[0]) {
		return Caller{}, none, unauthenticated("Token has a type or a critical header that is not accepted")
	}
	var claims jwt.Claims
	var all map[string]json.RawMessage
	var kept *authz.Claims
	into := []any{&claims, &all}
	if j.config.KeepClaims {
		kept = &authz.Claims{}
		into = append(into, kept)
	}
	verified, known := verifySignature(token, keys.keys, into...)
	switch {
	case !verified && !known:
		return Caller{}, none, errUnknownKey
	case !verified:
		return Caller{}, none, unauthenticated(refusedSignature)
	}
	if err := validateClaims(&claims, j.config.Issuer, j.config.Audiences, now); err != nil {
		return Caller{}, none, err
	}
	caller, err := j.config.callerOf(all)
	if err != nil {
		return Caller{}, none, err
	}
	caller.Claims = kept
	if j.config.Scopes != nil {
		caller.Scopes = &TokenScopes{j.config.Scopes, scopesOf(all)}
	}
	return caller, claims.Expiry.Time().Add(leeway), nil
}

// callerOf returns the caller whom the claims of a token of the issuer name, without Caller.Claims.
func (c *JWTConfig) callerOf(all map[string]json.RawMessage) (Caller, error) {
	claim := cmp.Or(c.PrincipalClaim, "sub")
	principal, ok := nameClaim(all[claim])
	if !ok {
		return Caller{}, unauthenticated("Token has no usable claim " + claim)
	}
	ownerClaim := cmp.Or(c.OwnerClaim, claim)
	owner, ok := nameClaim(all[ownerClaim])
	if !ok {
		return Caller{}, unauthenticated("Token has no usable claim " + ownerClaim)
	}
	// An issuer has no fragment, so "#" keeps the owners of two issuers apart.
	caller := Caller{Owner: a2a.PersonOf(c.Issuer, owner), Unscoped: c.NamespaceClaim == ""}
	// Callers may be able to set other claims than sub. An owner by such a claim names it, so that it is never the owner of the person
	// whose sub has the same value.
	if ownerClaim != "sub" {
		caller.Owner = a2a.Owner("jwt[" + ownerClaim + "]:" + c.Issuer + "#" + owner)
		if sub, ok := nameClaim(all["sub"]); ok {
			caller.Person = a2a.PersonOf(c.Issuer, sub)
		}
	}
	if individual := a2a.PersonOf(c.Issuer, principal); individual != caller.Owner {
		caller.Individual = string(individual)
	}
	if !caller.Unscoped {
		caller.Namespace, ok = nameClaim(all[c.NamespaceClaim])
		if !ok {
			return Caller{}, unauthenticated("Token has no usable claim " + c.NamespaceClaim)
		}
	}
	return caller, nil
}

// acceptedHeader reports whether a header has no critical extension (crit), and has no
// type (typ) or the type of an access token or an ID token.
func acceptedHeader(h *jose.Header) bool {
	if _, critical := h.ExtraHeaders["crit"]; critical {
		return false
	}
	value, typed := h.ExtraHeaders[jose.HeaderType]
	if !typed {
		return true
	}
	text, _ := value.(string)
	switch strings.TrimPrefix(strings.ToLower(text), "application/") {
	case "jwt", "at+jwt":
		return true
	default:
		return false
	}
}

// nameClaim returns the value of a claim that names a principal, an owner or a namespace.
// It returns true only if the value is a string of 1 to maxPrincipal bytes without control
// characters and without U+FFFD.
func nameClaim(claim json.RawMessage) (string, bool) {
	var text *string
	if json.Unmarshal(claim, &text) != nil || text == nil || *text == "" || len(*text) > maxPrincipal {
		return "", false
	}
	// The decoder replaces invalid UTF-8 by U+FFFD, so two names could become equal.
	if strings.ContainsFunc(*text, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }) {
		return "", false
	}
	return *text, true
}
