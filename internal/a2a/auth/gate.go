// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Gate is the middleware that applies a policy. It is safe for concurrent use.
type Gate struct {
	policy atomic.Pointer[Policy]
	deny   func(http.ResponseWriter, *http.Request, *a2a.Error)
}

// NewGate returns a gate. deny writes the response to a refused request, in the form of
// its binding. The gate sets WWW-Authenticate before it calls deny.
func NewGate(p *Policy, deny func(http.ResponseWriter, *http.Request, *a2a.Error)) *Gate {
	g := &Gate{deny: deny}
	g.policy.Store(p)
	return g
}

// Swap replaces the policy, for requests that arrive from now on.
func (g *Gate) Swap(p *Policy) { g.policy.Store(p) }

// VerifiedBefore reports whether the gate has verified the credential of a request
// before. It verifies no signature, so it is cheap when an address sends many invalid
// credentials.
//
// The precedence is that of Decide: a credential that was verified before counts, even if
// the client certificate was not verified, or if an authenticator of another issuer has
// not verified the same token. No other combination with an unverified credential counts.
func (g *Gate) VerifiedBefore(r *http.Request) bool {
	unverified := CredentialNone
	for _, a := range g.policy.Load().Authenticators {
		kind, verified := a.VerifiedBefore(r)
		if verified {
			return unverified == kind || kind != CredentialNone && (unverified == CredentialNone || unverified == CredentialCertificate)
		}
		if unverified == CredentialNone || unverified == CredentialCertificate && kind != CredentialNone {
			unverified = kind
		}
	}
	return false
}

type deniedKey struct{}

// DeniedPrincipal returns the principal of a caller that the gate authenticated and then
// denied because of the caller's namespace, and "" for other requests. The context must
// be the one of the request that NewGate's deny receives.
func DeniedPrincipal(ctx context.Context) string {
	principal, _ := ctx.Value(deniedKey{}).(string)
	return principal
}

// Require returns a handler that passes accepted requests to next, and refuses all
// others. An accepted request has its Caller in the context, and no longer contains an
// API key.
func (g *Gate) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		policy := g.policy.Load()
		caller, err := policy.Decide(r)
		for _, a := range policy.Authenticators {
			if remover, ok := a.(credentialRemover); ok {
				r = remover.removeCredential(r)
			}
		}
		if err == nil {
			caller.Policy = policy
			next.ServeHTTP(w, r.WithContext(WithCaller(r.Context(), caller)))
			return
		}
		problem, ok := errors.AsType[*a2a.Error](err)
		if !ok {
			problem = unauthenticated("Credential could not be verified")
		}
		if problem.Reason == a2a.ReasonUnauthenticated {
			policy.challenge(w, r)
		}
		if principal := caller.Principal(); principal != "" {
			r = r.WithContext(context.WithValue(r.Context(), deniedKey{}, principal))
		}
		g.deny(w, r, problem)
	})
}
