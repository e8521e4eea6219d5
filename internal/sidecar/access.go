// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"fmt"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// access creates the access policy of a configuration.
type access struct {
	apiKeys  auth.APIKeys
	clientCA auth.Authorities
	issuer   *issuerKeys
	now      func() time.Time
}

// policy returns the policy that decides who may call and what callers may do. It also
// returns the keys of the token issuer that the policy needs, or nil if the policy needs
// none.
func (a *access) policy(c *sidecarconfig.Access) (*auth.Policy, *auth.IssuerKeys, error) {
	rules, err := newRules(c.Authorization)
	if err != nil {
		return nil, nil, fmt.Errorf("authorization: %w", err)
	}
	p := &auth.Policy{Namespaces: c.Namespaces, Rules: rules}
	keepClaims := rules != nil && rules.UsesClaims()
	var keys *auth.IssuerKeys
	kubernetes := c.KubernetesIssuers()
	anonymous := false
	for i, each := range c.Authentication {
		switch each.Type {
		case sidecarconfig.AuthenticationAnonymous:
			anonymous = true
		case sidecarconfig.AuthenticationKubernetes:
			if kubernetes == nil {
				continue // the first entry has made one authenticator of all of them
			}
			authenticator, err := newKubernetes(kubernetes, keepClaims, a.now)
			if err != nil {
				return nil, nil, fmt.Errorf("authentication[%d]: %w", i, err)
			}
			p.Authenticators, kubernetes = append(p.Authenticators, authenticator), nil
		case sidecarconfig.AuthenticationJWT:
			j := each.JWT
			keys = a.issuer.keys(auth.KeySource{Issuer: j.Issuer, URL: j.JWKSURL})
			p.Authenticators = append(p.Authenticators, auth.NewJWT(auth.JWTConfig{
				Issuer: j.Issuer, Audiences: j.Audiences, Keys: keys, Now: a.now,
				PrincipalClaim: j.PrincipalClaim, NamespaceClaim: j.NamespaceClaim, OwnerClaim: j.OwnerClaim, KeepClaims: keepClaims,
			}))
		case sidecarconfig.AuthenticationAPIKey:
			p.Authenticators = append(p.Authenticators, auth.NewAPIKey(auth.APIKeyConfig{
				Header: each.APIKey.Header, Query: each.APIKey.Query, Keys: &a.apiKeys,
			}))
		case sidecarconfig.AuthenticationMTLS:
			p.Authenticators = append(p.Authenticators, auth.NewCertificate(auth.CertificateConfig{
				Authorities: &a.clientCA, Subject: each.MTLS.Subject, Principals: each.MTLS.Principals, Now: a.now,
			}))
		default:
			return nil, nil, fmt.Errorf("authentication[%d]: unknown type %q", i, each.Type)
		}
	}
	if anonymous {
		// Anonymous accepts every request, so it must be the last authenticator.
		p.Authenticators = append(p.Authenticators, auth.Anonymous{})
	}
	return p, keys, nil
}

// newKubernetes returns one authenticator for the tokens of several issuers.
func newKubernetes(issuers []*sidecarconfig.KubernetesAuthentication, keepClaims bool, now func() time.Time) (*auth.Kubernetes, error) {
	config := auth.KubernetesConfig{KeepClaims: keepClaims, Now: now}
	for _, k := range issuers {
		config.Issuers = append(config.Issuers, auth.KubernetesIssuer{Issuer: k.Issuer, Audiences: k.Audiences, Keys: k.Keys})
	}
	return auth.NewKubernetes(config)
}

// admitsNobody reports whether no configured method can authenticate a caller now: there
// are no API keys, and no key of the issuer is known.
func (a *access) admitsNobody(c *sidecarconfig.Access) bool {
	for _, each := range c.Authentication {
		switch each.Type {
		case sidecarconfig.AuthenticationJWT:
			if a.issuer.known() {
				return false
			}
		case sidecarconfig.AuthenticationAPIKey:
			if a.apiKeys.Len() > 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// newRules returns the compiled authorization rules. Without rules, it returns nil, which
// allows every call of an accepted caller.
func newRules(a *sidecarconfig.Authorization) (*authz.Policy, error) {
	if a == nil {
		return nil, nil
	}
	rules := make([]authz.Rule, len(a.Rules))
	for i, r := range a.Rules {
		rules[i] = authz.Rule{
			Name: r.Name, Allow: r.Action == sidecarconfig.ActionAllow,
			Namespaces: r.Namespaces, Principals: r.Principals, Skills: r.Skills,
		}
		for _, m := range r.Methods {
			rules[i].Methods = append(rules[i].Methods, a2a.Method(m))
		}
		if r.Expression != nil {
			rules[i].Expression = r.Expression.Checked
		}
	}
	return authz.New(rules)
}
