// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/tokenexchange"
)

// newExchange returns the handler that issues tokens to a caller, for calls to the agents that
// the caller may find.
func (a *api) newExchange(signer func() tokenexchange.Signer, log logr.Logger, c clock.PassiveClock) http.Handler {
	return tokenexchange.New(tokenexchange.Options{Signer: signer, Authenticate: a.subject, Log: log, Clock: c})
}

// subject returns the caller that the token of a request authenticates, or an error.
func (a *api) subject(r *http.Request) (*tokenexchange.Subject, error) {
	caller, known, err := a.authn.Caller(r)
	if refused, ok := errors.AsType[access.LimitedError](err); ok {
		limited.WithLabelValues("token_reviews").Inc()
		return nil, tokenexchange.Limited(refused.Wait, "this address sent too many unknown tokens; use one token for its lifetime")
	}
	if err != nil {
		return nil, err
	}
	if !known {
		a.denials.unauthenticated(r)
		return nil, tokenexchange.InvalidToken("subject_token is not a valid ServiceAccount token for the audience " + a2av1alpha1.Audience)
	}
	return &tokenexchange.Subject{
		Username: caller.Username, UID: caller.UID,
		PodName: caller.ExtraValue(access.ExtraPodName), PodUID: caller.ExtraValue(access.ExtraPodUID),
		NodeName: caller.ExtraValue(access.ExtraNodeName), NodeUID: caller.ExtraValue(access.ExtraNodeUID),
		Lists: func(ctx context.Context, namespace, name string) (bool, error) {
			snapshot := a.feed.Current()
			if snapshot == nil {
				return false, errNotIndexed
			}
			entry, err := a.findKey(ctx, caller, snapshot, index.Key{Namespace: namespace, Name: name})
			if errors.Is(err, errPeer) {
				err = nil
			}
			if err == nil && entry == nil { // the log does not distinguish a hidden agent from an absent one
				a.denials.forbidden(ctx, &caller, operationToken, namespace+"/"+name)
			}
			return entry != nil, err
		},
	}, nil
}
