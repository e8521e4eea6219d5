// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenexchange

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

// maxClaims is the maximum size of the claims of a person in an issued token, in bytes of JSON.
const maxClaims = 4 << 10

// tokenClaims are claims that concern a token, and not the person that it names. The audience is not one of them: the owner of an agent
// writes the audiences that the agent accepts, so a called agent must be able to rule on it.
var tokenClaims = []string{
	"exp", "nbf", "iat", "jti", "nonce", "at_hash", "c_hash", "s_hash", "sid", "act", auth.SubjectClaimName,
}

// VerifierOptions configure a Verifier. All fields are required.
type VerifierOptions struct {
	// Agent returns an Agent of this cluster, nil for none.
	Agent func(ctx context.Context, name types.NamespacedName) (*a2av1alpha1.Agent, error)
	// Issuers returns the issuers of tokens that name ServiceAccounts, without audiences: the cluster, and the registry, which Delegates.
	Issuers func() []auth.KubernetesIssuer
	// People has the keys of other issuers.
	People *Issuers
	Clock  clock.PassiveClock
}

// Verifier verifies the tokens of subjects. It is safe for concurrent use.
type Verifier struct{ options VerifierOptions }

// NewVerifier returns a Verifier.
func NewVerifier(o VerifierOptions) *Verifier { return &Verifier{o} }

// delegated is a subject whose token was verified, or that a caller asserts.
type delegated struct {
	principal string
	claim     auth.SubjectClaim
	// actors are the agents that act for the subject before the caller, the last one first.
	actors []string
	// expires is the time at which the token of the subject expires, zero for none.
	expires time.Time
}

// delegate adds the subject to the claims of the token for the caller. Its errors are a *RequestError, and failures of the system.
func (e *Exchange) delegate(ctx context.Context, asked *request, caller *Subject, to *claims) error {
	var subject *delegated
	var err error
	if asked.subject.asserted {
		subject, err = asserted(asked.subject.text, caller.Username)
	} else {
		subject, err = e.options.Subjects.verify(ctx, asked, caller.Username)
	}
	if err != nil {
		return err
	}
	size := 0
	for name, value := range subject.claim.Claims {
		size += len(name) + len(value)
	}
	if size > maxClaims {
		return unproven(fmt.Sprintf("the claims of subject_token have more than %d bytes", maxClaims))
	}
	if asked.isResource && subject.claim.AssertedBy != "" {
		return unproven("an MCP server learns of proven subjects only, and an agent before this one has asserted the subject")
	}
	actors := append([]string{caller.Username}, subject.actors...)
	switch {
	case slices.Contains(subject.actors, caller.Username):
		return badChain("the chain of agents has a loop: this agent already acts for the subject")
	case len(actors) > auth.MaxActors:
		return badChain(fmt.Sprintf("the chain has more than %d agents", auth.MaxActors))
	}
	to.Subject = subject.principal
	to.DelegatedClaims = auth.DelegatedClaims{Actor: auth.ActorsClaim(actors), Subject: &subject.claim}
	if !subject.expires.IsZero() {
		to.Expiry = min(to.Expiry, subject.expires.Unix())
	}
	return nil
}

// asserted returns the subject that a caller asserts.
func asserted(text, caller string) (*delegated, error) {
	var subject a2a.Subject
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(decoded, &subject) != nil || !auth.IsSubjectName(subject.Principal) || !auth.IsSubjectName(string(subject.Owner)) {
		return nil, invalid("subject_token must be the JSON of a subject with principal and owner, in base64url")
	}
	for _, actor := range subject.Actors {
		if !auth.IsSubjectName(actor) {
			return nil, invalid("subject_token has an actor without a name")
		}
	}
	return &delegated{
		principal: subject.Principal, claim: auth.SubjectClaim{Owner: subject.Owner, AssertedBy: caller}, actors: subject.Actors,
	}, nil
}

// client returns the agent that the caller says to be, nil if the caller is another one.
func (v *Verifier) client(ctx context.Context, asked *request, caller string) (*a2av1alpha1.Agent, error) {
	agent, err := v.options.Agent(ctx, asked.client)
	if err != nil {
		return nil, fmt.Errorf("read Agent %s: %w", asked.client, err)
	}
	if agent == nil || agent.Spec.Remote != nil || caller != "system:serviceaccount:"+agent.Namespace+":"+names.ServiceAccountOfPods(agent) {
		return nil, nil
	}
	return agent, nil
}

// checkResource returns an error if the spec of the caller's agent does not let the MCP server learn of callers.
func (v *Verifier) checkResource(ctx context.Context, asked *request, caller string) error {
	agent, err := v.client(ctx, asked, caller)
	if err != nil {
		return err
	}
	if agent != nil && agent.Spec.Model != nil {
		for i := range agent.Spec.Model.Tools {
			if mcp := agent.Spec.Model.Tools[i].MCP; mcp != nil && mcp.ForwardCaller && mcp.URL == asked.audience {
				return nil
			}
		}
	}
	return target("resource is not the url of an MCP server with forwardCaller in spec.model.tools of the agent in client_id")
}

// Expiry returns the end of the token of a subject. The token must be for the agent that client names by its audience, and of which caller is
// the ServiceAccount, and no agent may have asserted the subject. It may have any number of claims, because no token of the registry repeats them. Its errors are a *RequestError, and failures of the system.
func (v *Verifier) Expiry(ctx context.Context, client, caller, token string) (time.Time, error) {
	agent, ok := parseAudience(client)
	if !ok || !isToken(token) {
		return time.Time{}, invalid("the request must name the agent of the caller, and have a token")
	}
	subject, err := v.verify(ctx, &request{client: agent, subject: &subjectToken{text: token}}, caller)
	if err != nil {
		return time.Time{}, err
	}
	if subject.claim.AssertedBy != "" {
		return time.Time{}, unproven("an agent before this one has asserted the subject")
	}
	return subject.expires, nil
}

// verify returns the subject whose token is for the agent of the caller.
func (v *Verifier) verify(ctx context.Context, asked *request, caller string) (*delegated, error) {
	agent, err := v.client(ctx, asked, caller)
	if err != nil {
		return nil, err
	}
	if agent == nil {
		return nil, unproven("actor_token is not one of the agent in client_id")
	}
	token := asked.subject
	request := (&http.Request{Header: http.Header{"Authorization": {"Bearer " + token.text}}}).WithContext(ctx)
	admits := agent.Spec.Access.Authentication
	if len(admits) == 0 {
		admits = []a2av1alpha1.Authentication{{Type: a2av1alpha1.AuthenticationKubernetes}}
	}
	for i := range admits {
		var subject *delegated
		switch admits[i].Type {
		case a2av1alpha1.AuthenticationKubernetes:
			subject, err = v.account(request, agent)
		case a2av1alpha1.AuthenticationJWT:
			if j := admits[i].JWT; j != nil && auth.Issuer(token.text) == j.Issuer {
				subject, err = v.person(ctx, request, agent.Namespace, j)
			}
		default:
			continue
		}
		if subject != nil || err != nil {
			return subject, err
		}
	}
	return nil, unproven("subject_token is not valid for the agent in client_id")
}

// account returns the subject of a token of a ServiceAccount, or of a token that the registry has issued for the agent. It returns nil
// if the token is not valid.
func (v *Verifier) account(request *http.Request, agent *a2av1alpha1.Agent) (*delegated, error) {
	issuers := v.options.Issuers()
	for i := range issuers {
		issuers[i].Audiences = []string{names.Audience(agent.Name, agent.Namespace)}
	}
	tokens, err := auth.NewKubernetes(auth.KubernetesConfig{Issuers: issuers, KeepClaims: true, Now: v.options.Clock.Now})
	if err != nil {
		return nil, fmt.Errorf("read the keys of the cluster and of the registry: %w", err)
	}
	caller, err := tokens.Authenticate(request)
	if err != nil {
		return nil, nil //nolint:nilerr // the token is not valid
	}
	expires, err := v.expiry(caller.Claims)
	if err != nil {
		return nil, err
	}
	if s := caller.Subject; s != nil {
		claim := auth.SubjectClaim{Owner: caller.Owner.For(s.Owner), Issuer: s.Issuer, AssertedBy: s.AssertedBy}
		if s.Issuer != "" {
			claim.Claims = encodeClaims(s.Claims)
		}
		return &delegated{principal: s.Principal, claim: claim, actors: s.Actors, expires: expires}, nil
	}
	return &delegated{principal: caller.Principal(), claim: auth.SubjectClaim{Owner: caller.Owner}, expires: expires}, nil
}

// person returns the subject of a token that names the issuer in the spec of an agent. It returns nil if the token is not valid. The
// principal and the owner of tasks are the claim sub: the owner of the agent could name a claim that people can set.
func (v *Verifier) person(ctx context.Context, request *http.Request, namespace string, j *a2av1alpha1.JWTAuthentication) (*delegated, error) {
	if j.JWKSURL != "" {
		return nil, nil // the owner of the agent could name its own keys for the issuer
	}
	keys := v.options.People.keys(ctx, namespace, j.Issuer)
	if keys == nil {
		return nil, nil
	}
	tokens := auth.NewJWT(auth.JWTConfig{
		Issuer: j.Issuer, Audiences: j.Audiences, PrincipalClaim: j.Claims.Principal, OwnerClaim: j.Claims.Owner,
		KeepClaims: true, Keys: keys, Now: v.options.Clock.Now,
	})
	caller, err := tokens.Authenticate(request)
	if err != nil {
		return nil, nil //nolint:nilerr // the token is not valid, or of another issuer
	}
	expires, err := v.expiry(caller.Claims)
	if err != nil {
		return nil, err
	}
	claims := encodeClaims(caller.Claims)
	principal, err := auth.PersonOf(j.Issuer, claims)
	if err != nil {
		return nil, unproven("subject_token has no usable claim sub")
	}
	return &delegated{
		principal: principal, claim: auth.SubjectClaim{Owner: a2a.Owner(principal), Issuer: j.Issuer, Claims: claims}, expires: expires,
	}, nil
}

// minLifetime is the time for which the token of a subject must be valid. The lifetime of an issued token is a number of seconds.
const minLifetime = time.Second

// expiry returns the expiry of a verified token. There is no tolerance for differences between clocks: an issued token is valid for the
// rest of the time, and verified with a tolerance.
func (v *Verifier) expiry(claims *authz.Claims) (time.Time, error) {
	seconds, _ := (*claims)["exp"].(float64)
	expires := time.Unix(int64(seconds), 0)
	if v.options.Clock.Now().Add(minLifetime).After(expires) {
		return time.Time{}, unproven("subject_token has expired")
	}
	return expires, nil
}

// encodeClaims returns the claims of a person for an issued token. The audience is always a list.
func encodeClaims(claims *authz.Claims) map[string]json.RawMessage {
	encoded := map[string]json.RawMessage{}
	for name, value := range *claims {
		if slices.Contains(tokenClaims, name) {
			continue
		}
		if audience, ok := value.(string); ok && name == "aud" {
			value = []string{audience}
		}
		if text, err := json.Marshal(value); err == nil {
			encoded[name] = text
		}
	}
	return encoded
}
