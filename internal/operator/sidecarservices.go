// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/operator/credentialservice"
	"github.com/a2a-operator/a2a-operator/internal/operator/health"
	"github.com/a2a-operator/a2a-operator/internal/operator/remote"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenexchange"
	"github.com/a2a-operator/a2a-operator/internal/registry"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// sidecarServices returns what the registry's listener serves for sidecars: it receives their reports, and exchanges their
// tokens.
func sidecarServices(mgr manager.Manager, from agentSources) ([]registry.Service, error) {
	subjects, err := addSubjects(mgr, from)
	if err != nil {
		return nil, err
	}
	reports := health.New(health.Options{
		Pods:        mgr.GetCache(),
		Status:      mgr.GetClient().Status(),
		Annotations: mgr.GetClient(),
		Heartbeats:  from.heartbeats,
		Limited:     registry.Limited("health_reports"),
		Clock:       clock.RealClock{},
	})
	return []registry.Service{
		{Pattern: "PUT " + sidecarconfig.HealthPath, Handler: func(c registry.Callers) http.Handler { return c.Pod(reports.Put) }},
		{Pattern: sidecarconfig.HealthPath, Handler: func(registry.Callers) http.Handler { return http.HandlerFunc(health.NotPut) }},
		{Pattern: "POST " + sidecarconfig.AlivePath, Handler: func(c registry.Callers) http.Handler { return c.SignedPod(reports.Alive) }},
		{Pattern: sidecarconfig.TokenPath, Handler: func(c registry.Callers) http.Handler {
			return tokenexchange.New(tokenexchange.Options{
				Signer: from.signer, Authenticate: subjectOf(c), Subjects: subjects, Log: mgr.GetLogger().WithName("registry"), Clock: clock.RealClock{},
			})
		}},
		{Pattern: "GET " + sidecarconfig.TokenKeysPath, Handler: func(registry.Callers) http.Handler { return tokenexchange.Keys(from.tokenKeySet) }},
		{Pattern: "POST " + sidecarconfig.RemoteCredentialPath, Handler: func(c registry.Callers) http.Handler {
			return credentialservice.New(credentialservice.Options{
				Agents: mgr.GetClient(), Credentials: from.credentials.Of, Explain: remote.Explain, Expiry: expiryOf(subjects), Caller: credentialCaller(c),
				Log: mgr.GetLogger().WithName("registry"), Clock: clock.RealClock{},
			})
		}},
	}, nil
}

// addSubjects adds the verifier of the tokens of subjects. It reads the keys of people's issuers at the addresses at which the manager may
// read the cards of remote agents, because the owners of Agents name both.
func addSubjects(mgr manager.Manager, from agentSources) (*tokenexchange.Verifier, error) {
	people := tokenexchange.NewIssuers(tokenexchange.IssuersOptions{
		Transport: from.remoteGuard, Log: mgr.GetLogger().WithName("registry"), Clock: clock.RealClock{},
	})
	if err := mgr.Add(people); err != nil {
		return nil, fmt.Errorf("add keys of the issuers of subjects: %w", err)
	}
	return tokenexchange.NewVerifier(tokenexchange.VerifierOptions{
		Agent: func(ctx context.Context, name types.NamespacedName) (*a2av1alpha1.Agent, error) {
			agent := &a2av1alpha1.Agent{}
			err := mgr.GetCache().Get(ctx, name, agent)
			if _, isPart := state.TooLarge(agent); apierrors.IsNotFound(err) || isPart {
				return nil, nil // no agent, or one whose access is not known
			}
			return agent, err
		},
		Issuers: from.accountIssuers, People: people, Clock: clock.RealClock{},
	}), nil
}

// accountIssuers returns the issuers of tokens that name ServiceAccounts, as far as their keys are known.
func (s *agentSources) accountIssuers() []auth.KubernetesIssuer {
	var all []auth.KubernetesIssuer
	if cluster := s.keys.Current(); cluster != nil {
		for _, url := range append([]string{cluster.URL}, cluster.Others...) {
			all = append(all, auth.KubernetesIssuer{Issuer: url, Keys: cluster.Keys})
		}
	}
	if own := s.tokenKeys.Current(); own != nil {
		all = append(all, auth.KubernetesIssuer{Issuer: own.URL, Keys: own.Keys, Delegates: true})
	}
	return all
}

// signer returns the signer of tokens, or nil while there are no keys.
func (s *agentSources) signer() tokenexchange.Signer {
	if set := s.tokenKeys.Keys(); set != nil {
		return set
	}
	return nil
}

// tokenKeySet returns the public keys of the signer, nil while there are none.
func (s *agentSources) tokenKeySet() json.RawMessage {
	if own := s.tokenKeys.Current(); own != nil {
		return own.Keys
	}
	return nil
}

// expiryOf returns the function that verifies the token of a user, which is to be exchanged at another authorization server.
func expiryOf(subjects *tokenexchange.Verifier) func(ctx context.Context, client, caller, token string) (time.Time, error) {
	return func(ctx context.Context, client, caller, token string) (time.Time, error) {
		expires, err := subjects.Expiry(ctx, client, caller, token)
		if refused, ok := errors.AsType[*tokenexchange.RequestError](err); ok {
			return time.Time{}, apierror.Unavailable("the token of the user cannot be exchanged: " + refused.Description)
		}
		return expires, err
	}
}

// credentialCaller returns the function that authenticates the sender of a request for a credential.
func credentialCaller(callers registry.Callers) func(r *http.Request) (*credentialservice.Caller, error) {
	return func(r *http.Request) (*credentialservice.Caller, error) {
		caller, err := callers.Caller(r)
		if err != nil {
			return nil, err
		}
		return &credentialservice.Caller{
			Username: caller.Username, Namespace: caller.Namespace(), PodUID: caller.ExtraValue(access.ExtraPodUID),
			Lists: func(ctx context.Context, namespace, name string) (bool, error) {
				return callers.Finds(ctx, caller, namespace, name)
			},
		}, nil
	}
}

// subjectOf returns the function that authenticates the sender of a request for a token.
func subjectOf(callers registry.Callers) func(r *http.Request) (*tokenexchange.Subject, error) {
	return func(r *http.Request) (*tokenexchange.Subject, error) {
		caller, err := callers.Caller(r)
		if refused, ok := errors.AsType[*apierror.Error](err); ok {
			if refused.Status == http.StatusUnauthorized {
				return nil, tokenexchange.InvalidToken("the token of the caller, which is actor_token or else subject_token, is not a valid ServiceAccount token for the audience " + a2av1alpha1.Audience)
			}
			return nil, tokenexchange.Limited(refused.RetryAfter, refused.Message)
		}
		if err != nil {
			return nil, err
		}
		return &tokenexchange.Subject{
			Username: caller.Username, UID: caller.UID,
			PodName: caller.ExtraValue(access.ExtraPodName), PodUID: caller.ExtraValue(access.ExtraPodUID),
			NodeName: caller.ExtraValue(access.ExtraNodeName), NodeUID: caller.ExtraValue(access.ExtraNodeUID),
			Lists: func(ctx context.Context, namespace, name string) (bool, error) {
				return callers.Finds(ctx, caller, namespace, name)
			},
		}, nil
	}
}
