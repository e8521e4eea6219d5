// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package credentialservice gives sidecars the credentials for calls of remote agents. The registry serves it in every replica of
// the manager. It reads no Secret itself, and logs no credential.
package credentialservice

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	a2aclient "github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
)

const (
	// maxRequest bounds the body of a request, in bytes.
	maxRequest = 24 << 10
	// credentialAge is how long a sidecar may use a credential that does not expire.
	credentialAge = time.Minute
	// limitedPods bounds the pods that have a rate limit of their own. All further pods share one.
	limitedPods = 16384
)

// credentialRate is the rate limit for the requests of one pod.
var credentialRate = limit.Rate{PerSecond: 10, Burst: 256}

// Caller is the authenticated sender of a request.
type Caller struct {
	Username string
	// Namespace is that of the ServiceAccount, "" for another user. PodUID is that of the pod of the token, "" for none.
	Namespace, PodUID string
	// Lists reports whether the caller may find an agent in the registry.
	Lists func(ctx context.Context, namespace, name string) (bool, error)
}

// Options configure a Service. All fields are required.
type Options struct {
	// Agents reads Agents from the cache.
	Agents client.Reader
	// Credentials gets the credential of an Agent, with its end, zero for none.
	Credentials func(ctx context.Context, a *a2av1alpha1.Agent, user remotecredential.User, refused string) (credential remotecredential.Credential, expires time.Time, err error)
	// Explain returns the field, the cause and the cure for an error of Credentials.
	Explain func(a *a2av1alpha1.Agent, err error) string
	// Expiry verifies the token of the user for whom an agent calls, and returns its end. If the client can act on an
	// error, the error is an *apierror.Error.
	Expiry func(ctx context.Context, client, caller, token string) (time.Time, error)
	// Caller returns the caller that the bearer token of the request authenticates. If the client can act on an error,
	// the error is an *apierror.Error.
	Caller func(r *http.Request) (*Caller, error)
	Log    logr.Logger
	Clock  clock.PassiveClock
}

// Service serves requests for credentials. A caller receives a credential only if it may find the agent in the registry, and if its ServiceAccount is in the
// namespace of the agent or in spec.remote.credentials.namespaces.
type Service struct {
	options Options
	rates   *limit.Table
}

// New returns a Service. It is safe for concurrent use.
func New(o Options) *Service {
	return &Service{options: o, rates: limit.NewTable(limitedPods, credentialRate)}
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	answer, err := s.serve(w, r)
	if err == nil {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // strings and a number have a JSON form
		return
	}
	if r.Context().Err() != nil {
		return // the client has disconnected
	}
	problem, ok := errors.AsType[*apierror.Error](err)
	if !ok {
		s.options.Log.Error(err, "could not get the credential of a remote agent")
		problem = apierror.Unavailable("the registry cannot give credentials now; try again")
	}
	problem.Write(w)
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) (remotecredential.Answer, error) {
	answer := remotecredential.Answer{ExpiresIn: int(credentialAge / time.Second), Static: true}
	caller, err := s.options.Caller(r)
	if err != nil {
		return answer, err
	}
	now := s.options.Clock.Now()
	if bucket := s.rates.Bucket(a2a.AccountingPrincipal{Principal: caller.Username + " " + caller.PodUID}, now); !bucket.Take(now) {
		return answer, apierror.TooMany(bucket.Refusal(now).Wait, "this pod requests too many credentials; use each one until it expires")
	}
	var asked remotecredential.Request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&asked); err != nil {
		return answer, apierror.Invalid("body", "must be a JSON object with namespace and name")
	}
	listed, err := caller.Lists(r.Context(), asked.Namespace, asked.Name)
	if err != nil {
		return answer, err
	}
	agent := &a2av1alpha1.Agent{}
	if listed {
		err = s.options.Agents.Get(r.Context(), client.ObjectKey{Namespace: asked.Namespace, Name: asked.Name}, agent)
	}
	switch {
	case !listed, apierrors.IsNotFound(err):
		return answer, apierror.NotFound("the agent does not exist, or you may not see it")
	case err != nil:
		return answer, err
	case agent.Spec.Remote == nil || agent.Spec.Remote.Credentials == nil:
		return answer, nil
	case !shared(agent, caller.Namespace):
		return answer, &apierror.Error{Status: http.StatusForbidden, Code: "Forbidden", Field: "spec.remote.credentials.namespaces", Message: "spec.remote.credentials of the Agent are not for agents of namespace \"" +
			caller.Namespace + "\"; list it in spec.remote.credentials.namespaces"}
	}
	// After a change of the URL, sidecars call the former one until the operator has read the new card.
	if a2aclient.OriginOf(cmp.Or(asked.Origin, agent.Status.URL)) != a2aclient.OriginOf(agent.Spec.Remote.URL) {
		return answer, apierror.Unavailable("spec.remote.url of the agent has another origin than the agent in the registry, and the credentials are for the new one; " +
			"the condition Available of the agent says why its card is not read")
	}
	if !understood(agent) {
		return answer, apierror.Unavailable("the operator does not know the whole spec of the agent, which may restrict its credentials; its condition Accepted has the cause")
	}
	answer.Exchanges = exchanges(agent)
	user, err := s.user(r.Context(), agent, caller, &asked)
	if err != nil {
		return answer, err
	}
	credential, expires, err := s.options.Credentials(r.Context(), agent, user, asked.Refused)
	if err != nil && r.Context().Err() == nil {
		s.options.Log.Info("could not get the credential of a remote agent", "agent", asked.Namespace+"/"+asked.Name, "error", err.Error())
		if user.Token != "" {
			return answer, apierror.Unavailable(s.options.Explain(agent, err))
		}
		refusal := apierror.Unavailable("spec.remote.credentials of the agent are not usable; its condition Available has the cause")
		if errors.Is(err, remotecredential.ErrUnusable) {
			refusal.Code = remotecredential.CodeUnusable
		}
		return answer, refusal
	}
	if err != nil {
		return answer, err
	}
	answer.Credential = credential
	if !expires.IsZero() {
		answer.Static = false
		answer.ExpiresIn = max(int(expires.Sub(now)/time.Second), 1)
	}
	return answer, nil
}

// understood reports whether the spec has lost no field, such as the grant, and the grant is of this version: without the grant, calls for users
// would have the rights of the client.
func understood(a *a2av1alpha1.Agent) bool {
	oauth2 := a.Spec.Remote.Credentials.OAuth2
	known := []a2av1alpha1.RemoteOAuth2Grant{"", a2av1alpha1.RemoteOAuth2ClientCredentials, a2av1alpha1.RemoteOAuth2TokenExchange}
	return !crdschema.AgentLacksFields(a) && (oauth2 == nil || slices.Contains(known, oauth2.Grant))
}

// exchanges reports whether calls for users need a token for which the user's token was exchanged.
func exchanges(a *a2av1alpha1.Agent) bool {
	oauth2 := a.Spec.Remote.Credentials.OAuth2
	return oauth2 != nil && oauth2.Grant == a2av1alpha1.RemoteOAuth2TokenExchange
}

// user returns the user in a request, zero for none.
func (s *Service) user(ctx context.Context, a *a2av1alpha1.Agent, caller *Caller, asked *remotecredential.Request) (remotecredential.User, error) {
	switch {
	case exchanges(a) && !asked.Exchanges:
		return remotecredential.User{}, apierror.Unavailable("the sidecar is of a version that cannot exchange the tokens of users; restart the pods of the calling agent")
	case asked.SubjectToken == "":
		return remotecredential.User{}, nil
	case !exchanges(a) || caller.Namespace != a.Namespace: // the API server refuses such an Agent with namespaces
		return remotecredential.User{}, apierror.Invalid("subjectToken", "must be absent: spec.remote.credentials.oauth2.grant of the agent is not TokenExchange")
	}
	expires, err := s.options.Expiry(ctx, asked.Client, caller.Username, asked.SubjectToken)
	return remotecredential.User{Token: asked.SubjectToken, Expires: expires}, err
}

// shared reports whether agents of a namespace call with the credentials of an Agent.
func shared(a *a2av1alpha1.Agent, namespace string) bool {
	allowed := a.Spec.Remote.Credentials.Namespaces
	return namespace != "" && (namespace == a.Namespace || slices.Contains(allowed, namespace) || slices.Contains(allowed, "*"))
}
