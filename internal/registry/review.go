// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

const (
	// reviewTimeout bounds one question to the API server.
	reviewTimeout = 5 * time.Second
	// concurrentReviews bounds the questions under way of each kind, whatever
	// callers send: who shows strange tokens keeps nobody else from being judged.
	concurrentReviews = 8
)

// Caller is who sent a request, as the API server knows it.
type Caller struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
	// home is the namespace of a ServiceAccount, "" for others.
	home string
	// fingerprint is equal for callers that the API server cannot tell apart.
	fingerprint string
}

// reviewer asks the API server.
type reviewer struct {
	client         client.Writer
	tokens, access line
}

// line is where questions wait.
type line struct{ waiting, slots chan struct{} }

func newReviewer(c client.Writer) *reviewer {
	newLine := func() line {
		return line{waiting: make(chan struct{}, concurrentReviews+waitingReviews), slots: make(chan struct{}, concurrentReviews)}
	}
	return &reviewer{client: c, tokens: newLine(), access: newLine()}
}

// token asks whose token this is. The second result is false when it is
// nobody's, or not meant for this product.
func (r *reviewer) token(ctx context.Context, token string) (Caller, bool, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{
		Token: token, Audiences: []string{a2av1alpha1.Audience},
	}}
	if err := r.ask(ctx, r.tokens, review); err != nil {
		return Caller{}, false, fmt.Errorf("review token: %w", err)
	}
	// An authenticator that knows no audiences leaves them out: such a token is
	// meant for the API server, and whoever shows it here may have been tricked.
	if !review.Status.Authenticated || !slices.Contains(review.Status.Audiences, a2av1alpha1.Audience) {
		return Caller{}, false, nil
	}
	return newCaller(review.Status.User)
}

func newCaller(user authenticationv1.UserInfo) (Caller, bool, error) {
	c := Caller{Username: user.Username, UID: user.UID, Groups: user.Groups, Extra: make(map[string][]string, len(user.Extra))}
	for key, values := range user.Extra {
		c.Extra[key] = values
	}
	c.home = homeOf(user.Username)
	identity, err := json.Marshal(c)
	if err != nil {
		return Caller{}, false, fmt.Errorf("encode caller: %w", err)
	}
	sum := sha256.Sum256(identity)
	c.fingerprint = string(sum[:])
	return c, true, nil
}

// homeOf returns the namespace of a ServiceAccount's user name. No other
// authenticator of the API server may give names that start with "system:".
func homeOf(username string) string {
	rest, found := strings.CutPrefix(username, "system:serviceaccount:")
	namespace, name, whole := strings.Cut(rest, ":")
	if !found || !whole || name == "" {
		return ""
	}
	return namespace
}

// list asks whether the caller may list Agents in a namespace, "" for all.
func (r *reviewer) list(ctx context.Context, c Caller, namespace string) (bool, error) {
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
	if err := r.ask(ctx, r.access, review); err != nil {
		return false, fmt.Errorf("review access to namespace %q: %w", namespace, err)
	}
	return review.Status.Allowed && !review.Status.Denied, nil
}

func (r *reviewer) ask(ctx context.Context, in line, review client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	select {
	case in.waiting <- struct{}{}:
		defer func() { <-in.waiting }()
	default:
		limited.WithLabelValues("reviews").Inc()
		return errTooManyReviews
	}
	select {
	case in.slots <- struct{}{}:
		defer func() { <-in.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return r.client.Create(ctx, review)
}
