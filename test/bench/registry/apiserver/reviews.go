// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// tokenPrefix begins the tokens that the server accepts.
const tokenPrefix = "bench."

// Token returns the token of a user in groups. The names must have no dot.
func Token(user string, groups ...string) string {
	return tokenPrefix + strings.Join(append([]string{user}, groups...), ".")
}

// reviews counts the reviews.
type reviews struct{ tokens, accesses atomic.Int64 }

// Reviews returns the number of TokenReviews and of SubjectAccessReviews so far.
func (s *Server) Reviews() (tokens, accesses int64) {
	return s.reviews.tokens.Load(), s.reviews.accesses.Load()
}

func decode(body []byte, into runtime.Object) error {
	if _, _, err := serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode(body, nil, into); err != nil {
		return fmt.Errorf("decode review: %w", err)
	}
	return nil
}

// token answers a TokenReview from the token itself.
func (r *reviews) token(w http.ResponseWriter, body []byte) error {
	r.tokens.Add(1)
	review := &authenticationv1.TokenReview{}
	if err := decode(body, review); err != nil {
		return err
	}
	if names, ok := strings.CutPrefix(review.Spec.Token, tokenPrefix); ok {
		parts := strings.Split(names, ".")
		review.Status = authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: review.Spec.Audiences,
			User: authenticationv1.UserInfo{Username: parts[0], Groups: parts[1:]},
		}
	}
	review.APIVersion, review.Kind = "authentication.k8s.io/v1", "TokenReview"
	writeJSON(w, http.StatusCreated, review)
	return nil
}

// access answers a SubjectAccessReview.
func (r *reviews) access(w http.ResponseWriter, body []byte, allows func(user string, groups []string, namespace string) bool) error {
	r.accesses.Add(1)
	review := &authorizationv1.SubjectAccessReview{}
	if err := decode(body, review); err != nil {
		return err
	}
	if a := review.Spec.ResourceAttributes; a != nil && allows != nil {
		review.Status.Allowed = allows(review.Spec.User, review.Spec.Groups, a.Namespace)
	}
	review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
	writeJSON(w, http.StatusCreated, review)
	return nil
}
