// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Bounds on tokens.
const (
	// maxToken is more than any ServiceAccount token, and bounds the work that
	// a stranger can ask for.
	maxToken = 16 << 10
	// leeway allows for clocks that differ.
	leeway = 10 * time.Second
)

// algorithms that an API server may sign with. No symmetric one is among them:
// a public key must not be taken for a secret.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512,
}

// KubernetesConfig is what a Kubernetes authenticator needs.
type KubernetesConfig struct {
	// Issuer must equal the token's iss.
	Issuer string
	// Audiences: the token's aud must hold one of them.
	Audiences []string
	// Keys is the issuer's JWK set (RFC 7517), as text.
	Keys []byte
	Now  func() time.Time
}

// Kubernetes verifies ServiceAccount tokens against keys that it was given, so
// that no request waits for another server.
type Kubernetes struct {
	config   KubernetesConfig
	keys     []jose.JSONWebKey
	verified *tokenCache
}

var _ Authenticator = (*Kubernetes)(nil)

// NewKubernetes returns an authenticator for the keys.
func NewKubernetes(c KubernetesConfig) (*Kubernetes, error) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(c.Keys, &set); err != nil {
		return nil, fmt.Errorf("read keys of issuer %s: %w", c.Issuer, err)
	}
	k := &Kubernetes{config: c, verified: newTokenCache()}
	for _, key := range set.Keys {
		if key.Use != "enc" && public(key.Key) {
			k.keys = append(k.keys, key)
		}
	}
	if len(k.keys) == 0 {
		return nil, fmt.Errorf("read keys of issuer %s: none is a public signature key", c.Issuer)
	}
	return k, nil
}

func public(key any) bool {
	switch key.(type) {
	case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	default:
		return false
	}
}

// Authenticate judges a bearer token. Any bearer token is taken for one of
// this issuer's.
func (k *Kubernetes) Authenticate(r *http.Request) (Caller, error) {
	token, ok := bearer(r)
	if !ok {
		return Caller{}, ErrNoCredential
	}
	if len(token) > maxToken {
		return Caller{}, unauthenticated("Token is too long")
	}
	now := k.config.Now()
	if caller, ok := k.verified.get(token, now); ok {
		return caller, nil
	}
	caller, expiry, err := k.verify(token, now)
	if err != nil {
		return Caller{}, err
	}
	k.verified.put(token, caller, expiry, now)
	return caller, nil
}

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

// private holds the claims of KEP-1205 that jwt.Claims does not.
type private struct {
	Kubernetes struct {
		Namespace      string `json:"namespace"`
		ServiceAccount struct {
			Name string `json:"name"`
		} `json:"serviceaccount"`
	} `json:"kubernetes.io"`
}

func (k *Kubernetes) verify(text string, now time.Time) (Caller, time.Time, error) {
	none := time.Time{}
	token, err := jwt.ParseSigned(text, algorithms)
	if err != nil || len(token.Headers) != 1 {
		return Caller{}, none, unauthenticated("Token is not a signed JWT of an accepted algorithm")
	}
	var claims jwt.Claims
	var extra private
	if !k.signed(token, &claims, &extra) {
		return Caller{}, none, unauthenticated("Token is not signed by a key of this cluster")
	}
	if err := k.current(&claims, now); err != nil {
		return Caller{}, none, err
	}
	namespace, name := extra.Kubernetes.Namespace, extra.Kubernetes.ServiceAccount.Name
	if namespace == "" || name == "" || claims.Subject != "system:serviceaccount:"+namespace+":"+name {
		return Caller{}, none, unauthenticated("Token is not one of a ServiceAccount")
	}
	caller := Caller{Owner: a2a.Owner(claims.Subject), Namespace: namespace}
	return caller, claims.Expiry.Time().Add(leeway), nil
}

// signed verifies the signature and reads the claims. A token without a key id
// is tried with every key.
func (k *Kubernetes) signed(token *jwt.JSONWebToken, claims ...any) bool {
	header := token.Headers[0]
	for _, key := range k.keys {
		if header.KeyID != "" && header.KeyID != key.KeyID {
			continue
		}
		if key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if token.Claims(key.Key, claims...) == nil {
			return true
		}
	}
	return false
}

// current checks who issued the token, for whom, and for how long.
func (k *Kubernetes) current(claims *jwt.Claims, now time.Time) error {
	if claims.Expiry == nil {
		return unauthenticated("Token has no expiry")
	}
	err := claims.ValidateWithLeeway(jwt.Expected{
		Issuer:      k.config.Issuer,
		AnyAudience: k.config.Audiences,
		Time:        now,
	}, leeway)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrExpired):
		return unauthenticated("Token has expired")
	case errors.Is(err, jwt.ErrInvalidAudience):
		return unauthenticated("Token has another audience; one of this agent's is " + k.config.Audiences[0])
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return unauthenticated("Token is of another issuer")
	default:
		return unauthenticated("Token is not valid yet")
	}
}
