// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
)

// leeway is the tolerance for differences between clocks. API servers have the same tolerance.
const leeway = time.Minute

// algorithms lists the signature algorithms of API servers and of the registry.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512,
}

// KubernetesConfig configures a Kubernetes authenticator.
type KubernetesConfig struct {
	// Issuers are the accepted issuers, at least one: the API server, and the registry.
	// Tokens that the registry issues for calls of agents have the same claims as those of
	// the API server.
	Issuers []KubernetesIssuer
	// KeepClaims makes Authenticate set Caller.Claims and Subject.Claims.
	KeepClaims bool
	// People are the issuers whose people have another principal than their claim sub, if a caller acts for them. Their keys
	// are not used.
	People []JWTConfig
	Now    func() time.Time
}

// KubernetesIssuer is an issuer of tokens that name a ServiceAccount.
type KubernetesIssuer struct {
	// Issuer must equal the token's iss.
	Issuer string
	// Audiences lists the accepted audiences. The token's aud must contain one of them.
	Audiences []string
	// Keys is the text of the issuer's JWK set (RFC 7517).
	Keys []byte
	// Delegates is true for the registry, whose tokens may name a subject for whom the ServiceAccount acts.
	Delegates bool
}

// Kubernetes verifies tokens that name a ServiceAccount with the keys in its
// configuration, without a request to the API server.
type Kubernetes struct {
	config   KubernetesConfig
	issuers  map[string]*trustedIssuer
	verified *tokenCache
}

// trustedIssuer is an issuer with its usable keys.
type trustedIssuer struct {
	name      string
	audiences []string
	keys      []jose.JSONWebKey
	delegates bool
}

// NewKubernetes returns an authenticator. It fails if a JWK set has no usable key.
func NewKubernetes(c KubernetesConfig) (*Kubernetes, error) {
	k := &Kubernetes{config: c, issuers: map[string]*trustedIssuer{}, verified: newTokenCache()}
	for _, each := range c.Issuers {
		issuer, err := each.trusted()
		if err != nil {
			return nil, fmt.Errorf("read keys of issuer %s: %w", each.Issuer, err)
		}
		k.issuers[each.Issuer] = issuer
	}
	return k, nil
}

func (i *KubernetesIssuer) trusted() (*trustedIssuer, error) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(i.Keys, &set); err != nil {
		return nil, err
	}
	issuer := &trustedIssuer{name: i.Issuer, audiences: i.Audiences, delegates: i.Delegates}
	for _, key := range set.Keys {
		if key.Use != "enc" && usableKey(key.Key) {
			issuer.keys = append(issuer.keys, key)
		}
	}
	if len(issuer.keys) == 0 {
		return nil, errors.New("none is a public signature key")
	}
	return issuer, nil
}

// Challenge returns the challenge for a bearer token.
func (*Kubernetes) Challenge() string { return bearerChallenge }

// Authenticate verifies a bearer token of one of the issuers.
func (k *Kubernetes) Authenticate(r *http.Request) (Caller, error) {
	now := k.config.Now()
	return k.verified.authenticate(r, now, func(text string) (Caller, time.Time, error) { return k.verify(text, now) })
}

// VerifiedBefore looks up the token in the cache of verified tokens.
func (k *Kubernetes) VerifiedBefore(r *http.Request) (Credential, bool) {
	return k.verified.verifiedBefore(r, k.config.Now())
}

// Signed returns the subject of a token if a key of its issuer has signed it. forged is true if the
// token names an issuer and one of the issuer's keys, and the key has not signed it. About any other
// token, such as one of another issuer, Signed knows nothing and returns "" and false. It checks
// neither audience nor times.
func (k *Kubernetes) Signed(text string) (subject string, forged bool) {
	token, name, err := parseToken(text)
	issuer := k.issuers[name]
	if err != nil || issuer == nil {
		return "", false
	}
	var claims jwt.Claims
	verified, known := verifySignature(token, issuer.keys, &claims)
	if !verified {
		return "", known
	}
	return claims.Subject, false
}

// Issuer returns the issuer that a signed token names, "" if there is none. It verifies nothing.
func Issuer(text string) string {
	_, issuer, err := parseToken(text)
	if err != nil {
		return ""
	}
	return issuer
}

// BoundPod is the pod to which a token of a ServiceAccount is bound.
type BoundPod struct {
	Namespace, Name, UID string
	// Account and AccountUID identify the ServiceAccount.
	Account, AccountUID string
}

// BoundPod returns the pod to which a token is bound, and false if the token is not valid now, or is not bound
// to a pod. It does not use the cache of verified tokens.
func (k *Kubernetes) BoundPod(text string, now time.Time) (BoundPod, bool) {
	token, name, err := parseToken(text)
	issuer := k.issuers[name]
	if err != nil || issuer == nil || !slices.Contains(algorithms, jose.SignatureAlgorithm(token.Headers[0].Algorithm)) {
		return BoundPod{}, false
	}
	var claims jwt.Claims
	var bound struct {
		Kubernetes struct {
			Namespace      string      `json:"namespace"`
			Pod            boundObject `json:"pod"`
			ServiceAccount boundObject `json:"serviceaccount"`
		} `json:"kubernetes.io"`
	}
	if verified, _ := verifySignature(token, issuer.keys, &claims, &bound); !verified || validateClaims(&claims, issuer.name, issuer.audiences, now) != nil {
		return BoundPod{}, false
	}
	of := &bound.Kubernetes
	pod := BoundPod{
		Namespace: of.Namespace, Name: of.Pod.Name, UID: of.Pod.UID, Account: of.ServiceAccount.Name, AccountUID: of.ServiceAccount.UID,
	}
	return pod, pod.Namespace != "" && pod.Name != "" && pod.UID != "" && claims.Subject == "system:serviceaccount:"+pod.Namespace+":"+pod.Account
}

// boundObject is an object in the claims of a token.
type boundObject struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// privateClaims contains the claims of KEP-1205 that jwt.Claims lacks.
type privateClaims struct {
	Kubernetes struct {
		Namespace      string `json:"namespace"`
		ServiceAccount struct {
			Name string          `json:"name"`
			UID  json.RawMessage `json:"uid"`
		} `json:"serviceaccount"`
	} `json:"kubernetes.io"`
}

func (k *Kubernetes) verify(text string, now time.Time) (Caller, time.Time, error) {
	none := time.Time{}
	token, name, err := parseToken(text)
	if err != nil {
		return Caller{}, none, err
	}
	issuer := k.issuers[name]
	if issuer == nil {
		return Caller{}, none, errOtherIssuer
	}
	if !slices.Contains(algorithms, jose.SignatureAlgorithm(token.Headers[0].Algorithm)) {
		return Caller{}, none, unauthenticated("Token is not a signed JWT of an accepted algorithm")
	}
	var claims jwt.Claims
	var extra privateClaims
	var delegated DelegatedClaims
	var kept *authz.Claims
	into := []any{&claims, &extra}
	if issuer.delegates {
		into = append(into, &delegated)
	}
	if k.config.KeepClaims {
		kept = &authz.Claims{}
		into = append(into, kept)
	}
	if verified, _ := verifySignature(token, issuer.keys, into...); !verified {
		return Caller{}, none, unauthenticated("Token is not signed by a key of this cluster")
	}
	if err := validateClaims(&claims, issuer.name, issuer.audiences, now); err != nil {
		return Caller{}, none, err
	}
	namespace := extra.Kubernetes.Namespace
	name = extra.Kubernetes.ServiceAccount.Name
	account := "system:serviceaccount:" + namespace + ":" + name
	subject, err := delegated.subject(claims.Subject, account, k.config.People, k.config.KeepClaims)
	if err != nil {
		return Caller{}, none, err
	}
	if namespace == "" || name == "" || subject == nil && claims.Subject != account {
		return Caller{}, none, unauthenticated("Token is not one of a ServiceAccount")
	}
	if subject != nil && kept != nil {
		// For rules, the claims are those of the caller, as without a subject.
		(*kept)["sub"] = account
		delete(*kept, "act")
		delete(*kept, SubjectClaimName)
	}
	caller := Caller{Owner: a2a.Owner(account), Namespace: namespace, Claims: kept, Subject: subject}
	if uid := extra.Kubernetes.ServiceAccount.UID; len(uid) > 0 && string(uid) != `""` {
		// A ServiceAccount that is deleted and created again does not own the tasks of its
		// predecessor. No name contains "#".
		id, ok := nameClaim(uid)
		if !ok || strings.Contains(id, " ") {
			return Caller{}, none, unauthenticated("Token has no usable UID of its ServiceAccount")
		}
		caller.Individual = account
		caller.Owner += a2a.Owner("#" + id)
	}
	return caller, claims.Expiry.Time().Add(leeway), nil
}
