// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// apiServer answers reviews.
type apiServer struct {
	client.Writer
	answer func(client.Object) error
}

func (s *apiServer) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	return s.answer(o)
}

func newTestReviewer(s *apiServer) *Reviewer {
	return NewReviewer(s, prometheus.NewCounter(prometheus.CounterOpts{Name: "limited_total", Help: "Reviews that were not sent."}), false)
}

func TestReviewToken(t *testing.T) {
	tests := map[string]struct {
		status authenticationv1.TokenReviewStatus
		want   bool
		home   string
	}{
		"ServiceAccount": {authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: []string{"a2a-operator.dev"},
			User: authenticationv1.UserInfo{Username: "system:serviceaccount:team-a:bot", Groups: []string{"g"}},
		}, true, "team-a"},
		"a user": {authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: []string{"a2a-operator.dev"}, User: authenticationv1.UserInfo{Username: "jane"},
		}, true, ""},
		"meant for the API server": {authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: []string{"https://kubernetes.default.svc"},
		}, false, ""},
		"of an Authenticator without audiences": {authenticationv1.TokenReviewStatus{Authenticated: true}, false, ""},
		"nobody":                                {authenticationv1.TokenReviewStatus{Error: "expired"}, false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newTestReviewer(&apiServer{answer: func(o client.Object) error {
				review := o.(*authenticationv1.TokenReview)
				want := authenticationv1.TokenReviewSpec{Token: "token", Audiences: []string{"a2a-operator.dev"}}
				if diff := cmp.Diff(want, review.Spec); diff != "" {
					t.Errorf("question (-want +got):\n%s", diff)
				}
				review.Status = tt.status
				return nil
			}})
			caller, valid, err := r.Token(t.Context(), "token", Sender{})
			if err != nil || valid != tt.want || caller.namespace != tt.home {
				t.Errorf("token() = namespace %q, %t, %v; want %q, %t", caller.namespace, valid, err, tt.home, tt.want)
			}
		})
	}
}

func TestReviewAccess(t *testing.T) {
	for name, test := range map[string]struct {
		right       Right
		reviewsPods bool
		attributes  authorizationv1.ResourceAttributes
		extra       map[string]authorizationv1.ExtraValue
	}{
		"a namespace": {
			Right{Namespace: "team-a"},
			false,
			authorizationv1.ResourceAttributes{Verb: "list", Group: "a2a-operator.dev", Resource: "agents", Namespace: "team-a"},
			map[string]authorizationv1.ExtraValue{"k": {"v"}},
		},
		"a peer": {
			Right{Peer: true},
			false,
			authorizationv1.ResourceAttributes{Verb: "get", Group: "a2a-operator.dev", Resource: "agents", Subresource: "federated"},
			map[string]authorizationv1.ExtraValue{"k": {"v"}},
		},
		"all namespaces, with the pod": {
			Right{},
			true,
			authorizationv1.ResourceAttributes{Verb: "list", Group: "a2a-operator.dev", Resource: "agents"},
			map[string]authorizationv1.ExtraValue{"k": {"v"}, ExtraPodName: {"bot-1"}, ExtraNodeName: {"node-1"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestReviewer(&apiServer{answer: func(o client.Object) error {
				review := o.(*authorizationv1.SubjectAccessReview)
				want := authorizationv1.SubjectAccessReviewSpec{
					User: "jane", UID: "7", Groups: []string{"dev"}, Extra: test.extra, ResourceAttributes: &test.attributes,
				}
				if diff := cmp.Diff(want, review.Spec); diff != "" {
					t.Errorf("question (-want +got):\n%s", diff)
				}
				review.Status.Allowed = true
				return nil
			}})
			r.reviewsPods = test.reviewsPods
			c := Caller{Username: "jane", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{
				"k": {"v"}, ExtraPodName: {"bot-1"}, ExtraNodeName: {"node-1"},
			}}
			if allowed, err := r.Allows(t.Context(), c, test.right); !allowed || err != nil {
				t.Errorf("Allows() = %t, %v; want true", allowed, err)
			}
		})
	}
}

// The tokens and the pods of one ServiceAccount share their reviews, unless a review contains
// the pod.
func TestPodsOfAServiceAccountShareTheirReviews(t *testing.T) {
	newPod := func(token, pod, node string, reviewsPods bool) Caller {
		t.Helper()
		c, err := newCaller(authenticationv1.UserInfo{Username: "system:serviceaccount:team-a:bot", Extra: map[string]authenticationv1.ExtraValue{
			extraCredentialID: {token}, ExtraPodName: {pod}, ExtraPodUID: {pod}, ExtraNodeName: {node}, ExtraNodeUID: {node},
		}}, reviewsPods)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, reviewsPods := range []bool{false, true} {
		first := newPod("JTI=1", "bot-1", "node-1", reviewsPods)
		if renewed := newPod("JTI=2", "bot-1", "node-1", reviewsPods); first.fingerprint != renewed.fingerprint {
			t.Errorf("reviews with pods %t: a renewed token is another caller", reviewsPods)
		}
		if other := newPod("JTI=3", "bot-2", "node-2", reviewsPods); (first.fingerprint == other.fingerprint) == reviewsPods {
			t.Errorf("reviews with pods %t: another pod is the same caller: %t", reviewsPods, !reviewsPods)
		}
		if _, found := first.Extra[extraCredentialID]; found || first.ExtraValue(ExtraPodName) != "bot-1" {
			t.Errorf("extra = %v", first.Extra)
		}
	}
}

func TestServiceAccountNamespace(t *testing.T) {
	for name, want := range map[string]string{
		"system:serviceaccount:team-a:bot": "team-a",
		"system:serviceaccount:team-a:":    "",
		"system:serviceaccount:team-a":     "",
		"system:node:team-a:bot":           "",
		"jane":                             "",
	} {
		if got := serviceAccountNamespace(name); got != want {
			t.Errorf("serviceAccountNamespace(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestReviewsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		r := newTestReviewer(&apiServer{answer: func(client.Object) error {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			return nil
		}})
		var group sync.WaitGroup
		var timedOut atomic.Int32
		for i := range 10 * concurrentReviews {
			group.Go(func() {
				if _, _, err := r.Token(context.Background(), "t", Sender{Tenant: strconv.Itoa(i)}); errors.Is(err, context.DeadlineExceeded) {
					timedOut.Add(1)
				}
			})
		}
		group.Wait()
		if most.Load() != concurrentReviews || timedOut.Load() == 0 {
			t.Errorf("%d reviews at once, %d gave up; want %d and some", most.Load(), timedOut.Load(), concurrentReviews)
		}
	})
}

func requestWith(authorization ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header["Authorization"] = authorization
	return r
}

func TestAuthenticatorCachesReviews(t *testing.T) {
	now := testclock.NewFakePassiveClock(time.Unix(0, 0))
	asked := 0
	a := NewAuthenticator(AuthenticatorOptions{Clock: now, Review: func(_ context.Context, token string, _ Sender) (Caller, bool, error) {
		asked++
		return Caller{Username: "u"}, token == "good", nil
	}})
	check := func(token string, valid bool, wantAsked int) {
		t.Helper()
		_, got, err := a.Caller(requestWith("Bearer " + token))
		if got != valid || err != nil || asked != wantAsked {
			t.Errorf("at %s: caller(%s) = %t, %v after %d reviews; want %t after %d", now.Now().UTC().Format("05s"), token, got, err, asked, valid, wantAsked)
		}
	}
	check("good", true, 1)
	check("good", true, 1)
	check("bad", false, 2)
	check("bad", false, 2)
	now.SetTime(time.Unix(10, 1))
	check("good", true, 2)
	check("bad", false, 3)
	now.SetTime(time.Unix(30, 1))
	check("good", true, 4)
}

func TestConcurrentAuthenticationsShareOneReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		a := NewAuthenticator(AuthenticatorOptions{Clock: clock.RealClock{}, Review: func(ctx context.Context, _ string, _ Sender) (Caller, bool, error) {
			asked.Add(1)
			time.Sleep(time.Second)
			return Caller{}, true, ctx.Err()
		}})
		impatient, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, _, err := a.Caller(requestWith("Bearer t").WithContext(impatient)); !errors.Is(err, context.Canceled) {
				t.Errorf("caller() of a client that left: error = %v", err)
			}
		})
		synctest.Wait()
		for range 50 {
			group.Go(func() {
				if _, valid, err := a.Caller(requestWith("Bearer t")); !valid || err != nil {
					t.Errorf("caller() = %t, %v; want true", valid, err)
				}
			})
		}
		synctest.Wait()
		cancel()
		group.Wait()
		if asked.Load() != 1 {
			t.Errorf("%d reviews, want 1", asked.Load())
		}
	})
}

func TestBearerToken(t *testing.T) {
	for _, header := range [][]string{nil, {""}, {"Bearer"}, {"Bearer  "}, {"Basic dTpw"}, {"Bearer a", "Bearer b"}} {
		if token, found := bearerToken(requestWith(header...)); found {
			t.Errorf("bearerToken(%q) = %q, want none", header, token)
		}
	}
	if token, found := bearerToken(requestWith("bearer abc")); token != "abc" || !found {
		t.Errorf("bearerToken = %q, %t; want abc", token, found)
	}
}

// The tokens of the ServiceAccounts of a namespace evict each other, and not those of other callers.
func TestCachedReviewsAreBounded(t *testing.T) {
	asked := 0
	a := NewAuthenticator(AuthenticatorOptions{Clock: clock.RealClock{}, Review: func(_ context.Context, token string, _ Sender) (Caller, bool, error) {
		asked++
		return Caller{Username: token}, true, nil
	}})
	check := func(token string, wantAsked int) {
		t.Helper()
		if caller, valid, err := a.Caller(requestWith("Bearer " + token)); !valid || err != nil || caller.Username != token || asked != wantAsked {
			t.Errorf("caller(%s) = %s, %t, %v after %d reviews; want one after %d", token, caller.Username, valid, err, asked, wantAsked)
		}
	}
	const crowd = "system:serviceaccount:crowd:"
	check("quiet", 1)
	check(crowd+"used", 2)
	check(crowd+"unused", 3)
	for i := range rememberedTokens - 3 {
		token := crowd + strconv.Itoa(i)
		a.accepted.Put((&Caller{Username: token}).Tenant(), digestOf(token), acceptedToken{}, 1)
	}
	check(crowd+"used", 3)
	for i := range 10 {
		check(crowd+"new"+strconv.Itoa(i), 4+i) // it replaces the least recently used one
	}
	check("quiet", 13)
	check(crowd+"used", 13)
	check(crowd+"unused", 14)
	if n, _ := a.accepted.Size(); n != rememberedTokens {
		t.Errorf("%d cached reviews, want %d", n, rememberedTokens)
	}
	securitypage.Attempts(t, "T-SHARE", rememberedTokens+10)
}
