// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access authenticates the callers of the registry and decides which Agents each
// one sees. It asks the API server by TokenReview and SubjectAccessReview, caches
// the answers for a bounded time in bounded memory, and gives each caller its share of the
// reviews. It depends on neither the index nor HTTP responses.
package access

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/sharedcache"
)

// The registry asks the API server who calls and what the caller may list. From the RBAC
// objects, it determines which reviews it needs, and when to repeat them.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings;clusterroles;clusterrolebindings,verbs=list;watch

// wrongTokens is the rate of wrong tokens of one address beyond which limit.Verifications limits how
// often tokens of the address are verified.
var wrongTokens = limit.Rate{PerSecond: 5, Burst: 50}

const (
	// acceptedLifetime and refusedLifetime are how long the registry accepts or refuses a token
	// after its review, without another review.
	acceptedLifetime = 30 * time.Second
	refusedLifetime  = 10 * time.Second
	// knownLifetime is how long a token is known after its review. Its next review has no rate limit, so
	// that a flood of wrong tokens stops no caller at the same address.
	knownLifetime = 10 * time.Minute
	// rememberedTokens bounds the accepted tokens in memory. The same bound applies to the refused
	// tokens.
	rememberedTokens = 4096
	// limitedAddresses bounds the addresses that have a rate limit of their own. All further
	// addresses share one rate limit.
	limitedAddresses = 4096
	// maxToken bounds a token, in bytes.
	maxToken = 16 << 10
)

// acceptedToken is a token that a review has accepted.
type acceptedToken struct {
	caller   Caller
	reviewed time.Time
}

// AuthenticatorOptions configure an Authenticator.
type AuthenticatorOptions struct {
	// Review returns the caller that a token authenticates, and false if the token is not valid.
	Review func(ctx context.Context, token string, from Sender) (Caller, bool, error)
	// Signatures tells forged tokens from others before a review. It may be nil.
	Signatures *Signatures
	Clock      clock.PassiveClock
}

// Authenticator authenticates the callers of requests by their bearer tokens. Concurrent requests
// with the same token share one review (singleflight).
//
// A flood of wrong tokens from the address of a caller must not lock the caller out. The API server
// reviews no token that one of its keys has not signed, and tokens that are signed have slots of their
// own. limit.Verifications bounds the CPU time for signatures.
//
// The methods of an Authenticator are safe for concurrent use, except for AcceptPeople.
type Authenticator struct {
	options AuthenticatorOptions
	// accepted and refused are separate caches, so that refused tokens do not evict accepted ones. The tenants of callers
	// share accepted. The addresses of clients share refused, whose values are the times until which the tokens are refused.
	accepted *sharedcache.Cache[string, tokenDigest, acceptedToken]
	refused  *sharedcache.Cache[a2a.AccountingPrincipal, tokenDigest, time.Time]
	flights  singleflight.Group
	// verifications bounds the verifications of tokens.
	verifications *limit.Verifications
	// people verifies the tokens of the OpenID Connect issuer. It is nil without an issuer.
	people *OIDC
}

// LimitedError is the error for a token that the registry did not verify, because the
// address of its sender has sent too many wrong tokens.
type LimitedError struct{ limit.Refusal }

func (LimitedError) Error() string { return "too many wrong tokens from this address" }

// NewAuthenticator returns an Authenticator without callers.
func NewAuthenticator(o AuthenticatorOptions) *Authenticator {
	return &Authenticator{
		options:       o,
		accepted:      sharedcache.New[string, tokenDigest, acceptedToken](rememberedTokens),
		refused:       sharedcache.New[a2a.AccountingPrincipal, tokenDigest, time.Time](rememberedTokens),
		verifications: limit.NewVerifications(limitedAddresses, wrongTokens),
	}
}

// AcceptPeople makes the Authenticator also accept the tokens of the issuer of o. It verifies these
// tokens with the keys of the issuer, without a TokenReview. AcceptPeople must be called before the
// first request.
func (a *Authenticator) AcceptPeople(o *OIDC) { a.people = o }

// Caller returns the sender of a request, and false if the request has no valid token. It returns a
// LimitedError if the address has sent too many wrong tokens, ErrNoIssuerKeys for a token of the
// OpenID Connect issuer while the keys of the issuer are unknown, and ErrTooManyReviews if too many
// reviews wait. Other errors are those of the review and of the request's context.
func (a *Authenticator) Caller(r *http.Request) (Caller, bool, error) {
	token, found := bearerToken(r)
	if !found {
		return Caller{}, false, nil
	}
	key := digestOf(token)
	accepted, found := a.accepted.Get(key)
	age := a.options.Clock.Since(accepted.reviewed)
	if found && age < acceptedLifetime {
		return accepted.caller, true, nil
	}
	if until, found := a.refused.Get(key); found && a.options.Clock.Now().Before(until) {
		return Caller{}, false, nil
	}
	// The tokens of the issuer are not in accepted and refused. OIDC has its own cache of verified
	// tokens, from which it drops a token when the issuer withdraws the token's key.
	address := a2a.AccountingPrincipalAt(r.RemoteAddr)
	if a.people != nil && a.people.issued(token) {
		person, valid, err := a.person(r, address)
		return person.Caller, valid, err
	}
	return a.ask(r.Context(), key, token, address, found && age < knownLifetime)
}

// Person returns the person who sent a request, and false if the request has no valid token of the issuer of
// AcceptPeople. It returns a LimitedError and ErrNoIssuerKeys as Caller does, and sends no review.
func (a *Authenticator) Person(r *http.Request) (Person, bool, error) {
	token, found := bearerToken(r)
	if !found || !a.people.issued(token) {
		return Person{}, false, nil
	}
	return a.person(r, a2a.AccountingPrincipalAt(r.RemoteAddr))
}

// person verifies a token of the issuer. It limits the verifications of an address that has sent wrong tokens.
func (a *Authenticator) person(r *http.Request, address a2a.AccountingPrincipal) (Person, bool, error) {
	if _, verified := a.people.tokens.VerifiedBefore(r); !verified {
		if err := a.mayVerify(address); err != nil {
			return Person{}, false, err
		}
	}
	person, valid, err := a.people.person(r)
	if !valid && err == nil {
		a.verifications.Fail(address, a.options.Clock.Now())
	}
	return person, valid, err
}

// Pod returns the pod to which the token of a request is bound, by the signature and the claims of the token alone,
// without a TokenReview. It returns false for a token that Caller must authenticate or refuse, and for all tokens of an
// address that has sent too many wrong ones. The pod and the ServiceAccount of the token may not exist any more.
func (a *Authenticator) Pod(r *http.Request) (auth.BoundPod, bool) {
	token, found := bearerToken(r)
	now := a.options.Clock.Now()
	if !found || a.verifications.IsSuspect(a2a.AccountingPrincipalAt(r.RemoteAddr), now) {
		return auth.BoundPod{}, false
	}
	return a.options.Signatures.pod(token, now)
}

// tokenDigest is the digest of a token. The caches contain digests of tokens instead of tokens.
type tokenDigest [sha256.Size]byte

// usualToken is the size of the largest token that digestOf copies to the stack, in bytes. A token
// of a ServiceAccount has about 1 KB.
const usualToken = 1536

func digestOf(token string) tokenDigest {
	var space [usualToken]byte
	return sha256.Sum256(append(space[:0], token...))
}

// mayVerify counts the verification of a token. It returns a LimitedError if the token of the address
// must not be verified now.
func (a *Authenticator) mayVerify(address a2a.AccountingPrincipal) error {
	now := a.options.Clock.Now()
	if !a.verifications.IsSuspect(address, now) {
		return nil
	}
	if refused, ok := a.verifications.Take(address, now); !ok {
		return LimitedError{refused.Refusal(now)}
	}
	return nil
}

func (a *Authenticator) ask(ctx context.Context, key tokenDigest, token string, address a2a.AccountingPrincipal, isKnown bool) (Caller, bool, error) {
	answer := a.flights.DoChan(string(key[:]), func() (any, error) {
		if !isKnown {
			if err := a.mayVerify(address); err != nil {
				return nil, err
			}
		}
		// When the first of several requests with this token is canceled, the review continues for
		// the others. The review has a timeout of its own.
		caller, valid, err := a.verify(context.WithoutCancel(ctx), token, address)
		switch {
		case err != nil:
			return nil, err
		case valid:
			a.accepted.Put(caller.Tenant(), key, acceptedToken{caller, a.options.Clock.Now()}, 1)
			return &caller, nil
		default:
			a.verifications.Fail(address, a.options.Clock.Now())
			a.accepted.Remove(key)
			a.refused.Put(address, key, a.options.Clock.Now().Add(refusedLifetime), 1)
			return (*Caller)(nil), nil
		}
	})
	select {
	case <-ctx.Done():
		return Caller{}, false, ctx.Err()
	case result := <-answer:
		if result.Err != nil {
			return Caller{}, false, result.Err
		}
		if caller := result.Val.(*Caller); caller != nil {
			return *caller, true, nil
		}
		return Caller{}, false, nil
	}
}

// verify returns the caller that a token authenticates, and false if the token is not valid.
func (a *Authenticator) verify(ctx context.Context, token string, address a2a.AccountingPrincipal) (Caller, bool, error) {
	from, plausible := a.options.Signatures.Sender(token, address.Address.String())
	if !plausible {
		return Caller{}, false, nil
	}
	caller, valid, err := a.options.Review(ctx, token, from)
	if valid && err == nil {
		a.options.Signatures.reviewed(token, from, caller)
	}
	return caller, valid, err
}

// bearerToken returns the token in the header Authorization (RFC 6750, section 2.1). It returns
// false if the request does not have exactly one such header, or if the header has no token of at
// most maxToken bytes.
func bearerToken(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != "" && len(token) <= maxToken
}

// Collectors returns the metrics, which all registries of a process share.
func Collectors() []prometheus.Collector { return []prometheus.Collector{reviewsSent, keyFetches} }
