// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reviews is an API server that answers and counts access reviews.
type reviews struct {
	mu sync.Mutex
	// allowed has an entry for each right: "user@namespace", "user@" for all namespaces, or
	// "user@peers".
	allowed map[string]bool
	asked   []string
	err     error
}

func (r *reviews) review(_ context.Context, c Caller, right Right) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return false, r.err
	}
	key := c.Username + "@" + right.Namespace
	if right.Peer {
		key = c.Username + "@peers"
	}
	r.asked = append(r.asked, key)
	return r.allowed[key], nil
}

// take returns the reviews since the last call of take, sorted.
func (r *reviews) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	slices.Sort(asked)
	return asked
}

func (r *reviews) set(key string, allowed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowed[key] = allowed
}

// authorizerFixture is an Authorizer in front of an API server and its RBAC objects.
type authorizerFixture struct {
	*reviews
	bindings   *Bindings
	authorizer *Authorizer
}

func newAuthorizerFixture(candidates func() []string) *authorizerFixture {
	f := &authorizerFixture{reviews: &reviews{allowed: map[string]bool{}}, bindings: NewBindings(clock.RealClock{})}
	f.authorizer = NewAuthorizer(AuthorizerOptions{
		Review: f.review, Bindings: f.bindings, Candidates: candidates, Clock: clock.RealClock{},
	})
	f.bindings.set(clusterRole("viewer", listAgents()))
	return f
}

// bind lets a user list the Agents of a namespace.
func (f *authorizerFixture) bind(name, namespace string) *rbacv1.RoleBinding {
	binding := roleBinding(namespace, "of-"+name, toClusterRole("viewer"), user(name))
	f.set(name+"@"+namespace, true)
	f.bindings.set(binding)
	return binding
}

// expect checks the namespaces that a caller sees, and the reviews for resolving them.
func (f *authorizerFixture) expect(t *testing.T, c Caller, namespaces []string, reviews ...string) *Set {
	t.Helper()
	set, err := f.authorizer.VisibleSet(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(set.Names(), namespaces) {
		t.Errorf("%s sees %q, want %q", c.Username, set.Names(), namespaces)
	}
	if diff := cmp.Diff(reviews, f.take()); diff != "" {
		t.Errorf("reviews (-want +got):\n%s", diff)
	}
	return set
}

func caller(name string) Caller { return Caller{Username: name, fingerprint: name} }

func TestSetOfACallerIsResolvedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAuthorizerFixture(nil)
		f.bind("jane", "b")
		f.bind("jane", "a")
		f.bind("joe", "c")
		set := f.expect(t, caller("jane"), []string{"a", "b"}, "jane@", "jane@a", "jane@b")
		f.expect(t, caller("jane"), []string{"a", "b"})
		if set.All() || !set.Contains("a") || set.Contains("c") {
			t.Errorf("set = %+v", set)
		}
		// A ServiceAccount sees its own namespace without a review.
		bot := Caller{Username: "bot", namespace: "team-a", fingerprint: "bot"}
		f.expect(t, bot, []string{"team-a"}, "bot@")
		// One review is enough for a caller that sees all namespaces.
		f.bind("root", "a")
		f.set("root@", true)
		if set := f.expect(t, caller("root"), nil, "root@"); !set.All() || !set.Contains("c") {
			t.Errorf("set of root = %+v", set)
		}
	})
}

// A search for a hidden agent and a search for an absent agent cause the same reviews,
// because the reviews do not depend on the request.
func TestReviewsDoNotDependOnExistingAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAuthorizerFixture(nil)
		for i := range 40 {
			f.bind("other", fmt.Sprintf("hidden-%d", i))
		}
		f.expect(t, caller("jane"), nil, "jane@")
		f.expect(t, caller("jane"), nil)
	})
}

func TestDeletedBindingHidesItsNamespaceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAuthorizerFixture(nil)
		f.bind("jane", "a")
		binding := f.bind("jane", "b")
		set := f.expect(t, caller("jane"), []string{"a", "b"}, "jane@", "jane@a", "jane@b")
		f.bindings.remove(binding)
		if !set.IsStale(time.Now()) {
			t.Error("the set is not stale")
		}
		next := f.expect(t, caller("jane"), []string{"a"})
		if next.Equal(set) || !next.Equal(next) {
			t.Error("Equal() does not compare the members")
		}
		// A role that loses its rule hides all namespaces of its bindings.
		f.bindings.set(clusterRole("viewer"))
		f.expect(t, caller("jane"), nil)
	})
}

func TestNewBindingCostsItsReviewOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAuthorizerFixture(nil)
		f.bind("jane", "a")
		f.expect(t, caller("jane"), []string{"a"}, "jane@", "jane@a")
		f.bind("jane", "b")
		f.expect(t, caller("jane"), []string{"a", "b"}, "jane@b")
		// A change for another caller causes no review for jane.
		f.bind("joe", "c")
		f.expect(t, caller("jane"), []string{"a", "b"})
	})
}

// The API server may observe a change of RBAC later than the registry does. The Authorizer repeats
// the review that contradicts the RBAC objects, after minContradictedLifetime at the earliest.
func TestReviewOfALaggingAPIServerIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAuthorizerFixture(nil)
		f.bind("jane", "a")
		f.set("jane@a", false)
		f.expect(t, caller("jane"), nil, "jane@", "jane@a")
		f.set("jane@a", true)
		f.expect(t, caller("jane"), nil)
		time.Sleep(minContradictedLifetime)
		synctest.Wait()
		f.expect(t, caller("jane"), []string{"a"}, "jane@a")
	})
}

// If a review allows a right that no RBAC object grants, the Authorizer repeats the review every
// ten seconds.
func TestGrantOfAnotherAuthorizerIsLostWithinTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAuthorizerFixture(nil)
		time.Sleep(time.Hour)
		f.set("jane@", true)
		if set := f.expect(t, caller("jane"), nil, "jane@"); !set.All() {
			t.Error("jane does not see all namespaces")
		}
		f.set("jane@", false)
		time.Sleep(contradictedLifetime)
		synctest.Wait()
		if set := f.expect(t, caller("jane"), nil, "jane@"); set.All() {
			t.Error("jane still sees all namespaces")
		}
	})
}

// With Candidates, the Authorizer also reviews namespaces for which no RBAC object grants a right.
func TestCandidateNamespacesAreReviewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		candidates := []string{"a", "b", "team-a"}
		f := newAuthorizerFixture(func() []string { return candidates })
		time.Sleep(time.Hour)
		f.set("bot@b", true) // by a webhook
		bot := Caller{Username: "bot", namespace: "team-a", fingerprint: "bot"}
		f.expect(t, bot, []string{"b", "team-a"}, "bot@", "bot@a", "bot@b", "bot@peers")
		f.expect(t, bot, []string{"b", "team-a"})
		candidates = append(candidates, "c")
		f.set("bot@b", false)
		time.Sleep(contradictedLifetime)
		synctest.Wait()
		f.expect(t, bot, []string{"team-a"}, "bot@b", "bot@c")
	})
}

// The reviews for one caller do not depend on the number of other callers, whose reviews are more than
// maxDecisions here.
func TestManyCallersDoNotRepeatReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 300
		var candidates []string
		for i := range 1000 {
			candidates = append(candidates, fmt.Sprintf("team-%d", i))
		}
		f := newAuthorizerFixture(func() []string { return candidates })
		time.Sleep(time.Hour)
		for _, want := range []int{callers * (len(candidates) + 2), 0} { // two more rights: all namespaces, and of a peer
			for i := range callers {
				if _, err := f.authorizer.VisibleSet(t.Context(), caller(fmt.Sprint("bot-", i))); err != nil {
					t.Fatal(err)
				}
			}
			if sent := len(f.take()); sent != want {
				t.Errorf("%d reviews, want %d", sent, want)
			}
			time.Sleep(contradictedLifetime)
		}
		if _, total := f.authorizer.callers.byCaller.Size(); total > decisionsOfCaller*callers {
			t.Errorf("the Authorizer holds %d decisions", total)
		}
	})
}

// Callers with 1,000 namespaces and a slow API server delay the search of another caller by its share of the
// reviews only.
func TestCallersShareTheReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const review = 100 * time.Millisecond
		reviewer := newTestReviewer(&apiServer{answer: func(client.Object) error {
			time.Sleep(review)
			return nil
		}})
		f := newAuthorizerFixture(nil)
		for i := range 1000 {
			f.bind("system:serviceaccount:hostile:bot", fmt.Sprintf("team-%d", i))
		}
		for i := range 20 {
			f.bind("jane", fmt.Sprintf("team-%d", i))
		}
		f.authorizer.options.Review = reviewer.Allows
		resolve := func(c Caller) (time.Duration, error) {
			began := time.Now()
			_, err := f.authorizer.VisibleSet(t.Context(), c)
			return time.Since(began), err
		}
		alone, err := resolve(Caller{Username: "jane", fingerprint: "alone"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for pod := range 80 { // with --registry-review-all-namespaces, each pod is a caller
			group.Go(func() {
				c := Caller{Username: "system:serviceaccount:hostile:bot", namespace: "hostile", fingerprint: fmt.Sprint("pod-", pod)}
				for ctx.Err() == nil { // it is refused, or times out, and tries again
					_, _ = f.authorizer.VisibleSet(ctx, c)
					time.Sleep(review)
				}
			})
		}
		time.Sleep(time.Second)
		beside, err := resolve(Caller{Username: "jane", fingerprint: "beside"})
		if err != nil {
			t.Fatal(err)
		}
		if beside > 3*alone {
			t.Errorf("the search took %v beside a hostile namespace, and %v alone", beside, alone)
		}
		t.Logf("%v beside a hostile namespace, and %v alone", beside, alone)
		cancel()
		group.Wait()
		time.Sleep(time.Hour) // for the reviews of resolutions that continue
	})
}

func TestFailedReviewIsReturnedAndRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAuthorizerFixture(nil)
		f.bind("jane", "a")
		down := errors.New("down")
		f.err = down
		if _, err := f.authorizer.VisibleSet(t.Context(), caller("jane")); !errors.Is(err, down) {
			t.Errorf("VisibleSet() error = %v, want %v", err, down)
		}
		f.err = nil
		f.expect(t, caller("jane"), []string{"a"}, "jane@", "jane@a")
		// Decisions that are still valid stay in use after an outage of the API server.
		f.bind("jane", "b")
		f.err = down
		if _, err := f.authorizer.VisibleSet(t.Context(), caller("jane")); !errors.Is(err, down) {
			t.Errorf("VisibleSet() error = %v, want %v", err, down)
		}
		f.err = nil
		f.expect(t, caller("jane"), []string{"a", "b"}, "jane@b")
	})
}

func TestConcurrentRequestsShareReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAuthorizerFixture(nil)
		f.bind("jane", "a")
		slow := f.authorizer.options.Review
		f.authorizer.options.Review = func(ctx context.Context, c Caller, right Right) (bool, error) {
			time.Sleep(time.Second)
			return slow(ctx, c, right)
		}
		left, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := f.authorizer.VisibleSet(left, caller("jane")); !errors.Is(err, context.Canceled) {
				t.Errorf("error of a client that left = %v", err)
			}
		})
		synctest.Wait()
		for range 20 {
			group.Go(func() {
				if set, err := f.authorizer.VisibleSet(t.Context(), caller("jane")); err != nil || !set.Contains("a") {
					t.Errorf("VisibleSet() = %v, %v", set, err)
				}
			})
		}
		synctest.Wait()
		leave()
		group.Wait()
		if diff := cmp.Diff([]string{"jane@", "jane@a"}, f.take()); diff != "" {
			t.Errorf("reviews (-want +got):\n%s", diff)
		}
	})
}

// A change of RBAC during a resolution makes its set stale from the start.
func TestChangeDuringAResolutionIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAuthorizerFixture(nil)
		binding := f.bind("jane", "a")
		fast := f.authorizer.options.Review
		f.authorizer.options.Review = func(ctx context.Context, c Caller, right Right) (bool, error) {
			if right.Namespace == "a" {
				f.bindings.remove(binding)
			}
			return fast(ctx, c, right)
		}
		set, err := f.authorizer.VisibleSet(t.Context(), caller("jane"))
		if err != nil || !set.IsStale(time.Now()) {
			t.Errorf("VisibleSet() = %+v, %v; want a stale set", set, err)
		}
		f.take()
		f.expect(t, caller("jane"), nil)
	})
}

// As in benchmark row R8, 100 callers search every second, here for two hours. Each may list the
// Agents of 4 of 1,000 namespaces, while bindings are created and deleted.
func TestSteadyStateCostsAtMostOneReviewASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAuthorizerFixture(nil)
		const callers, namespaces, each = 100, 1000, 4
		random := rand.New(rand.NewPCG(1, 2))
		for i := range callers {
			for range each {
				f.bind(fmt.Sprint("user-", i), fmt.Sprint("namespace-", random.IntN(namespaces)))
			}
		}
		search := func() {
			for i := range callers {
				if _, err := f.authorizer.VisibleSet(t.Context(), caller(fmt.Sprint("user-", i))); err != nil {
					t.Fatal(err)
				}
			}
		}
		search()
		first := len(f.take())
		const seconds = 7200
		for second := range seconds {
			if second%10 == 0 {
				f.bindings.remove(f.bind("somebody-else", fmt.Sprint("namespace-", second%namespaces)))
			}
			time.Sleep(time.Second)
			synctest.Wait()
			search()
		}
		reviews := float64(len(f.take())) / seconds
		t.Logf("%d reviews at first, then %.2f per second", first, reviews)
		if first > callers*(1+each) || reviews > 1 {
			t.Errorf("%d reviews at first, then %.2f per second; want at most %d and 1", first, reviews, callers*(1+each))
		}
	})
}

// The holder of a set, such as a watch, can use the set after its caller was evicted, and is
// still notified of a change of RBAC objects.
func TestSetOutlivesTheEvictionOfItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAuthorizerFixture(nil)
		binding := f.bind("first", "a")
		set := f.expect(t, caller("first"), []string{"a"}, "first@", "first@a")
		for i := range maxCallers {
			if _, err := f.authorizer.VisibleSet(t.Context(), caller(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		k := f.authorizer.callers
		first, found := k.byCaller.Get(caller("first").fingerprint)
		if entries, _ := k.byCaller.Size(); entries != maxCallers || found {
			t.Errorf("%d callers, of the first %v", entries, first)
		}
		big := map[Right]decision{}
		for i := range maxDecisions {
			big[Right{Namespace: fmt.Sprint(i)}] = decision{}
		}
		c := caller("big")
		k.put(&c, nil, big, denials{})
		if entries, cost := k.byCaller.Size(); entries > maxCallers || cost > maxDecisions {
			t.Errorf("%d callers, %d decisions beside a caller of %d", entries, cost, maxDecisions)
		}
		if set.IsStale(time.Now()) {
			t.Error("the eviction of its caller made a set stale")
		}
		f.bindings.remove(binding)
		if !set.IsStale(time.Now()) {
			t.Error("a set whose caller was evicted does not notice a change of RBAC objects")
		}
	})
}

// A peer sees the federated agents of every namespace while an RBAC object and a review allow it.
func TestPeerSeesFederatedAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAuthorizerFixture(nil)
		f.bindings.set(clusterRole("peer", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"a2a-operator.dev"}, Resources: []string{"agents/federated"}}))
		f.set("far@peers", true)
		set := f.expect(t, caller("far"), nil, "far@")
		if set.Minimum() != VisibilityPublic || set.Sees("a", VisibilityFederated) || !set.Sees("a", VisibilityPublic) {
			t.Errorf("the set without a binding = %+v, want public agents", set)
		}
		// A RoleBinding in a namespace does not grant the right of a peer.
		f.bindings.set(roleBinding("a", "far", toClusterRole("peer"), user("far")))
		f.expect(t, caller("far"), nil)
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "far"}, RoleRef: toClusterRole("peer"), Subjects: []rbacv1.Subject{user("far")}}
		f.bindings.set(binding)
		peer := f.expect(t, caller("far"), nil, "far@peers")
		if !peer.Sees("a", VisibilityFederated) || peer.Sees("a", VisibilityCluster) || peer.Equal(set) {
			t.Errorf("the set of a peer = %+v, want federated agents", peer)
		}
		f.bindings.remove(binding)
		if set := f.expect(t, caller("far"), nil); set.Sees("a", VisibilityFederated) {
			t.Error("a peer whose binding is gone sees federated agents")
		}
	})
}
