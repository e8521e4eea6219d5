// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"unicode"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
)

// Delegation says what happens to calls of ServiceAccounts on behalf of a subject. "" and all other values pass the
// subject on.
type Delegation string

const (
	// DelegationRequire refuses a ServiceAccount that acts for itself.
	DelegationRequire Delegation = "Require"
	// DelegationIgnore drops the subject.
	DelegationIgnore Delegation = "Ignore"
)

// MaxActors is the maximum number of agents in a chain of calls for one subject.
const MaxActors = 5

// Subject is the principal for whom a caller acts. It is immutable.
type Subject struct {
	Principal string
	// Owner is the owner of the tasks of the subject at the calling agent. It names the agents before that one.
	Owner a2a.Owner
	// Issuer and Claims are those of the token of a person. They are empty for other subjects, and for one that is not
	// proven. Claims are nil if no rule reads claims.
	Issuer string
	Claims *authz.Claims
	// AssertedBy is the agent that names the subject without a proof. It is "" if the registry has verified a token of the
	// subject.
	AssertedBy string
	// Actors are the agents that act for the subject, the caller first.
	Actors []string
}

// Proven reports whether the registry has verified a token of the subject.
func (s *Subject) Proven() bool { return s.AssertedBy == "" }

// ruled returns the subject for rules. s may be nil.
func (s *Subject) ruled() authz.Subject {
	if s == nil {
		return authz.Subject{}
	}
	return authz.Subject{Principal: s.Principal, Issuer: s.Issuer, Claims: s.Claims, Proven: s.Proven()}
}

// SubjectClaimName is the name of the claim with the subject of a delegated token.
const SubjectClaimName = "a2a-operator.dev/subject"

// DelegatedClaims are the claims of a token with which an agent calls another one on behalf of a subject, beside the
// claim sub with the principal of the subject. The registry issues such tokens.
type DelegatedClaims struct {
	Actor   *ActorClaim   `json:"act,omitempty"`
	Subject *SubjectClaim `json:"a2a-operator.dev/subject,omitempty"`
}

// ActorClaim is the claim act (RFC 8693, section 4.1): an agent, and the one that called it.
type ActorClaim struct {
	Subject string      `json:"sub"`
	Actor   *ActorClaim `json:"act,omitempty"`
}

// SubjectClaim describes the subject.
type SubjectClaim struct {
	Owner a2a.Owner `json:"owner"`
	// Issuer and Claims are those of the verified token of a person.
	Issuer string                     `json:"issuer,omitempty"`
	Claims map[string]json.RawMessage `json:"claims,omitempty"`
	// AssertedBy is the agent that names the subject without a proof, "" if the registry has verified its token.
	AssertedBy string `json:"assertedBy,omitempty"`
}

// ActorsClaim returns the claim of a chain of actors, the last one first. It is nil without actors.
func ActorsClaim(actors []string) *ActorClaim {
	if len(actors) == 0 {
		return nil
	}
	return &ActorClaim{Subject: actors[0], Actor: ActorsClaim(actors[1:])}
}

var errDelegation = unauthenticated("Token names a subject or an actor in a form that is not valid")

// subject returns the subject of a verified token, and nil if its owner acts for itself. principal is the claim sub, and
// account the ServiceAccount that sends the token.
func (c *DelegatedClaims) subject(principal, account string, people []JWTConfig, keepClaims bool) (*Subject, error) {
	if c.Actor == nil && c.Subject == nil {
		return nil, nil
	}
	if c.Actor == nil || c.Subject == nil || c.Actor.Subject != account || !IsSubjectName(principal) || !IsSubjectName(string(c.Subject.Owner)) {
		return nil, errDelegation
	}
	s := &Subject{Principal: principal, Owner: c.Subject.Owner, Issuer: c.Subject.Issuer, AssertedBy: c.Subject.AssertedBy}
	for actor := c.Actor; actor != nil; actor = actor.Actor {
		s.Actors = append(s.Actors, actor.Subject)
		if len(s.Actors) > MaxActors || !IsSubjectName(actor.Subject) {
			return nil, errDelegation
		}
	}
	if s.Issuer == "" {
		return s, nil
	}
	// The principal of a person is that of its own calls with a token of this issuer. The owner comes from the calling agent.
	config := JWTConfig{Issuer: s.Issuer}
	for i := range people {
		if people[i].Issuer == s.Issuer {
			config.PrincipalClaim = people[i].PrincipalClaim
		}
	}
	person, err := config.callerOf(c.Subject.Claims)
	if err != nil {
		return nil, err
	}
	s.Principal = person.Principal()
	if keepClaims {
		s.Claims = decodeClaims(c.Subject.Claims)
	}
	return s, nil
}

// PersonOf returns the principal of a person for agents that do not name the issuer: the one in the claim sub.
func PersonOf(issuer string, claims map[string]json.RawMessage) (string, error) {
	config := JWTConfig{Issuer: issuer}
	caller, err := config.callerOf(claims)
	return caller.Principal(), err
}

// decodeClaims returns claims in the types of encoding/json.
func decodeClaims(claims map[string]json.RawMessage) *authz.Claims {
	kept := authz.Claims{}
	for name, value := range claims {
		var decoded any
		if json.Unmarshal(value, &decoded) == nil {
			kept[name] = decoded
		}
	}
	return &kept
}

// IsSubjectName reports whether a text can be the principal or the owner of a subject, or of an actor.
func IsSubjectName(text string) bool {
	return text != "" && len(text) <= a2a.MaxOwner && !strings.ContainsFunc(text, unicode.IsControl)
}

// delegable is an Authenticator of tokens that the registry exchanges for tokens on behalf of their owner.
type delegable interface{ delegable() }

func (*Kubernetes) delegable() {}

func (*JWT) delegable() {}

// delegate applies Policy.Delegation to a caller that a has authenticated.
func (p *Policy) delegate(c *Caller, a Authenticator, r *http.Request) error {
	if _, ok := a.(delegable); ok {
		token, _ := bearer(r)
		c.Credential = a2a.Credential(token)
	}
	_, isAccount := a.(*Kubernetes)
	switch {
	case c.Subject != nil && p.Delegation == DelegationIgnore:
		c.Subject = nil
		c.Credential = "" // its exchange would name the subject
	case c.Subject != nil:
		c.Individual = c.Principal()
		c.Owner = c.Owner.For(c.Subject.Owner)
	case isAccount && p.Delegation == DelegationRequire:
		return &a2a.Error{
			Reason: a2a.ReasonPermissionDenied,
			Message: "Forbidden: this agent takes calls of ServiceAccounts only on behalf of a user (spec.access.delegation is Require); " +
				"call it during a turn, with the header A2A-Task-Id",
		}
	}
	return nil
}

// Decider returns the name of the caller in its decisions. In the form of an owner, it also has the subject for whom the caller acts, and the
// agents in between.
func (c *Caller) Decider() string {
	if c.Subject == nil {
		return c.Principal()
	}
	name := a2a.Owner(c.Subject.Principal)
	for i := len(c.Subject.Actors) - 1; i > 0; i-- { // the first actor is the caller
		name = a2a.Owner(c.Subject.Actors[i]).For(name)
	}
	return string(a2a.Owner(c.Principal()).For(name))
}

// OnBehalf returns the subject for whom the agent calls other agents in the turns of the caller.
func (c *Caller) OnBehalf() *a2a.Subject {
	if c.Subject != nil {
		return &a2a.Subject{
			Principal: c.Subject.Principal, Owner: c.Owner, Actors: c.Subject.Actors, Proven: c.Subject.Proven(), Credential: c.Credential,
		}
	}
	return &a2a.Subject{Principal: c.Principal(), Owner: cmp.Or(c.Person, c.Owner), Credential: c.Credential}
}
