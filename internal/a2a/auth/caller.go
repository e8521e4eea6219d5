// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package auth authenticates callers. It runs before the body of a request is read, so
// it knows headers and the TLS connection, and no method, task or version of the
// protocol.
//
// Each authentication method is an Authenticator, independent of the others.
package auth

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
)

// Caller is an authenticated principal.
type Caller struct {
	// Owner owns the tasks of the caller.
	Owner a2a.Owner
	// Individual is the principal, if several principals share the Owner. It is ""
	// if the caller is the owner.
	Individual string
	// Claims are the claims of the caller's token by their names, if a rule needs
	// them, else nil. They are immutable.
	Claims *authz.Claims
	// Namespace is the namespace of the caller's ServiceAccount, or "".
	Namespace string
	// Unscoped is true for callers without a namespace, such as those with an API key.
	// Policy.Namespaces does not apply to them, because the Agent names their issuer
	// or their keys itself.
	Unscoped bool
	// Anonymous is true for a caller without a credential. Policy.Namespaces does not
	// apply to it.
	Anonymous bool
	// From is the address of an anonymous caller, with its port.
	From string
	// Rules are the authorization rules of the policy that accepted the caller, so
	// that a reload during a call does not mix two policies. Nil allows every call.
	Rules *authz.Policy
	// Policy is the policy that accepted the caller, or nil without a gate.
	Policy *Policy
}

// AccountingPrincipal returns the principal that the limits count the caller as: its
// principal, or its address if it is anonymous.
func (c *Caller) AccountingPrincipal() a2a.AccountingPrincipal {
	if c.Anonymous {
		return a2a.AccountingPrincipalAt(c.From)
	}
	return a2a.AccountingPrincipal{Principal: c.Principal()}
}

// May returns nil if the rules allow the call.
func (c *Caller) May(method a2a.Method, skill, tenant string) *authz.Refusal {
	if c.Rules == nil {
		return nil
	}
	return c.Rules.Decide(&authz.Call{
		Principal: c.Principal(), Namespace: c.Namespace, Claims: c.Claims,
		Method: method, Skill: skill, Tenant: tenant,
	})
}

// Challenges returns the values of WWW-Authenticate for an anonymous caller that needs a
// credential: one for each authentication method of the policy, in its order. It is
// empty if no method needs a credential.
func (c *Caller) Challenges() []string {
	if c.Policy == nil {
		return nil
	}
	return c.Policy.challenges()
}

// Principal returns the principal of the caller, which may differ from the owner.
func (c *Caller) Principal() string {
	if c.Individual != "" {
		return c.Individual
	}
	return string(c.Owner)
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns the caller of a context, and false if there is none.
func CallerFrom(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}
