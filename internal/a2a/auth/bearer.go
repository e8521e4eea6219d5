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

// maxToken is more than any token has, and bounds the work that a stranger can
// ask for.
const maxToken = 16 << 10

// bearerChallenge is what a client without a bearer token is told (RFC 6750).
const bearerChallenge = `Bearer realm="a2a"` //nolint:gosec // a challenge, not a credential

// errOtherIssuer is returned for a token that is another authenticator's, or
// nobody's.
var errOtherIssuer = unauthenticated("Token is of another issuer")

// asymmetric are the algorithms that a token may be signed with. No symmetric
// one is among them: a public key must not be taken for a secret.
var asymmetric = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512,
	jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512,
	jose.EdDSA,
}

// bearer returns the request's bearer token, and false when it has none.
func bearer(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	// More than one header is a guess at which of them counts; "" is refused.
	if len(values) > 1 {
		token = ""
	}
	return strings.TrimSpace(token), strings.EqualFold(scheme, "bearer")
}

// parseToken reads a token that says to be of an issuer. Nothing of it is
// verified; what another issuer's authenticator may know is left to it.
func parseToken(text, issuer string) (*jwt.JSONWebToken, error) {
	// The decoder of base64 skips line breaks: one token would have many forms.
	if strings.ContainsAny(text, "\r\n") {
		return nil, unauthenticated("Token is not a signed JWT of an accepted algorithm")
	}
	token, err := jwt.ParseSigned(text, asymmetric)
	if err != nil || len(token.Headers) != 1 {
		return nil, unauthenticated("Token is not a signed JWT of an accepted algorithm")
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if token.UnsafeClaimsWithoutVerification(&claims) != nil || claims.Issuer != issuer {
		return nil, errOtherIssuer
	}
	return token, nil
}

// signed verifies a signature by one of the keys and reads the claims. A token
// without a key id is tried with every key. known is true when it has one, and
// the keys do.
func signed(token *jwt.JSONWebToken, keys []jose.JSONWebKey, claims ...any) (verified, known bool) {
	header := token.Headers[0]
	for i := range keys {
		key := &keys[i]
		if header.KeyID != "" && header.KeyID != key.KeyID {
			continue
		}
		known = header.KeyID != ""
		if key.Algorithm != "" && key.Algorithm != header.Algorithm || !fits(key.Key, header.Algorithm) {
			continue
		}
		if token.Claims(key.Key, claims...) == nil {
			return true, known
		}
	}
	return false, known
}

// current checks who issued a token, for whom, and for how long.
func current(claims *jwt.Claims, issuer string, audiences []string, now time.Time, leeway time.Duration) error {
	if claims.Expiry == nil {
		return unauthenticated("Token has no expiry")
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

// Bounds on RSA keys, in bits: shorter ones can be broken, longer ones keep
// the verifier busy.
const (
	minRSA = 2048
	maxRSA = 8192
)

// usable reports whether a key is a public one that may verify tokens.
func usable(key any) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= minRSA && k.N.BitLen() <= maxRSA
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	default:
		return false
	}
}

// fits reports whether an algorithm is one of a key's. Each curve has its own.
func fits(key any, algorithm string) bool {
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
