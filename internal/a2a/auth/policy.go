// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
)

// AllNamespaces in Policy.Namespaces allows the ServiceAccounts of every namespace.
const AllNamespaces = "*"

// Policy decides which callers are accepted. It is immutable.
type Policy struct {
	// Authenticators are asked in order. The first one that finds its kind of credential
	// decides. Anonymous is the last one. A policy without any accepts no caller.
	Authenticators []Authenticator
	// Namespaces lists the namespaces whose ServiceAccounts may call.
	Namespaces []string
	// Rules are the authorization rules for accepted callers. If they are nil, every call is
	// allowed.
	Rules *authz.Policy
}

var _ Challenger = (*Policy)(nil)

// Decide returns the caller of a request, or an *a2a.Error.
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
			// A caller whose credential no authenticator accepts is refused. Accepted as
			// anonymous, it would not notice the mistake.
			return Caller{}, unauthenticated("Credential is of a kind that is not accepted here; leave it out to call anonymously")
		}
		if caller.Anonymous && rejection != nil {
			return Caller{}, rejection
		}
		caller.Rules = p.Rules
		return caller, p.checkNamespace(&caller)
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

// Challenges implements Challenger. It returns one value for each authenticator that needs
// a credential, in their order and without duplicates.
func (p *Policy) Challenges() []string {
	var all []string
	for _, a := range p.Authenticators {
		if c := a.Challenge(); c != "" && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// challenge sets the WWW-Authenticate headers of a 401.
func (p *Policy) challenge(w http.ResponseWriter, r *http.Request) {
	all := p.Challenges()
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
