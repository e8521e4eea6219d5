// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package auth authenticates callers. It runs before the body of a request is read, so it
// uses headers and the TLS connection only, and depends on no method, task or version of
// the protocol.
//
// Each authentication method is an Authenticator, independent of the others.
package auth

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
)

// ErrNoCredential is the error of an Authenticator for a request without a credential of
// its kind. The policy then asks the next Authenticator.
var ErrNoCredential = errors.New("request has no credential of this kind")

// Authenticator verifies one kind of credential. Its methods are safe for concurrent
// use.
type Authenticator interface {
	// Authenticate returns the caller, ErrNoCredential, or the reason why the credential is
	// not valid: an *a2a.Error, or an *overridableError. It does not block.
	Authenticate(r *http.Request) (Caller, error)
	// VerifiedBefore returns the kind of credential that Authenticate would verify, and
	// whether Authenticate has verified this credential before. It reads caches only and
	// verifies no signature.
	VerifiedBefore(r *http.Request) (kind Credential, verified bool)
	// Challenge returns the value of WWW-Authenticate for clients without a
	// credential, or "" if the Authenticator needs none.
	Challenge() string
}

// Credential is a kind of credential.
type Credential uint8

// The kinds of credentials.
const (
	CredentialNone Credential = iota
	CredentialToken
	CredentialAPIKey
	CredentialCertificate
)

// credentialRemover is an Authenticator whose credential is in a place that later
// handlers log or forward.
type credentialRemover interface {
	// removeCredential returns the request without the credential.
	removeCredential(r *http.Request) *http.Request
}

// AnonymousOwner is the owner of the tasks of all callers without a credential. These
// callers therefore share their tasks.
const AnonymousOwner = "system:anonymous"

// Anonymous is the Authenticator that accepts every request. It is the last one of a
// policy.
type Anonymous struct{}

// Authenticate accepts the request.
func (Anonymous) Authenticate(r *http.Request) (Caller, error) {
	origin := a2a.AccountingPrincipalAt(r.RemoteAddr)
	return Caller{Owner: AnonymousOwner, Anonymous: true, From: r.RemoteAddr, Origin: origin}, nil
}

// VerifiedBefore returns CredentialNone, and true if the request has no Authorization
// header.
func (Anonymous) VerifiedBefore(r *http.Request) (Credential, bool) {
	return CredentialNone, r.Header.Get("Authorization") == ""
}

// Challenge is empty, because an anonymous caller needs no credential.
func (Anonymous) Challenge() string { return "" }

// errMissing is the error for a request without any credential.
var errMissing = unauthenticated("A credential is required; the security schemes of the Agent Card name the kinds")

// Missing reports whether problem is the error for a request without a credential.
func Missing(problem *a2a.Error) bool { return problem == errMissing }

// errOtherIssuer is the error for a token of another issuer, which another authenticator
// may accept.
var errOtherIssuer = unauthenticated("Token is of another issuer")

// overridableError is the error of an Authenticator that rejects a credential, but allows
// the next Authenticators of the policy to accept the request.
type overridableError struct{ problem *a2a.Error }

// Error implements error.
func (p *overridableError) Error() string { return p.problem.Message }

func overridable(reason a2a.Reason, message string) error {
	return &overridableError{&a2a.Error{Reason: reason, Message: message}}
}

func unauthenticated(message string) *a2a.Error {
	return &a2a.Error{Reason: a2a.ReasonUnauthenticated, Message: message}
}

// Caller is an authenticated principal.
type Caller struct {
	// Owner owns the tasks of the caller.
	Owner a2a.Owner
	// Individual is the principal if it differs from the Owner: if several principals share the
	// Owner, or if the Owner also has the UID of a ServiceAccount.
	Individual string
	// Person is the owner of the caller's tasks at the agents that this agent calls: the issuer and the claim sub. It is "" if
	// the Owner is.
	Person a2a.Owner
	// Claims are the claims of the caller's token by their names. They are nil if the
	// caller has no token, or if no rule reads claims. They are immutable.
	Claims *authz.Claims
	// Namespace is the namespace of the caller's ServiceAccount, or "".
	Namespace string
	// Subject is the subject for whom the caller acts, nil for a caller that acts for itself. It is immutable.
	Subject *Subject
	// Credential is the token of the caller, if the agent may exchange it for tokens with which it calls other agents.
	// It is "" for all other callers.
	Credential a2a.Credential
	// Unscoped is true for callers without a namespace, such as callers with an API key.
	// Policy.Namespaces does not apply to them, because the Agent itself lists their
	// issuer, their keys or their certificate authorities.
	Unscoped bool
	// Anonymous is true for a caller without a credential. Policy.Namespaces does not
	// apply to it.
	Anonymous bool
	// From is the address of an anonymous caller, with the port. Origin is the accounting
	// principal of this address.
	From   string
	Origin a2a.AccountingPrincipal
	// Rules are the authorization rules of the policy that accepted the caller. They are
	// stored here, so that a reload during a call does not mix two policies. Nil allows
	// every call.
	Rules *authz.Policy
	// Task is the id of the only task that the caller may read and decide about, or "" for a caller without this bound.
	Task string
	// TaskOwner is the owner whose task the request is about, as the caller names it. It is "" for the tasks of the caller.
	TaskOwner a2a.Owner
	// Scopes are nil for a caller that needs no scopes.
	Scopes *TokenScopes
	// Policy is the policy that accepted the caller. It is nil if the request passed no
	// Gate.
	Policy *Policy
}

// maxPrincipal is the maximum length of the name of a principal, an owner or a namespace in
// a credential, in bytes.
const maxPrincipal = 512

// AccountingPrincipal returns the principal to which limits charge the requests of the
// caller. For an anonymous caller, it is Origin.
func (c *Caller) AccountingPrincipal() a2a.AccountingPrincipal {
	if c.Anonymous {
		return c.Origin
	}
	return a2a.AccountingPrincipal{Principal: c.Principal()}
}

// May returns nil if Rules allow the call, and otherwise the reason for the refusal.
func (c *Caller) May(method a2a.Method, skill, tenant string) *authz.Refusal {
	if c.Rules == nil {
		return nil
	}
	return c.Rules.Decide(&authz.Call{
		Principal: c.Principal(), Namespace: c.Namespace, Claims: c.Claims, Subject: c.Subject.ruled(),
		Method: method, Skill: skill, Tenant: tenant,
	})
}

// MayDecide reports whether the caller may decide about calls of a task. Without Policy.Approvers, only the owner of the task may.
func (c *Caller) MayDecide(ownsTask bool, tenant string) bool {
	if c.Policy == nil || c.Policy.Approvers == nil {
		return ownsTask
	}
	return c.Policy.Approvers.Decide(&authz.Call{
		Principal: c.Principal(), Namespace: c.Namespace, Claims: c.Claims, Subject: c.Subject.ruled(),
		Method: a2a.MethodSendMessage, Tenant: tenant, OwnsTask: ownsTask,
	}) == nil
}

// Challenges returns the values of WWW-Authenticate for an anonymous caller that needs a
// credential: one for each authentication method of the policy, in the policy's order. It
// is empty if no method needs a credential.
func (c *Caller) Challenges() []string {
	if c.Policy == nil {
		return nil
	}
	return c.Policy.challenges()
}

// Principal returns the principal of the caller, which rules and limits use. It differs from
// the Owner if Individual is set.
func (c *Caller) Principal() string {
	return cmp.Or(c.Individual, string(c.Owner))
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
