// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package auth says who is calling and whether they may. It runs before
// anything of a request's body is read, so it knows headers and nothing of the
// protocol: no method, no task, no version.
//
// A way to prove who is calling is an Authenticator; adding one changes no
// other.
package auth

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
)

// Caller is an authenticated principal.
type Caller struct {
	// Owner is what the caller's tasks belong to.
	Owner a2a.Owner
	// Individual is who is calling when several share the Owner, "" when the
	// caller is the owner.
	Individual string
	// Claims are those of the caller's token by their names, if somebody asks
	// for them. Nobody changes them.
	Claims *authz.Claims
	// Namespace is that of the caller's ServiceAccount, "" when it has none.
	Namespace string
	// Unscoped is true for callers that have no namespace to be admitted by:
	// who may vouch for them was named for this very agent.
	Unscoped bool
	// Anonymous is true when nothing was proven. Namespaces do not apply then.
	Anonymous bool
	// From is the address of an anonymous caller, with its port.
	From string
	// Rules are those of the policy that admitted the caller, so that a call is
	// judged by one policy or the next and never by some of both. Nil allows
	// everything.
	Rules *authz.Policy
	// Policy is the one by which the gate admitted the caller, nil without a gate.
	Policy *Policy
}

// Payer is who is charged for what the caller uses.
func (c *Caller) Payer() a2a.AccountingPrincipal {
	if c.Anonymous {
		return a2a.AccountingPrincipalAt(c.From)
	}
	return a2a.AccountingPrincipal{Principal: c.Principal()}
}

// May returns nil for a call that the caller may make.
func (c *Caller) May(method a2a.Method, skill, tenant string) *authz.Refusal {
	if c.Rules == nil {
		return nil
	}
	return c.Rules.Decide(&authz.Call{
		Principal: c.Principal(), Namespace: c.Namespace, Claims: c.Claims,
		Method: method, Skill: skill, Tenant: tenant,
	})
}

// Challenges returns how a caller that was admitted without a credential could
// have shown one, as values of WWW-Authenticate: one for each method of the
// policy, in its order. It is empty where no method takes a credential.
func (c *Caller) Challenges() []string {
	if c.Policy == nil {
		return nil
	}
	return c.Policy.challenges()
}

// Principal returns who is calling, as text.
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

// CallerFrom returns the caller, and false when nobody was authenticated.
func CallerFrom(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}
