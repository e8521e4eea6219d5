// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/sourceaddress"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

// fakeCache reads from a fake client. The test sends the events of its informers.
type fakeCache struct {
	*informertest.FakeInformers
	reader client.Reader
}

func (c *fakeCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return c.reader.Get(ctx, key, o, opts...)
}

func (c *fakeCache) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	return c.reader.List(ctx, l, opts...)
}

// apiServer accepts every token as a token of one ServiceAccount of team-a, which may list the
// Agents of the namespaces in allowed.
type apiServer struct {
	client.Writer

	mu sync.Mutex
	// allowed has namespaces; "" means all namespaces.
	allowed map[string]bool
	// reviews counts the access reviews.
	reviews int
}

func (s *apiServer) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch review := o.(type) {
	case *authenticationv1.TokenReview:
		review.Status = authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: []string{a2av1alpha1.Audience},
			User: authenticationv1.UserInfo{Username: "system:serviceaccount:team-a:bot"},
		}
	case *authorizationv1.SubjectAccessReview:
		s.reviews++
		review.Status.Allowed = s.allowed[review.Spec.ResourceAttributes.Namespace]
	}
	return nil
}

// takeReviews returns the number of access reviews since the last call.
func (s *apiServer) takeReviews() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	reviews := s.reviews
	s.reviews = 0
	return reviews
}

func newClient(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), rbacv1.AddToScheme(scheme), a2av1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// fakeInformers are informers of all kinds that the registry watches.
type fakeInformers map[schema.GroupVersionKind]*controllertest.FakeInformer

func newFakeInformers() fakeInformers {
	f := fakeInformers{}
	for _, kind := range []schema.GroupVersionKind{
		a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind), corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		rbacv1.SchemeGroupVersion.WithKind("Role"), rbacv1.SchemeGroupVersion.WithKind("ClusterRole"),
		rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
	} {
		f[kind] = controllertest.NewFakeInformer()
	}
	return f
}

// of returns the informer of a kind of a group.
func (f fakeInformers) of(group schema.GroupVersion, kind string) *controllertest.FakeInformer {
	return f[group.WithKind(kind)]
}

func (f fakeInformers) synced() {
	for _, informer := range f {
		informer.Synced()
	}
}

func (f fakeInformers) cache(objects client.Client) *fakeCache {
	informers := map[schema.GroupVersionKind]toolscache.SharedIndexInformer{}
	for kind, informer := range f {
		informers[kind] = informer
	}
	return &fakeCache{
		FakeInformers: &informertest.FakeInformers{Scheme: objects.Scheme(), InformersByGVK: informers},
		reader:        objects,
	}
}

// freeAddress returns an address at which a test may listen.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = listener.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// start runs a registry until the test ends, or stop is called.
func start(t *testing.T, o Options) (server *Server, stop func()) {
	t.Helper()
	o.BindAddress, o.Log = freeAddress(t), logr.Discard()
	server = New(o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Start() error = %v", err)
		}
	})
	t.Cleanup(stop)
	return server, stop
}

// A registry serves an agent after the informer's event, and stops when its context ends.
func TestServerServesAgentsOfTheCache(t *testing.T) {
	agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "echo"}}
	informers := newFakeInformers()
	server, stop := start(t, Options{Cache: informers.cache(newClient(t, agent)), Reviews: &apiServer{}})
	if server.NeedLeaderElection() {
		t.Error("the registry waits to become the leader")
	}
	url := "http://" + server.options.BindAddress
	waitFor(t, func() error { return status(t, url+"/healthz", "", http.StatusOK) })
	if err := status(t, url+"/v1/agents", "token", http.StatusServiceUnavailable); err != nil || server.Ready(nil) == nil {
		t.Errorf("before the first index: %v, ready: %v", err, server.Ready(nil))
	}
	informers.synced()
	waitFor(t, func() error { return server.Ready(nil) })
	if err := status(t, url+"/v1/agents/team-a/echo", "token", http.StatusNotFound); err != nil {
		t.Error(err)
	}
	informers.of(a2av1alpha1.GroupVersion, a2av1alpha1.AgentKind).Add(agent)
	waitFor(t, func() error { return status(t, url+"/v1/agents/team-a/echo", "token", http.StatusOK) })
	stop()
}

// Both listeners limit the clients that a trusted proxy names. The requests exceed the limit of no other client.
func TestTrustedProxies(t *testing.T) {
	proxies := sourceaddress.Proxies{netip.MustParsePrefix("10.8.0.0/24")}
	server := New(Options{
		Cache: newFakeInformers().cache(newClient(t)), Reviews: &apiServer{}, TrustedProxies: proxies, Log: logr.Discard(),
		Publisher: outsidePublisher, Outside: &OutsideOptions{Publisher: outsidePublisher, Memory: 1 << 20},
		Clock: testclock.NewFakePassiveClock(time.Now()),
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	server.feed.Run(ctx) // publishes once
	for name, handler := range map[string]http.Handler{"registry": server.server.Handler, "catalog": server.outside.Handler} {
		send := func(forwardedFor string) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, ard.CatalogPath, http.NoBody)
			r.RemoteAddr = "10.8.0.1:1"
			r.Header.Set("X-Forwarded-For", forwardedFor)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w.Code
		}
		for range 2 * outsideRate.Burst {
			send("198.51.100.7, 192.0.2.1")
		}
		if got := send("198.51.100.8, 192.0.2.1"); got != http.StatusTooManyRequests {
			t.Errorf("%s: beyond the limit of a client = %d, want 429", name, got)
		}
		if got := send("192.0.2.2"); got != http.StatusOK {
			t.Errorf("%s: another client = %d, want 200", name, got)
		}
	}
}

func TestServerFailsWithoutItsAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	objects := newClient(t)
	cache := &fakeCache{FakeInformers: &informertest.FakeInformers{Scheme: objects.Scheme()}}
	server := New(Options{BindAddress: listener.Addr().String(), Cache: cache, Log: logr.Discard()})
	if err := server.Start(t.Context()); err == nil {
		t.Error("Start() on a taken address: no error")
	}
}

func status(t *testing.T, url, token string, want int) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := (&http.Client{Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != want {
		return fmt.Errorf("GET %s = %s, want %d", url, response.Status, want)
	}
	return nil
}

// waitFor polls until done returns nil, for up to 10 s.
func waitFor(t *testing.T, done func() error) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		err := done()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatal(err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
