// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

const (
	// reviewTimeout bounds one review, including the wait for a slot.
	reviewTimeout = 5 * time.Second
	// concurrentReviews bounds the reviews in progress, for tokens and for access
	// separately, so that unknown tokens do not delay the reviews of known callers.
	concurrentReviews = 8
	// waitingReviews bounds the reviews that wait for a slot, for each kind.
	waitingReviews = 512
)

// ErrTooManyReviews is returned for a review that the Reviewer did not send
// because waitingReviews others wait.
var ErrTooManyReviews = errors.New("too many reviews wait for the API server")

// Caller is the sender of a request, as the API server knows it.
type Caller struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
	// namespace is that of a ServiceAccount, "" for other callers.
	namespace string
	// fingerprint is equal for callers that the API server cannot tell apart.
	fingerprint string
}

// serviceAccountPrefix begins the user names of ServiceAccounts.
const serviceAccountPrefix = "system:serviceaccount:"

// extraCredentialID is the extra attribute with the id of a token (KEP-4193). It is no
// part of a Caller: each renewed token would be another caller, with reviews of its own.
const extraCredentialID = "authentication.kubernetes.io/credential-id"

// NewCaller returns the caller that the API server describes.
func NewCaller(user authenticationv1.UserInfo) (Caller, error) {
	c := Caller{Username: user.Username, UID: user.UID, Groups: user.Groups, Extra: make(map[string][]string, len(user.Extra))}
	for key, values := range user.Extra {
		if key != extraCredentialID {
			c.Extra[key] = values
		}
	}
	c.namespace = serviceAccountNamespace(user.Username)
	identity, err := json.Marshal(c)
	if err != nil {
		return Caller{}, fmt.Errorf("encode caller: %w", err)
	}
	sum := sha256.Sum256(identity)
	c.fingerprint = string(sum[:])
	return c, nil
}

// Namespace returns the namespace of a ServiceAccount, "" for other callers.
func (c *Caller) Namespace() string { return c.namespace }

// ID returns a value that is equal for callers that the API server cannot tell
// apart. It is not text.
func (c *Caller) ID() string { return c.fingerprint }

// ExtraValue returns the extra attribute key if it has exactly one value, else "".
func (c *Caller) ExtraValue(key string) string {
	if values := c.Extra[key]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// serviceAccountNamespace returns the namespace in the user name of a ServiceAccount, else "".
// The API server refuses names with the prefix "system:" from other authenticators.
func serviceAccountNamespace(username string) string {
	rest, found := strings.CutPrefix(username, serviceAccountPrefix)
	namespace, name, whole := strings.Cut(rest, ":")
	if !found || !whole || name == "" {
		return ""
	}
	return namespace
}

// Reviewer sends TokenReviews and SubjectAccessReviews to the API server. The
// number of reviews in progress and in the queue is bounded.
type Reviewer struct {
	client         client.Writer
	limited        prometheus.Counter
	tokens, access queue
}

// queue bounds the reviews of one kind, and counts them.
type queue struct {
	waiting, slots chan struct{}
	sent           prometheus.Counter
}

// NewReviewer returns a Reviewer that creates reviews by c. It increments
// limited for each review that it does not send.
func NewReviewer(c client.Writer, limited prometheus.Counter) *Reviewer {
	newQueue := func(kind string) queue {
		return queue{
			waiting: make(chan struct{}, concurrentReviews+waitingReviews), slots: make(chan struct{}, concurrentReviews),
			sent: reviewsSent.WithLabelValues(kind),
		}
	}
	return &Reviewer{client: c, limited: limited, tokens: newQueue("token"), access: newQueue("access")}
}

// Token returns the caller that a token authenticates, and false if the API server
// refuses it or if it is meant for another audience.
func (r *Reviewer) Token(ctx context.Context, token string) (Caller, bool, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{
		Token: token, Audiences: []string{a2av1alpha1.Audience},
	}}
	if err := r.create(ctx, r.tokens, review); err != nil {
		return Caller{}, false, fmt.Errorf("review token: %w", err)
	}
	// An authenticator without support for audiences leaves them out. Such a token is
	// meant for the API server, and its sender may have stolen it.
	if !review.Status.Authenticated || !slices.Contains(review.Status.Audiences, a2av1alpha1.Audience) {
		return Caller{}, false, nil
	}
	c, err := NewCaller(review.Status.User)
	return c, err == nil, err
}

// List reports whether the caller may list Agents in a namespace, or in all
// namespaces for "".
func (r *Reviewer) List(ctx context.Context, c Caller, namespace string) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(c.Extra))
	for key, values := range c.Extra {
		extra[key] = values
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: c.Username, UID: c.UID, Groups: c.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "list", Group: a2av1alpha1.GroupVersion.Group, Resource: "agents", Namespace: namespace,
		},
	}}
	if err := r.create(ctx, r.access, review); err != nil {
		return false, fmt.Errorf("review access to namespace %q: %w", namespace, err)
	}
	return review.Status.Allowed && !review.Status.Denied, nil
}

func (r *Reviewer) create(ctx context.Context, in queue, review client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	select {
	case in.waiting <- struct{}{}:
		defer func() { <-in.waiting }()
	default:
		r.limited.Inc()
		return ErrTooManyReviews
	}
	select {
	case in.slots <- struct{}{}:
		defer func() { <-in.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	in.sent.Inc()
	return r.client.Create(ctx, review)
}
