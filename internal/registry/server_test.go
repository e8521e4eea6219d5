// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// fakeCache reads from a fake client. The test sends its events.
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

// apiServer accepts every token as one of a ServiceAccount of team-a.
type apiServer struct{ client.Writer }

func (*apiServer) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if review, ok := o.(*authenticationv1.TokenReview); ok {
		review.Status = authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: []string{a2av1alpha1.Audience},
			User: authenticationv1.UserInfo{Username: "system:serviceaccount:team-a:bot"},
		}
	}
	return nil
}

func newClient(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), a2av1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// A registry serves an agent after its event, and ends with its context.
func TestServerServesAgentsOfTheCache(t *testing.T) {
	agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "echo"}}
	objects := newClient(t, agent)
	agents, configs := controllertest.NewFakeInformer(), controllertest.NewFakeInformer()
	cache := &fakeCache{
		FakeInformers: &informertest.FakeInformers{
			Scheme: objects.Scheme(),
			InformersByGVK: map[schema.GroupVersionKind]toolscache.SharedIndexInformer{
				a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind): agents,
				corev1.SchemeGroupVersion.WithKind("ConfigMap"):          configs,
			},
		},
		reader: objects,
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = listener.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	server := New(Options{
		BindAddress: listener.Addr().String(), Cache: cache, Log: logr.Discard(),
		Reviews: &apiServer{},
	})
	if server.NeedLeaderElection() {
		t.Error("the registry waits to become the leader")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()

	url := "http://" + listener.Addr().String()
	waitFor(t, func() error { return status(t, url+"/healthz", "", http.StatusOK) })
	if err := status(t, url+"/v1/agents", "token", http.StatusServiceUnavailable); err != nil || server.Ready(nil) == nil {
		t.Errorf("before the first index: %v, ready: %v", err, server.Ready(nil))
	}
	agents.Synced()
	configs.Synced()
	waitFor(t, func() error { return server.Ready(nil) })
	if err := status(t, url+"/v1/agents/team-a/echo", "token", http.StatusNotFound); err != nil {
		t.Error(err)
	}
	agents.Add(agent)
	waitFor(t, func() error { return status(t, url+"/v1/agents/team-a/echo", "token", http.StatusOK) })

	stop()
	if err := <-ended; err != nil {
		t.Errorf("Start() error = %v", err)
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
