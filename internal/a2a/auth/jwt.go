// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
)

const (
	// jwtLeeway allows for the clocks of issuers outside the cluster.
	jwtLeeway = time.Minute
	// maxPrincipal bounds the claim that tasks belong to.
	maxPrincipal = 512
)

// JWTConfig is what a JWT authenticator needs.
type JWTConfig struct {
	// Issuer must equal the token's iss.
	Issuer string
	// Audiences: the token's aud must hold one of them.
	Audiences []string
	// PrincipalClaim names the claim that says who is calling; "" is sub.
	PrincipalClaim string
	// NamespaceClaim names the claim that holds the caller's namespace; without
	// one, namespaces do not apply to the callers.
	NamespaceClaim string
	// OwnerClaim names the claim whose value tasks belong to, so that all who
	// have it share them; "" leaves them to the principal.
	OwnerClaim string
	// KeepClaims has callers bring their claims along.
	KeepClaims bool
	// Keys are the issuer's.
	Keys *IssuerKeys
	Now  func() time.Time
}

// JWT verifies the tokens of one issuer (RFC 7519) against keys that are
// fetched beside requests, never for one.
type JWT struct {
	config JWTConfig
	memory atomic.Pointer[jwtMemory]
}

// jwtMemory is of the tokens that certain keys have verified.
type jwtMemory struct {
	by     *keySet
	tokens *tokenCache
}

var _ Authenticator = (*JWT)(nil)

// NewJWT returns an authenticator.
func NewJWT(c JWTConfig) *JWT {
	if c.PrincipalClaim == "" {
		c.PrincipalClaim = "sub"
	}
	return &JWT{config: c}
}

// Challenge asks for a bearer token.
func (*JWT) Challenge() string { return bearerChallenge }

// Authenticate judges a bearer token of the issuer.
func (j *JWT) Authenticate(r *http.Request) (Caller, error) {
	text, ok := bearer(r)
	if !ok {
		return Caller{}, ErrNoCredential
	}
	if len(text) > maxToken {
		return Caller{}, unauthenticated("Token is too long")
	}
	now := j.config.Now()
	// Keys that are too old verify nothing, nor does what they once verified.
	keys := j.config.Keys.current(now)
	if keys != nil {
		if caller, ok := j.remembered(keys).get(text, now); ok {
			return caller, nil
		}
	}
	token, err := parseToken(text, j.config.Issuer)
	if err != nil {
		return Caller{}, err
	}
	if keys == nil {
		return Caller{}, unauthenticated("Token cannot be verified: the keys of its issuer are not known")
	}
	caller, expiry, err := j.verify(token, keys, now)
	if err != nil {
		return Caller{}, err
	}
	j.remembered(keys).put(text, caller, expiry, now)
	return caller, nil
}

// Recognizes knows a token that was verified before.
func (j *JWT) Recognizes(r *http.Request) (Credential, bool) {
	text, ok := bearer(r)
	if !ok {
		return CredentialNone, false
	}
	now := j.config.Now()
	keys := j.config.Keys.current(now)
	return CredentialToken, keys != nil && len(text) <= maxToken && j.remembered(keys).has(text, now)
}

// remembered returns the tokens that the keys have verified. Other keys begin
// with none, so that a key which its issuer withdraws lets nobody in any more.
func (j *JWT) remembered(keys *keySet) *tokenCache {
	if m := j.memory.Load(); m != nil && m.by == keys {
		return m.tokens
	}
	m := &jwtMemory{by: keys, tokens: newTokenCache()}
	j.memory.Store(m)
	return m.tokens
}

func (j *JWT) verify(token *jwt.JSONWebToken, keys *keySet, now time.Time) (Caller, time.Time, error) {
	none := time.Time{}
	if !plain(&token.Headers[0]) {
		return Caller{}, none, unauthenticated("Token is of a type, or has a critical header, that is not accepted")
	}
	var claims jwt.Claims
	var all map[string]json.RawMessage
	var kept *authz.Claims
	into := []any{&claims, &all}
	if j.config.KeepClaims {
		kept = &authz.Claims{}
		into = append(into, kept)
	}
	verified, known := signed(token, keys.keys, into...)
	if !verified {
		if !known {
			j.config.Keys.want()
		}
		return Caller{}, none, unauthenticated("Token is not signed by a key of its issuer")
	}
	if err := current(&claims, j.config.Issuer, j.config.Audiences, now, jwtLeeway); err != nil {
		return Caller{}, none, err
	}
	principal, ok := name(all[j.config.PrincipalClaim])
	if !ok {
		return Caller{}, none, unauthenticated("Token has no usable claim " + j.config.PrincipalClaim)
	}
	// An issuer has no fragment, so that no two callers are one owner.
	caller := Caller{Owner: a2a.Owner("jwt:" + j.config.Issuer + "#" + principal), Unscoped: j.config.NamespaceClaim == "", Claims: kept}
	if claim := j.config.OwnerClaim; claim != "" {
		shared, ok := name(all[claim])
		if !ok {
			return Caller{}, none, unauthenticated("Token has no usable claim " + claim)
		}
		caller.Individual = string(caller.Owner)
		caller.Owner = a2a.Owner("jwt[" + claim + "]:" + j.config.Issuer + "#" + shared)
	}
	if !caller.Unscoped {
		if caller.Namespace, ok = name(all[j.config.NamespaceClaim]); !ok {
			return Caller{}, none, unauthenticated("Token has no usable claim " + j.config.NamespaceClaim)
		}
	}
	return caller, claims.Expiry.Time().Add(jwtLeeway), nil
}

// plain reports whether a header is that of an access token or of an ID token,
// and asks for nothing that is not understood.
func plain(h *jose.Header) bool {
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

// name returns the text of a claim that may name somebody.
func name(claim json.RawMessage) (string, bool) {
	var text *string
	if json.Unmarshal(claim, &text) != nil || text == nil || *text == "" || len(*text) > maxPrincipal {
		return "", false
	}
	// The decoder puts U+FFFD for what is no text: two names could become one.
	if strings.ContainsFunc(*text, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }) {
		return "", false
	}
	return *text, true
}
