// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tokenexchange exchanges a ServiceAccount token for a token that one agent accepts, or one
// MCP server that learns of the callers of an agent (OAuth 2.0 Token Exchange, RFC 8693). The
// registry serves the exchange in every replica of the manager.
//
// The issued token names the same ServiceAccount and is valid for Lifetime. Other agents, the
// registry and the API server do not accept it. If the request also has the token of a subject,
// the issued token names the subject, for whom the ServiceAccount acts, and expires with the
// token of the subject at the latest (docs/adr/0045-on-behalf-of-a-user.md).
package tokenexchange

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Lifetime is how long an issued token is valid.
const Lifetime = 10 * time.Minute

// limitedSubjects bounds the pods that have a rate limit of their own. All further pods share one
// rate limit.
const limitedSubjects = 16384

// exchangeRate is the rate limit for the exchanges of one pod. It is not for the whole
// ServiceAccount, because each sidecar has its own cache of tokens. The rate suffices for a sidecar
// that calls 256 agents, and refreshes each token after half of the Lifetime. The tokens of a
// ServiceAccount that are not bound to a pod share one rate limit.
var exchangeRate = limit.Rate{PerSecond: 20, Burst: 512}

// Signer signs a token with the given claims.
type Signer interface {
	Sign(claims any) (string, error)
}

// Subject is an authenticated caller.
type Subject struct {
	// Username is the user name of the caller. Only ServiceAccounts receive tokens.
	Username string
	// UID is the UID of the ServiceAccount.
	UID string
	// PodName and PodUID identify the pod that the caller's token is bound to, "" for none.
	PodName, PodUID string
	// NodeName and NodeUID identify the node of the pod, "" for none.
	NodeName, NodeUID string
	// Lists reports whether the caller may find an agent of this cluster in the registry. If the
	// client can act on an error, the error is a *RequestError.
	Lists func(ctx context.Context, namespace, name string) (bool, error)
}

// Options configure an Exchange. All fields are required.
type Options struct {
	// Signer returns the signer of tokens, or nil while there are no keys.
	Signer func() Signer
	// Authenticate returns the caller that the bearer token of the request authenticates. If the
	// client can act on an error, the error is a *RequestError.
	Authenticate func(r *http.Request) (*Subject, error)
	// Subjects verifies the tokens of subjects.
	Subjects *Verifier
	Log      logr.Logger
	Clock    clock.PassiveClock
}

// Exchange serves the exchange of tokens. It is safe for concurrent use.
type Exchange struct {
	options Options
	rates   *limit.Table
}

// New returns an Exchange.
func New(options Options) *Exchange {
	return &Exchange{options: options, rates: limit.NewTable(limitedSubjects, exchangeRate)}
}

// response is the body of a successful response (RFC 8693, section 2.2.1).
type response struct {
	AccessToken     string `json:"access_token"`
	IssuedTokenType string `json:"issued_token_type"`
	TokenType       string `json:"token_type"`
	ExpiresIn       int    `json:"expires_in"`
}

// ServeHTTP implements http.Handler.
func (e *Exchange) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, lifetime, err := e.exchange(w, r)
	if err == nil {
		exchanges.WithLabelValues("issued").Inc()
		respond(w, http.StatusOK, response{
			AccessToken: token, IssuedTokenType: typeJWT, TokenType: "Bearer", ExpiresIn: int(lifetime / time.Second),
		})
		return
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // the client has disconnected
	}
	problem, ok := errors.AsType[*RequestError](err)
	if !ok {
		e.options.Log.Error(err, "token exchange failed")
		problem = Unavailable("the registry cannot issue tokens now; try again")
	}
	exchanges.WithLabelValues(problem.Code).Inc()
	refuse(w, problem)
}

// Keys serves the JWK set that current returns, without authentication: receivers of tokens that are no sidecars, such as MCP servers,
// verify signatures with it. While current returns nil, clients may try again.
func Keys(current func() json.RawMessage) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		keys := current()
		if keys == nil {
			refuse(w, Unavailable("the registry has no keys yet; try again"))
			return
		}
		header := w.Header()
		header.Set("Content-Type", "application/jwk-set+json")
		header.Set("Cache-Control", "max-age=300") // a key is published an hour before it signs
		header.Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(keys)
	})
}

// exchange serves a request and returns the issued token with its lifetime. Its error is a *RequestError, or another
// error for a failure of the system.
func (e *Exchange) exchange(w http.ResponseWriter, r *http.Request) (string, time.Duration, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return "", 0, &RequestError{Status: http.StatusMethodNotAllowed, Code: codeInvalidRequest, Description: "the method must be POST"}
	}
	asked, problem := parse(w, r)
	if problem != nil {
		return "", 0, problem
	}
	r.Header.Set("Authorization", "Bearer "+asked.token)
	caller, err := e.options.Authenticate(r)
	if err != nil {
		return "", 0, err
	}
	namespace, name, ok := serviceAccount(caller.Username)
	if !ok {
		return "", 0, InvalidToken("only tokens of ServiceAccounts are exchanged")
	}
	now := e.options.Clock.Now()
	if bucket := e.rates.Bucket(a2a.AccountingPrincipal{Principal: caller.Username + " " + caller.PodUID}, now); !bucket.Take(now) {
		return "", 0, Limited(bucket.Refusal(now).Wait, "this pod or ServiceAccount exchanges too many tokens; use each token until shortly before it expires")
	}
	if err := e.admit(r.Context(), caller, asked); err != nil {
		return "", 0, err
	}
	signer := e.options.Signer()
	if signer == nil {
		return "", 0, Unavailable("the registry has no key to sign tokens with yet; try again")
	}
	claims := newClaims(caller, namespace, name, asked.audience, now)
	if asked.subject != nil {
		if err := e.delegate(r.Context(), asked, caller, &claims); err != nil {
			return "", 0, err
		}
	}
	token, err := signer.Sign(claims)
	return token, time.Unix(claims.Expiry, 0).Sub(now), err
}

// admit returns an error if the caller may get no token for the target: an agent that it does not see, or an MCP server that does not
// learn of the callers of its agent.
func (e *Exchange) admit(ctx context.Context, caller *Subject, asked *request) error {
	if asked.isResource {
		return e.options.Subjects.checkResource(ctx, asked, caller.Username)
	}
	listed, err := caller.Lists(ctx, asked.agent.Namespace, asked.agent.Name)
	if err != nil {
		return err
	}
	if !listed {
		return target("the agent does not exist, or you may not see it")
	}
	return nil
}

// serviceAccount returns the namespace and the name in the user name of a ServiceAccount, and false
// for any other user name. An issuer or a webhook that the API server trusts may give such a name
// to a user that is no ServiceAccount. That user has the permissions of the ServiceAccount in the
// whole cluster, so the exchange treats it as the ServiceAccount, too.
func serviceAccount(username string) (namespace, name string, ok bool) {
	rest, found := strings.CutPrefix(username, "system:serviceaccount:")
	namespace, name, whole := strings.Cut(rest, ":")
	return namespace, name, found && whole && namespace != "" && name != ""
}

// claims are the claims of an issued token: registered claims of RFC 7519, and the private
// claims of ServiceAccount tokens (KEP-1205), which authorization rules may read.
type claims struct {
	Issuer     string     `json:"iss"`
	Subject    string     `json:"sub"`
	Audience   []string   `json:"aud"`
	Expiry     int64      `json:"exp"`
	IssuedAt   int64      `json:"iat"`
	ID         string     `json:"jti"`
	Kubernetes kubernetes `json:"kubernetes.io"`

	auth.DelegatedClaims
}

type kubernetes struct {
	Namespace      string  `json:"namespace"`
	ServiceAccount object  `json:"serviceaccount"`
	Pod            *object `json:"pod,omitempty"`
	Node           *object `json:"node,omitempty"`
}

type object struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
}

func newClaims(subject *Subject, namespace, name, audience string, now time.Time) claims {
	c := claims{
		Issuer: sidecarconfig.TokenIssuer, Subject: subject.Username, Audience: []string{audience},
		IssuedAt: now.Unix(), Expiry: now.Add(Lifetime).Unix(), ID: rand.Text(),
		Kubernetes: kubernetes{Namespace: namespace, ServiceAccount: object{Name: name, UID: subject.UID}},
	}
	if subject.PodName != "" {
		c.Kubernetes.Pod = &object{Name: subject.PodName, UID: subject.PodUID}
	}
	if subject.NodeName != "" {
		c.Kubernetes.Node = &object{Name: subject.NodeName, UID: subject.NodeUID}
	}
	return c
}

var exchanges = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "a2a_registry_token_exchanges_total",
	Help: "Requests for a token for calls to an agent, by result: issued, or the OAuth error code of the response.",
}, []string{"result"})

// Collectors returns the metrics, which all Exchanges of a process share.
func Collectors() []prometheus.Collector { return []prometheus.Collector{exchanges} }
