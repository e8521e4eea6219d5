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

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// newPolicy says who may call and what they may do, and returns the issuer's
// keys that it needs, if any.
func (s *Sidecar) newPolicy(a *sidecarconfig.Access) (*auth.Policy, *auth.IssuerKeys, error) {
	now := s.now
	rules, err := newRules(a.Authorization)
	if err != nil {
		return nil, nil, fmt.Errorf("contract access.authorization: %w", err)
	}
	p := &auth.Policy{Namespaces: a.Namespaces, Rules: rules}
	keepClaims := rules != nil && rules.UsesClaims()
	var keys *auth.IssuerKeys
	anonymous := false
	for i, each := range a.Authentication {
		switch each.Type {
		case sidecarconfig.AuthenticationAnonymous:
			anonymous = true
		case sidecarconfig.AuthenticationKubernetes:
			k := each.Kubernetes
			authenticator, err := auth.NewKubernetes(auth.KubernetesConfig{
				Issuer: k.Issuer, Audiences: k.Audiences, Keys: k.Keys, KeepClaims: keepClaims, Now: now,
			})
			if err != nil {
				return nil, nil, fmt.Errorf("contract access.authentication[%d]: %w", i, err)
			}
			p.Authenticators = append(p.Authenticators, authenticator)
		case sidecarconfig.AuthenticationJWT:
			j := each.JWT
			keys = s.issuer.keys(auth.KeySource{Issuer: j.Issuer, URL: j.JWKSURL})
			p.Authenticators = append(p.Authenticators, auth.NewJWT(auth.JWTConfig{
				Issuer: j.Issuer, Audiences: j.Audiences, Keys: keys, Now: now,
				PrincipalClaim: j.PrincipalClaim, NamespaceClaim: j.NamespaceClaim, OwnerClaim: j.OwnerClaim, KeepClaims: keepClaims,
			}))
		case sidecarconfig.AuthenticationAPIKey:
			p.Authenticators = append(p.Authenticators, auth.NewAPIKey(auth.APIKeyConfig{
				Header: each.APIKey.Header, Query: each.APIKey.Query, Keys: &s.apiKeys,
			}))
		case sidecarconfig.AuthenticationMTLS:
			p.Authenticators = append(p.Authenticators, auth.NewCertificate(auth.CertificateConfig{
				Authorities: &s.clientCA, Subject: each.MTLS.Subject, Principals: each.MTLS.Principals, Now: now,
			}))
		default:
			return nil, nil, errors.New("contract access.authentication: unknown type " + string(each.Type))
		}
	}
	if anonymous {
		// It admits everybody, so wherever it is listed the others come first.
		p.Authenticators = append(p.Authenticators, auth.Anonymous{})
	}
	return p, keys, nil
}

// issuerKeys fetches the keys of the issuer that the policy in force names.
type issuerKeys struct {
	metrics   *metrics
	log       *slog.Logger
	now       func() time.Time
	transport *http.Transport
	// track adds and untrack removes the dependency while keys are needed.
	track   func() *health.Dependency
	untrack func(*health.Dependency)

	mu sync.Mutex
	// inForce is nil when no issuer's keys are needed, and so is tracked.
	inForce *auth.IssuerKeys
	tracked *health.Dependency
	// changed is closed when inForce has been replaced.
	changed chan struct{}
}

// newIssuerKeys uses no proxy from the environment.
func newIssuerKeys(m *metrics, log *slog.Logger, now func() time.Time, t *trust) *issuerKeys {
	return &issuerKeys{
		metrics: m, log: log, now: now, changed: make(chan struct{}),
		transport: &http.Transport{
			DialContext:       dial,
			DialTLSContext:    t.dialTLS("h2", "http/1.1"),
			ForceAttemptHTTP2: true,
			// Minutes pass until the next request.
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

// keys returns the keys of a source. Those in force are kept: a contract that
// changes elsewhere does not make them unknown.
func (i *issuerKeys) keys(source auth.KeySource) *auth.IssuerKeys {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.inForce != nil && i.inForce.Source() == source {
		return i.inForce
	}
	return auth.NewIssuerKeys(auth.IssuerKeysConfig{
		Source: source, Transport: i.transport, Observe: i.observe, Log: i.log, Now: i.now,
	})
}

// observe records how a fetch of the keys in force ended.
func (i *issuerKeys) observe(err error) {
	i.metrics.issuerKeys(err == nil)
	i.mu.Lock()
	tracked := i.tracked
	i.mu.Unlock()
	if tracked != nil {
		observeKeys(tracked, err)
	}
}

// known reports whether there are keys in force that tokens are verified by.
func (i *issuerKeys) known() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.inForce != nil && i.inForce.Known()
}

// swap has other keys fetched from now on; nil for none.
func (i *issuerKeys) swap(keys *auth.IssuerKeys) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.inForce == keys {
		return
	}
	i.inForce = keys
	if i.tracked != nil {
		i.untrack(i.tracked)
		i.tracked = nil
	}
	if keys != nil {
		i.tracked = i.track()
	}
	close(i.changed)
	i.changed = make(chan struct{})
}

// follow fetches the keys in force until ctx ends.
func (i *issuerKeys) follow(ctx context.Context) {
	for ctx.Err() == nil {
		i.mu.Lock()
		keys, changed := i.inForce, i.changed
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
