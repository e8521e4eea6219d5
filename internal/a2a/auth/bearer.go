// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// maxToken is the maximum length of a token in bytes. It bounds the work that an
// unauthenticated client can cause.
const maxToken = 16 << 10

// bearerChallenge is the value of WWW-Authenticate for a request without a valid bearer
// token (RFC 6750).
const bearerChallenge = `Bearer realm="a2a"`

// asymmetric lists the accepted signature algorithms. It has no symmetric algorithm,
// because a public key must never be used as a shared secret.
var asymmetric = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512,
	jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512,
	jose.EdDSA,
}

// bearer returns the bearer token of a request, and false if the request has none. If the
// request has more than one Authorization header, the token is "".
func bearer(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	// If there are several headers, another server on the way of the request could read a
	// different one than the sidecar.
	if len(values) > 1 {
		token = ""
	}
	return strings.TrimSpace(token), strings.EqualFold(scheme, "bearer")
}

// parseToken parses a token and returns the issuer that it names. It verifies nothing.
func parseToken(text string) (token *jwt.JSONWebToken, issuer string, err error) {
	// The decoder of base64 skips line breaks. If they were allowed, many different texts
	// would be the same token, each with its own entry in the cache.
	if strings.ContainsAny(text, "\r\n") {
		return nil, "", unauthenticated("Token is not a signed JWT of an accepted algorithm")
	}
	token, err = jwt.ParseSigned(text, asymmetric)
	if err != nil || len(token.Headers) != 1 {
		return nil, "", unauthenticated("Token is not a signed JWT of an accepted algorithm")
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if token.UnsafeClaimsWithoutVerification(&claims) != nil {
		return nil, "", errOtherIssuer
	}
	return token, claims.Issuer, nil
}

// verifySignature verifies the signature of a token with the keys, and decodes the
// claims. If the token has a key id, only keys with this id are tried, and known reports
// whether there is one. If the token has no key id, every key is tried, and known is
// false.
func verifySignature(token *jwt.JSONWebToken, keys []jose.JSONWebKey, claims ...any) (verified, known bool) {
	header := token.Headers[0]
	for i := range keys {
		key := &keys[i]
		if header.KeyID != "" && header.KeyID != key.KeyID {
			continue
		}
		known = header.KeyID != ""
		if key.Algorithm != "" && key.Algorithm != header.Algorithm || !algorithmFits(key.Key, header.Algorithm) {
			continue
		}
		if token.Claims(key.Key, claims...) == nil {
			return true, known
		}
	}
	return false, known
}

// validateClaims checks issuer, audience, expiry and times of a token.
func validateClaims(claims *jwt.Claims, issuer string, audiences []string, now time.Time) error {
	if claims.Expiry == nil {
		return unauthenticated("Token has no expiry (claim exp)")
	}
	err := claims.ValidateWithLeeway(jwt.Expected{Issuer: issuer, AnyAudience: audiences, Time: now}, leeway)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrExpired):
		return unauthenticated("Token has expired")
	case errors.Is(err, jwt.ErrInvalidAudience):
		return unauthenticated("Token has another audience; one of this agent's is " + audiences[0])
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return errOtherIssuer
	default:
		return unauthenticated("Token is not valid yet")
	}
}

// Limits of RSA keys, in bits. Shorter keys are insecure, and longer ones cost too much
// CPU time.
const (
	minRSA = 2048
	maxRSA = 8192
)

// usableKey reports whether a key is a public key that may verify tokens.
func usableKey(key any) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= minRSA && k.N.BitLen() <= maxRSA
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	default:
		return false
	}
}

// algorithmFits reports whether a key can verify signatures of an algorithm. Each
// elliptic curve has its own algorithm.
func algorithmFits(key any, algorithm string) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		return algorithm == map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[k.Params().BitSize]
	case ed25519.PublicKey:
		return algorithm == string(jose.EdDSA)
	default:
		return false
	}
}
