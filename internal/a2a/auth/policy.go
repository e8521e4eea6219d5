// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
)

// AllNamespaces in Policy.Namespaces allows the ServiceAccounts of every namespace.
const AllNamespaces = "*"

// Policy decides which callers are accepted. It is immutable.
type Policy struct {
	// Authenticators are asked in order. The first one that finds its kind of credential
	// decides, with two exceptions: if it rejects a token of another issuer or a client
	// certificate, the next one is asked. Anonymous is the last one. Without Authenticators,
	// the policy accepts no caller.
	Authenticators []Authenticator
	// Namespaces lists the namespaces whose ServiceAccounts may call.
	Namespaces []string
	// Rules are the authorization rules for accepted callers. If they are nil, every call is
	// allowed.
	Rules *authz.Policy
	// Delegation says what happens to calls on behalf of a subject.
	Delegation Delegation
	// Approvers has the rules that say who may decide about the calls for which a task waits. If
	// they are nil, the owner of the task decides.
	Approvers *authz.Policy
}

// Decide returns the caller of a request, or an *a2a.Error. If the caller is
// authenticated, but its namespace is not allowed or its token lacks a scope, it returns both.
func (p *Policy) Decide(r *http.Request) (Caller, error) {
	var rejection error
	for i, a := range p.Authenticators {
		caller, err := a.Authenticate(r)
		if errors.Is(err, ErrNoCredential) {
			continue
		}
		if errors.Is(err, errOtherIssuer) {
			// A later authenticator may accept tokens of that issuer.
			rejection = err
			continue
		}
		if overridable, ok := errors.AsType[*overridableError](err); ok {
			rejection = cmp.Or[error](rejection, overridable.problem)
			continue
		}
		if err != nil {
			return Caller{}, err
		}
		if caller.Anonymous && i > 0 && r.Header.Get("Authorization") != "" {
			// No authenticator accepts the credential of this caller. If it were accepted as
			// anonymous, the caller would not notice the mistake.
			return Caller{}, unauthenticated("Credential is of a kind that is not accepted here; leave it out to call anonymously")
		}
		if caller.Anonymous && rejection != nil {
			return Caller{}, rejection
		}
		caller.Rules = p.Rules
		if err := p.checkNamespace(&caller); err != nil {
			return caller, err
		}
		if err := caller.CheckScopes(""); err != nil {
			return caller, err
		}
		return caller, p.delegate(&caller, a, r)
	}
	if rejection != nil {
		return Caller{}, rejection
	}
	return Caller{}, errMissing
}

func (p *Policy) checkNamespace(c *Caller) error {
	if c.Anonymous || c.Unscoped || slices.Contains(p.Namespaces, c.Namespace) || slices.Contains(p.Namespaces, AllNamespaces) {
		return nil
	}
	return &a2a.Error{
		Reason:  a2a.ReasonPermissionDenied,
		Message: fmt.Sprintf("Forbidden: callers of namespace %q may not call this agent", c.Namespace),
	}
}

// challenges returns the values of WWW-Authenticate for clients without a credential: one for
// each authenticator that needs a credential, in their order and without duplicates.
func (p *Policy) challenges() []string {
	var all []string
	for _, a := range p.Authenticators {
		if c := a.Challenge(); c != "" && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// challenge sets the WWW-Authenticate headers of a 401.
func (g *Gate) challenge(p *Policy, w http.ResponseWriter, r *http.Request) {
	metadata := ""
	if g.Metadata != nil {
		metadata = g.Metadata(r)
	}
	all := p.challenges()
	if all == nil {
		all = []string{bearerChallenge}
	}
	for _, c := range all {
		if c == bearerChallenge {
			if r.Header.Get("Authorization") != "" {
				c += `, error="invalid_token"`
			}
			if metadata != "" {
				c += `, resource_metadata="` + metadata + `"`
			}
		}
		w.Header().Add("WWW-Authenticate", c)
	}
}

// Gate is the middleware that applies a policy. It is safe for concurrent use.
type Gate struct {
	// Metadata returns the URL of the protected resource metadata (RFC 9728) for a request, "" for none. It is set before
	// the first request. Nil means none.
	Metadata func(r *http.Request) string

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

// VerifiedBefore reports whether the gate has verified the credential of a request before,
// or accepts the request without a credential. It verifies no signature, so it is cheap
// when an address sends many invalid credentials.
//
// The result is false if the request has a credential that was not verified before, with
// two exceptions: a client certificate, if another credential of the request was verified
// before, and a token, if one Authenticator has verified it. The other Authenticators
// cannot verify this token, because each Authenticator of tokens has its own issuers.
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
// denied, because of the caller's namespace or a scope, and "" for other requests. ctx must be the
// context of the request that the function deny of NewGate receives.
func DeniedPrincipal(ctx context.Context) string {
	principal, _ := ctx.Value(deniedKey{}).(string)
	return principal
}

// ownerHeader is the key of the header, whose canonical form costs an allocation.
var ownerHeader = http.CanonicalHeaderKey(approval.OwnerHeader)

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
			if named := r.Header[ownerHeader]; caller.Task == "" && len(named) > 0 {
				caller.TaskOwner = a2a.Owner(named[0])
			}
			next.ServeHTTP(w, r.WithContext(WithCaller(r.Context(), caller)))
			return
		}
		problem, ok := errors.AsType[*a2a.Error](err)
		if !ok {
			problem = unauthenticated("Credential could not be verified")
		}
		if problem.Reason == a2a.ReasonUnauthenticated {
			g.challenge(policy, w, r)
		}
		if problem.Challenge != "" {
			w.Header().Set("WWW-Authenticate", problem.Challenge)
		}
		if principal := caller.Principal(); principal != "" {
			r = r.WithContext(context.WithValue(r.Context(), deniedKey{}, principal))
		}
		g.deny(w, r, problem)
	})
}
