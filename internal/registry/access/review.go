// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
)

const (
	// reviewTimeout bounds one review, including the wait for a slot.
	reviewTimeout = 5 * time.Second
	// concurrentReviews bounds the reviews of one queue that are in progress, and tenantReviews those
	// of one tenant among them. The queues have separate slots, so that unknown tokens delay neither
	// the tokens that a key of the API server has signed, nor the access reviews of known callers.
	concurrentReviews = 8
	tenantReviews     = 6
	// waitingReviews bounds the reviews of one queue that wait for a slot.
	waitingReviews = 512
	// unknownPace is how long the review of a token of an unknown issuer uses its slot at least.
	// Nothing but the review tells whether such a token is valid, so they may cause at most 80
	// reviews in a second.
	unknownPace = 100 * time.Millisecond
)

// reviewsSent counts the requests of Reviewers.
var reviewsSent = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "a2a_registry_reviews_total",
	Help: "Reviews that the registry sent to the API server, by kind: token (TokenReview) or access (SubjectAccessReview).",
}, []string{"kind"})

// ErrTooManyReviews is returned for a review that the Reviewer did not send, because too many reviews
// of its tenant, or of all tenants, were already waiting.
var ErrTooManyReviews = errors.New("too many reviews wait for the API server")

// Caller is the sender of a request, with the attributes of a user of Kubernetes.
type Caller struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
	// namespace is the namespace of a ServiceAccount, "" for other callers.
	namespace string
	// fingerprint identifies a caller: callers with the same SubjectAccessReviews have the same
	// fingerprint.
	fingerprint string
}

// serviceAccountPrefix begins the user names of ServiceAccounts.
const serviceAccountPrefix = "system:serviceaccount:"

// Right is a right that a SubjectAccessReview decides about: to list the Agents of Namespace, or of
// all namespaces if Namespace is "".
type Right struct {
	Namespace string
	// Peer is true for the right to read the Agents that peers see, in all namespaces.
	// Namespace is then empty.
	Peer bool
}

// The verbs and resources of rights. The API server serves no subresource federated of
// Agents, but RBAC can grant it like any other.
const (
	verbList             = "list"
	verbGet              = "get"
	resourceAgents       = "agents"
	subresourceFederated = "federated"
)

func (r Right) attributes() *authorizationv1.ResourceAttributes {
	if r.Peer {
		return &authorizationv1.ResourceAttributes{
			Verb: verbGet, Group: a2av1alpha1.GroupVersion.Group, Resource: resourceAgents, Subresource: subresourceFederated,
		}
	}
	return &authorizationv1.ResourceAttributes{
		Verb: verbList, Group: a2av1alpha1.GroupVersion.Group, Resource: resourceAgents, Namespace: r.Namespace,
	}
}

func (r Right) String() string {
	switch {
	case r.Peer:
		return "to read the agents that peers see"
	case r.Namespace == "":
		return "to list the agents of all namespaces"
	default:
		return "to list the agents of namespace " + r.Namespace
	}
}

// extraCredentialID is the extra attribute with the id of a token (KEP-4193). NewCaller omits it.
// Otherwise, each renewed token would be another caller with reviews of its own.
const extraCredentialID = "authentication.kubernetes.io/credential-id"

// The extra attributes of a token that is bound to a pod on a node (KEP-4193).
const (
	ExtraPodName  = "authentication.kubernetes.io/pod-name"
	ExtraPodUID   = "authentication.kubernetes.io/pod-uid"
	ExtraNodeName = "authentication.kubernetes.io/node-name"
	ExtraNodeUID  = "authentication.kubernetes.io/node-uid"
)

// NewCaller returns the caller that user describes. All pods of a ServiceAccount are one caller:
// they share reviews and decisions.
func NewCaller(user authenticationv1.UserInfo) (Caller, error) { return newCaller(user, false) }

// newCaller does the same as NewCaller if reviewsPods is false. If reviewsPods is true, each pod
// of a ServiceAccount is a caller with decisions of its own.
func newCaller(user authenticationv1.UserInfo, reviewsPods bool) (Caller, error) {
	c := Caller{Username: user.Username, UID: user.UID, Groups: user.Groups, Extra: make(map[string][]string, len(user.Extra))}
	for key, values := range user.Extra {
		if key != extraCredentialID {
			c.Extra[key] = values
		}
	}
	c.namespace = serviceAccountNamespace(user.Username)
	reviewed := c
	reviewed.Extra = c.reviewedExtra(reviewsPods)
	identity, err := json.Marshal(reviewed)
	if err != nil {
		return Caller{}, fmt.Errorf("encode caller: %w", err)
	}
	sum := sha256.Sum256(identity)
	c.fingerprint = string(sum[:])
	return c, nil
}

// reviewedExtra returns the extra attributes that a SubjectAccessReview has.
func (c *Caller) reviewedExtra(reviewsPods bool) map[string][]string {
	if reviewsPods {
		return c.Extra
	}
	reviewed := maps.Clone(c.Extra)
	for _, key := range []string{ExtraPodName, ExtraPodUID, ExtraNodeName, ExtraNodeUID} {
		delete(reviewed, key)
	}
	return reviewed
}

// Namespace returns the namespace of a ServiceAccount, "" for other callers.
func (c *Caller) Namespace() string { return c.namespace }

// ExtraValue returns the extra attribute key if it has exactly one value, else "".
func (c *Caller) ExtraValue(key string) string {
	if values := c.Extra[key]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// serviceAccountNamespace returns the namespace in the user name of a ServiceAccount, and "" for
// any other user name. Every user with such a name counts as the ServiceAccount, regardless of the
// authenticator that returned the name. RBAC does the same.
func serviceAccountNamespace(username string) string {
	rest, found := strings.CutPrefix(username, serviceAccountPrefix)
	namespace, name, whole := strings.Cut(rest, ":")
	if !found || !whole || name == "" {
		return ""
	}
	return namespace
}

// Tenant returns the tenant to which the caller belongs: the namespace of a ServiceAccount, and otherwise the user. Tenants
// share what all callers need, because a user who may create one ServiceAccount can create any number.
func (c *Caller) Tenant() string { return tenantOf(c.Username) }

// tenantOf returns the tenant to which a user belongs: the namespace of a ServiceAccount, and
// otherwise the user. The reviews of tenants take turns. The ServiceAccounts of a namespace share a
// turn, because a user who may create one of them can create any number.
func tenantOf(username string) string {
	if namespace := serviceAccountNamespace(username); namespace != "" {
		return serviceAccountPrefix + namespace
	}
	return username
}

// Sender is what is known about the sender of a token before its review.
type Sender struct {
	// Tenant is the tenant whose turn the review takes: that of the user whom a signed token names,
	// and otherwise the address of the sender.
	Tenant string
	// IsUnknown is true if the keys of the API server are known, and none of them could have signed
	// the token.
	IsUnknown bool
}

// Reviewer sends TokenReviews and SubjectAccessReviews to the API server. It bounds the reviews in
// progress and the waiting ones, and gives each tenant its share of both.
type Reviewer struct {
	client                  client.Writer
	limited                 prometheus.Counter
	tokens, unknown, access queue
	reviewsPods             bool
}

// queue bounds some of the reviews of one kind (TokenReview or SubjectAccessReview), and counts those
// that are sent.
type queue struct {
	slots *fairslots.Slots[string]
	sent  prometheus.Counter
}

// NewReviewer returns a Reviewer that creates reviews with c. It increments limited for each
// ErrTooManyReviews. If reviewsPods is true, a SubjectAccessReview contains the pod and the node of
// the caller, for authorizers that read them, which RBAC does not. Each pod of a ServiceAccount
// then costs reviews of its own.
func NewReviewer(c client.Writer, limited prometheus.Counter, reviewsPods bool) *Reviewer {
	newQueue := func(kind string, pace time.Duration) queue {
		return queue{
			slots: fairslots.New[string](fairslots.Options{Slots: concurrentReviews, PerTenant: tenantReviews, Waiting: waitingReviews, Pace: pace}),
			sent:  reviewsSent.WithLabelValues(kind),
		}
	}
	return &Reviewer{
		client: c, limited: limited, reviewsPods: reviewsPods,
		tokens: newQueue("token", 0), unknown: newQueue("token", unknownPace), access: newQueue("access", 0),
	}
}

// Token returns the caller that a token authenticates. It returns false if the API server does not
// accept the token, or if the token is not for the audience of the registry.
func (r *Reviewer) Token(ctx context.Context, token string, from Sender) (Caller, bool, error) {
	in := r.tokens
	if from.IsUnknown {
		in = r.unknown
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{
		Token: token, Audiences: []string{a2av1alpha1.Audience},
	}}
	if err := r.create(ctx, in, from.Tenant, review); err != nil {
		return Caller{}, false, fmt.Errorf("review token: %w", err)
	}
	// An authenticator that does not support audiences returns none. Its tokens are for the API
	// server, and the sender of such a token may have stolen it. Token therefore refuses these
	// tokens.
	if !review.Status.Authenticated || !slices.Contains(review.Status.Audiences, a2av1alpha1.Audience) {
		return Caller{}, false, nil
	}
	c, err := newCaller(review.Status.User, r.reviewsPods)
	return c, err == nil, err
}

// Allows reports whether the caller has a right.
func (r *Reviewer) Allows(ctx context.Context, c Caller, right Right) (bool, error) {
	attributes := c.reviewedExtra(r.reviewsPods)
	extra := make(map[string]authorizationv1.ExtraValue, len(attributes))
	for key, values := range attributes {
		extra[key] = values
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: c.Username, UID: c.UID, Groups: c.Groups, Extra: extra, ResourceAttributes: right.attributes(),
	}}
	if err := r.create(ctx, r.access, tenantOf(c.Username), review); err != nil {
		return false, fmt.Errorf("review the right %s: %w", right, err)
	}
	return review.Status.Allowed && !review.Status.Denied, nil
}

func (r *Reviewer) create(ctx context.Context, in queue, tenant string, review client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	release, err := in.slots.Acquire(ctx, tenant)
	if errors.Is(err, fairslots.ErrFull) {
		r.limited.Inc()
		return ErrTooManyReviews
	}
	if err != nil {
		return err
	}
	defer release()
	in.sent.Inc()
	return r.client.Create(ctx, review)
}
