// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"encoding/json"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
)

// Signatures verifies the signatures of tokens with the keys of the API server, to send no TokenReview for
// a forged token, nor for a heartbeat. It accepts no token for anything else: only a TokenReview does. At most half of the CPUs verify signatures
// at a time. A nil Signatures has no keys. It is safe for concurrent use.
type Signatures struct {
	// Accepted is called after a TokenReview has accepted a token of a ServiceAccount, with the issuer that the token names. isKnown is
	// false if no known key of the issuer has signed the token. It must be set before the first use, and may be nil.
	Accepted func(issuer string, isKnown bool)

	issuers func() (urls []string, keys json.RawMessage)
	last    atomic.Pointer[signatureKeys]
	// running has an element for each verification that runs.
	running chan struct{}
}

// signatureKeys are the keys of issuers. verifier is nil if none of them can be used.
type signatureKeys struct {
	urls     []string
	keys     json.RawMessage
	verifier *auth.Kubernetes
}

// NewSignatures returns Signatures for the issuers and their JWK set that the function returns. The set is empty while it is
// not known. The function must return the same slice until the set changes.
func NewSignatures(issuers func() (urls []string, keys json.RawMessage)) *Signatures {
	return &Signatures{issuers: issuers, running: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// Sender returns what the signature of a token says about the sender at an address. It returns false for
// a forged token.
func (s *Signatures) Sender(token, address string) (from Sender, plausible bool) {
	verifier := s.verifier()
	if verifier == nil {
		return Sender{Tenant: address}, true
	}
	s.running <- struct{}{}
	subject, forged := verifier.Signed(token)
	<-s.running
	if subject != "" {
		return Sender{Tenant: tenantOf(subject)}, true
	}
	return Sender{Tenant: address, IsUnknown: true}, !forged
}

// reviewed reports to Accepted that a TokenReview has accepted a token.
func (s *Signatures) reviewed(token string, from Sender, as Caller) {
	if s == nil || s.Accepted == nil || serviceAccountNamespace(as.Username) == "" {
		return
	}
	if issuer := auth.Issuer(token); issuer != "" {
		s.Accepted(issuer, !from.IsUnknown)
	}
}

// pod returns the pod to which a token for the registry is bound, and false if the token is not valid now, or is none of
// a pod.
func (s *Signatures) pod(token string, now time.Time) (auth.BoundPod, bool) {
	verifier := s.verifier()
	if verifier == nil {
		return auth.BoundPod{}, false
	}
	s.running <- struct{}{}
	defer func() { <-s.running }()
	return verifier.BoundPod(token, now)
}

func (s *Signatures) verifier() *auth.Kubernetes {
	if s == nil {
		return nil
	}
	urls, keys := s.issuers()
	if len(keys) == 0 {
		return nil
	}
	last := s.last.Load()
	if last == nil || !slices.Equal(last.urls, urls) || len(last.keys) != len(keys) || &last.keys[0] != &keys[0] {
		// A set without a usable key is no failure: each token then needs a review.
		var config auth.KubernetesConfig
		for _, url := range urls {
			config.Issuers = append(config.Issuers, auth.KubernetesIssuer{Issuer: url, Audiences: []string{a2av1alpha1.Audience}, Keys: keys})
		}
		verifier, _ := auth.NewKubernetes(config)
		last = &signatureKeys{urls, keys, verifier}
		s.last.Store(last)
	}
	return last.verifier
}
