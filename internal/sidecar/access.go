// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/metrics"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/trust"
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
func (a *access) policy(c *sidecarconfig.Access, decisions *sidecarconfig.Decisions) (*auth.Policy, *auth.IssuerKeys, error) {
	rules, err := newRules(c.Authorization)
	if err != nil {
		return nil, nil, fmt.Errorf("authorization: %w", err)
	}
	approvers, err := newApprovers(decisions)
	if err != nil {
		return nil, nil, fmt.Errorf("approvers: %w", err)
	}
	p := &auth.Policy{Namespaces: c.Namespaces, Rules: rules, Delegation: auth.Delegation(c.Delegation), Approvers: approvers}
	keepClaims := rules != nil && rules.UsesClaims() || approvers != nil && approvers.UsesClaims()
	var keys *auth.IssuerKeys
	kubernetes := c.KubernetesIssuers()
	anonymous := false
	for i, each := range c.Authentication {
		switch each.Type {
		case sidecarconfig.AuthenticationAnonymous:
			anonymous = true
		case sidecarconfig.AuthenticationKubernetes:
			if kubernetes == nil {
				continue // the first entry has made one authenticator for all Kubernetes entries
			}
			authenticator, err := newKubernetes(kubernetes, people(c), keepClaims, a.now)
			if err != nil {
				return nil, nil, fmt.Errorf("authentication[%d]: %w", i, err)
			}
			p.Authenticators = append(p.Authenticators, authenticator)
			kubernetes = nil
		case sidecarconfig.AuthenticationJWT:
			j := each.JWT
			keys = a.issuer.keys(auth.KeySource{Issuer: j.Issuer, URL: j.JWKSURL})
			p.Authenticators = append(p.Authenticators, auth.NewJWT(auth.JWTConfig{
				Issuer: j.Issuer, Audiences: j.Audiences, Keys: keys, Now: a.now,
				PrincipalClaim: j.PrincipalClaim, NamespaceClaim: j.NamespaceClaim, OwnerClaim: j.OwnerClaim, KeepClaims: keepClaims,
				Scopes: scopes(j),
			}))
		case sidecarconfig.AuthenticationAPIKey:
			p.Authenticators = append(p.Authenticators, auth.NewAPIKey(auth.APIKeyConfig{
				Header: each.APIKey.Header, Query: each.APIKey.Query, Keys: &a.apiKeys,
			}))
		case sidecarconfig.AuthenticationMTLS:
			p.Authenticators = append(p.Authenticators, auth.NewCertificate(auth.CertificateConfig{
				Authorities: &a.clientCA, Subject: each.MTLS.Subject, TrustDomain: each.MTLS.TrustDomain, Principals: each.MTLS.Principals, Now: a.now,
			}))
		default:
			return nil, nil, fmt.Errorf("authentication[%d]: unknown type %q", i, each.Type)
		}
	}
	if decisions != nil && decisions.Page != nil {
		page, err := newPage(decisions.Page, c, a.now)
		if err != nil {
			return nil, nil, fmt.Errorf("decisions.page: %w", err)
		}
		p.Authenticators = append(p.Authenticators, page)
	}
	if anonymous {
		// Anonymous accepts every request, so it must be the last authenticator.
		p.Authenticators = append(p.Authenticators, auth.Anonymous{})
	}
	return p, keys, nil
}

// scopes returns the scopes that tokens need, nil for none.
func scopes(j *sidecarconfig.JWTAuthentication) *auth.Scopes {
	if len(j.RequiredScopes) == 0 && len(j.SkillScopes) == 0 {
		return nil
	}
	return &auth.Scopes{Required: j.RequiredScopes, Skills: j.SkillScopes}
}

// newPage returns the authenticator for tokens of the page on which people decide. A person has the same principal as with a token of
// the same issuer.
func newPage(page *sidecarconfig.DecisionPage, c *sidecarconfig.Access, now func() time.Time) (*auth.Page, error) {
	config := auth.PageConfig{
		Issuer: auth.KubernetesIssuer{Issuer: sidecarconfig.PageIssuer, Audiences: []string{page.Audience}, Keys: page.Keys}, People: people(c), Now: now,
	}
	return auth.NewPage(config)
}

// people returns the claims that name the people of an issuer, without its keys.
func people(c *sidecarconfig.Access) []auth.JWTConfig {
	var all []auth.JWTConfig
	for _, each := range c.Authentication {
		if j := each.JWT; j != nil {
			all = append(all, auth.JWTConfig{
				Issuer: j.Issuer, PrincipalClaim: j.PrincipalClaim, NamespaceClaim: j.NamespaceClaim, OwnerClaim: j.OwnerClaim,
			})
		}
	}
	return all
}

// newKubernetes returns one authenticator for the tokens of several issuers.
func newKubernetes(issuers []*sidecarconfig.KubernetesAuthentication, people []auth.JWTConfig, keepClaims bool, now func() time.Time) (*auth.Kubernetes, error) {
	config := auth.KubernetesConfig{KeepClaims: keepClaims, People: people, Now: now}
	for _, k := range issuers {
		config.Issuers = append(config.Issuers, auth.KubernetesIssuer{
			Issuer: k.Issuer, Audiences: k.Audiences, Keys: k.Keys, Delegates: k.Issuer == sidecarconfig.TokenIssuer,
		})
	}
	return auth.NewKubernetes(config)
}

// admitsNoCaller reports whether no configured authentication method can accept a caller
// now. With API keys, no caller is accepted while there are no keys. With tokens of an
// issuer, no caller is accepted until one of the issuer's keys is known. All other
// methods can always accept callers.
func (a *access) admitsNoCaller(c *sidecarconfig.Access) bool {
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

// newRules returns the compiled authorization rules. If a is nil, it returns nil, which
// allows every call of an admitted caller.
func newRules(a *sidecarconfig.Authorization) (*authz.Policy, error) {
	if a == nil {
		return nil, nil
	}
	rules := make([]authz.Rule, len(a.Rules))
	for i, r := range a.Rules {
		rules[i] = authz.Rule{
			Name: r.Name, Allow: r.Action == sidecarconfig.ActionAllow,
			Namespaces: r.Namespaces, Principals: r.Principals, Subjects: r.Subjects, Skills: r.Skills,
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

// newApprovers returns the compiled rules of approvers, nil for none.
func newApprovers(d *sidecarconfig.Decisions) (*authz.Policy, error) {
	if d == nil || len(d.Approvers) == 0 {
		return nil, nil
	}
	rules := make([]authz.Rule, len(d.Approvers))
	for i := range d.Approvers {
		rules[i] = authz.Rule{Allow: true, Expression: d.Approvers[i].Checked}
	}
	return authz.New(rules)
}

// issuerKeysLostAfter is how long fetches of an issuer's keys must fail until the
// dependency is no longer healthy. Keys that were fetched earlier are used until an hour
// after their fetch, whether the dependency is healthy or not.
const issuerKeysLostAfter = time.Minute

// issuerKeys fetches the keys of the token issuer that the access policy in use names.
// Its methods are safe for concurrent use.
type issuerKeys struct {
	metrics   *metrics.Metrics
	log       *slog.Logger
	now       func() time.Time
	transport *http.Transport
	health    *health.Tracker
	// blocks reports whether missing keys make the pod unready (health.Options.Blocks).
	blocks func(health.Status) bool

	mu sync.Mutex
	// inUse and tracked are nil if the policy needs no issuer's keys.
	inUse   *auth.IssuerKeys
	tracked *health.Dependency
	// changed is closed when inUse has been replaced.
	changed chan struct{}
}

// newIssuerKeys returns an issuerKeys without an issuer. Its transport ignores proxies in
// the environment.
func newIssuerKeys(e *environment, blocks func(health.Status) bool) *issuerKeys {
	return &issuerKeys{
		metrics: e.metrics, log: e.log, now: e.now, health: e.health, blocks: blocks, changed: make(chan struct{}),
		transport: responseheader.Bound(&http.Transport{
			DialContext:    trust.Dial,
			DialTLSContext: e.trust.DialTLS(),
			// An idle connection is useless, because the next request follows minutes later.
			DisableKeepAlives: true,
		}),
	}
}

// keys returns an IssuerKeys for a source. If this source is in use, it returns the
// IssuerKeys in use, so that a reload of another part of the configuration does not
// discard the fetched keys.
func (i *issuerKeys) keys(source auth.KeySource) *auth.IssuerKeys {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.inUse != nil && i.inUse.Source() == source {
		return i.inUse
	}
	return auth.NewIssuerKeys(auth.IssuerKeysConfig{
		Source: source, Transport: i.transport, Observe: i.observe, Log: i.log, Now: i.now,
	})
}

// observe records the result of a fetch of the keys in use.
func (i *issuerKeys) observe(err error) {
	i.metrics.IssuerKeysFetched(err == nil)
	i.mu.Lock()
	tracked := i.tracked
	i.mu.Unlock()
	if tracked == nil {
		return
	}
	failure, ok := errors.AsType[*auth.KeysError](err)
	switch {
	case err == nil:
		tracked.Succeeded()
	case !ok:
		tracked.Failf(sidecarconfig.CauseInvalid, "%v", err)
	case failure.Status != 0:
		tracked.Failf(sidecarconfig.CauseHTTPStatus, "GET %s is answered with status %d", failure.URL, failure.Status)
	case failure.Content:
		tracked.Failf(sidecarconfig.CauseInvalid, "GET %s is answered with 200, but %v", failure.URL, failure.Err)
	default:
		cause, text := health.CauseOf(failure.Err)
		tracked.Failf(cause, "GET %s: %s", failure.URL, text)
	}
}

// known reports whether there are keys of the issuer in use that can verify tokens.
func (i *issuerKeys) known() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.inUse != nil && i.inUse.Known()
}

// swap replaces the keys in use. Nil means that no issuer's keys are needed.
func (i *issuerKeys) swap(keys *auth.IssuerKeys) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.inUse == keys {
		return
	}
	i.inUse = keys
	if i.tracked != nil {
		i.health.Remove(i.tracked)
		i.tracked = nil
	}
	if keys != nil {
		i.tracked = i.health.Add(sidecarconfig.DependencyIssuerKeys, health.Options{Blocks: i.blocks, LostAfter: issuerKeysLostAfter})
	}
	close(i.changed)
	i.changed = make(chan struct{})
}

// follow fetches the keys in use until ctx ends.
func (i *issuerKeys) follow(ctx context.Context) {
	for ctx.Err() == nil {
		i.mu.Lock()
		keys := i.inUse
		changed := i.changed
		i.mu.Unlock()
		running, stop := context.WithCancel(ctx)
		var fetching sync.WaitGroup
		if keys != nil {
			fetching.Go(func() { keys.Run(running) })
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
		stop()
		fetching.Wait()
	}
}
