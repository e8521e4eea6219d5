// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
)

// ErrNoCredential is returned by an Authenticator for a request that has
// nothing for it to judge, so that the next one is asked.
var ErrNoCredential = errors.New("request has no credential of this kind")

// Authenticator knows one kind of credential.
type Authenticator interface {
	// Authenticate returns the caller, ErrNoCredential, or an *a2a.Error that
	// says what is wrong with the credential. It neither waits nor calls.
	Authenticate(r *http.Request) (Caller, error)
	// Recognizes returns what Authenticate would judge, and whether it is known to
	// be good. It does no work but to look.
	Recognizes(r *http.Request) (shown Credential, known bool)
	// Challenge tells a client without a credential how to show one, in the form
	// of a WWW-Authenticate header; "" for nothing.
	Challenge() string
}

// Credential is a kind of what a request shows.
type Credential uint8

// The kinds.
const (
	CredentialNone Credential = iota
	CredentialToken
	CredentialAPIKey
	CredentialCertificate
)

// concealer is an Authenticator whose credential stands where others look.
type concealer interface {
	// conceal returns the request without it.
	conceal(r *http.Request) *http.Request
}

// AllNamespaces in a policy admits the ServiceAccounts of every namespace.
const AllNamespaces = "*"

// Policy says who may call.
type Policy struct {
	// Authenticators are asked in order; the first that knows the request's
	// credential decides. Anonymous stands last. None means that nobody may call.
	Authenticators []Authenticator
	// Namespaces lists those whose ServiceAccounts may call.
	Namespaces []string
	// Rules judge what those who may call may do, once that is known; nil allows
	// everything.
	Rules *authz.Policy
}

// Decide returns the caller of a request, or an *a2a.Error.
func (p *Policy) Decide(r *http.Request) (Caller, error) {
	var foreign error
	for i, a := range p.Authenticators {
		caller, err := a.Authenticate(r)
		if errors.Is(err, ErrNoCredential) {
			continue
		}
		if errors.Is(err, errOtherIssuer) {
			// Another authenticator may be that issuer's.
			foreign = err
			continue
		}
		if passed, ok := errors.AsType[*passedOverError](err); ok {
			foreign = cmp.Or[error](foreign, passed.problem)
			continue
		}
		if err != nil {
			return Caller{}, err
		}
		if caller.Anonymous && i > 0 && r.Header.Get("Authorization") != "" {
			// Who shows a credential must not become nobody without a word.
			return Caller{}, unauthenticated("Credential is of a kind that is not accepted here; leave it out to call anonymously")
		}
		if caller.Anonymous && foreign != nil {
			return Caller{}, foreign
		}
		caller.Rules = p.Rules
		return caller, p.admit(&caller)
	}
	if foreign != nil {
		return Caller{}, foreign
	}
	return Caller{}, errMissing
}

func (p *Policy) admit(c *Caller) error {
	if c.Anonymous || c.Unscoped || slices.Contains(p.Namespaces, c.Namespace) || slices.Contains(p.Namespaces, AllNamespaces) {
		return nil
	}
	return &a2a.Error{
		Reason:  a2a.ReasonPermissionDenied,
		Message: fmt.Sprintf("Forbidden: callers of namespace %q may not call this agent", c.Namespace),
	}
}

// challenges returns one value of WWW-Authenticate for each authenticator that
// takes a credential, in their order. Two that take the same one have one value.
func (p *Policy) challenges() []string {
	var all []string
	for _, a := range p.Authenticators {
		if c := a.Challenge(); c != "" && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// challenge tells a client that was refused what would be accepted.
func (p *Policy) challenge(w http.ResponseWriter, r *http.Request) {
	all := p.challenges()
	if all == nil {
		all = []string{bearerChallenge}
	}
	for _, c := range all {
		if c == bearerChallenge && r.Header.Get("Authorization") != "" {
			c += `, error="invalid_token"`
		}
		w.Header().Add("WWW-Authenticate", c)
	}
}

// errMissing is the answer to a request that shows no credential at all.
var errMissing = unauthenticated("A credential is required")

// Missing reports whether a request was refused since it shows no credential.
func Missing(problem *a2a.Error) bool { return problem == errMissing }

// passedOverError is an authenticator's objection that another one's consent makes
// good.
type passedOverError struct{ problem *a2a.Error }

// Error implements error.
func (p *passedOverError) Error() string { return p.problem.Message }

func passOver(reason a2a.Reason, message string) error {
	return &passedOverError{&a2a.Error{Reason: reason, Message: message}}
}

func unauthenticated(message string) *a2a.Error {
	return &a2a.Error{Reason: a2a.ReasonUnauthenticated, Message: message}
}

// Gate applies a policy, which can be replaced at any time.
type Gate struct {
	policy atomic.Pointer[Policy]
	deny   func(http.ResponseWriter, *http.Request, *a2a.Error)
}

// NewGate returns a gate. deny writes the answer to those who may not pass, in
// the binding's form; the gate has set the status's own headers.
func NewGate(p *Policy, deny func(http.ResponseWriter, *http.Request, *a2a.Error)) *Gate {
	g := &Gate{deny: deny}
	g.policy.Store(p)
	return g
}

// Swap replaces the policy.
func (g *Gate) Swap(p *Policy) { g.policy.Store(p) }

// Recognizes reports whether the credential of a request was found good before,
// at no cost: for the time when many are shown that are not. As in Decide, a good
// one makes good a certificate that is not known, or another issuer's authenticator
// that does not know the same token, and nothing else.
func (g *Gate) Recognizes(r *http.Request) bool {
	doubt := CredentialNone
	for _, a := range g.policy.Load().Authenticators {
		shown, known := a.Recognizes(r)
		if known {
			return doubt == shown || shown != CredentialNone && (doubt == CredentialNone || doubt == CredentialCertificate)
		}
		if doubt == CredentialNone || doubt == CredentialCertificate && shown != CredentialNone {
			doubt = shown
		}
	}
	return false
}

// Require lets authenticated requests through, with their caller in the context.
func (g *Gate) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		policy := g.policy.Load()
		caller, err := policy.Decide(r)
		for _, a := range policy.Authenticators {
			if c, ok := a.(concealer); ok {
				r = c.conceal(r)
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
		g.deny(w, r, problem)
	})
}
