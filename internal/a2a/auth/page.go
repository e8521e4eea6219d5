// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// PageConfig configures a Page authenticator.
type PageConfig struct {
	// Issuer has the name, the audience and the keys of the page.
	Issuer KubernetesIssuer
	// People are the issuers whose people have another principal than their claim sub. Their keys are not used.
	People []JWTConfig
	Now    func() time.Time
}

// Page verifies tokens of the page on which people decide about calls of tools. The page has verified the token of a person at
// another issuer. Its own token names that issuer, the claims of the person, and the one task about which the person decides.
type Page struct {
	config   PageConfig
	issuer   *trustedIssuer
	verified *tokenCache
}

// NewPage returns an authenticator. It fails if the JWK set has no usable key.
func NewPage(c PageConfig) (*Page, error) {
	issuer, err := c.Issuer.trusted()
	if err != nil {
		return nil, err
	}
	return &Page{config: c, issuer: issuer, verified: newTokenCache()}, nil
}

// Challenge is empty: only the page has such tokens.
func (*Page) Challenge() string { return "" }

// Authenticate verifies a bearer token of the page.
func (p *Page) Authenticate(r *http.Request) (Caller, error) {
	now := p.config.Now()
	return p.verified.authenticate(r, now, func(text string) (Caller, time.Time, error) { return p.verify(text, now) })
}

// VerifiedBefore looks up the token in the cache of verified tokens.
func (p *Page) VerifiedBefore(r *http.Request) (Credential, bool) {
	return p.verified.verifiedBefore(r, p.config.Now())
}

// decides is the claim of a token with the person and the task.
type decides struct {
	Decides struct {
		Task   string                     `json:"task"`
		Owner  a2a.Owner                  `json:"owner"`
		Issuer string                     `json:"issuer"`
		Claims map[string]json.RawMessage `json:"claims"`
	} `json:"a2a-operator.dev/decides"`
}

func (p *Page) verify(text string, now time.Time) (Caller, time.Time, error) {
	none := time.Time{}
	token, name, err := parseToken(text)
	switch {
	case err != nil:
		return Caller{}, none, err
	case name != p.issuer.name:
		return Caller{}, none, errOtherIssuer
	}
	var claims jwt.Claims
	var of decides
	if verified, _ := verifySignature(token, p.issuer.keys, &claims, &of); !verified {
		return Caller{}, none, unauthenticated("Token is not signed by a key of the page")
	}
	if err := validateClaims(&claims, p.issuer.name, p.issuer.audiences, now); err != nil {
		return Caller{}, none, err
	}
	person := &of.Decides
	if person.Task == "" || person.Owner == "" || person.Issuer == "" {
		return Caller{}, none, unauthenticated("Token names no task or no issuer of a person")
	}
	config := JWTConfig{Issuer: person.Issuer, PrincipalClaim: "sub"}
	for i := range p.config.People {
		if p.config.People[i].Issuer == person.Issuer {
			config = p.config.People[i]
		}
	}
	caller, err := config.callerOf(person.Claims)
	if err != nil {
		return Caller{}, none, err
	}
	caller.Claims = decodeClaims(person.Claims)
	caller.Task = person.Task
	caller.TaskOwner = person.Owner
	return caller, claims.Expiry.Time().Add(leeway), nil
}
