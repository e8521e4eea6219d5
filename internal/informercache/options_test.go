// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// apiServer is a fake API server that records its requests.
type apiServer struct {
	list runtime.Object

	mu sync.Mutex
	// compacted is true if only the last version is available.
	compacted bool
	requests  []string
	watch     *watch.FakeWatcher
}

func (s *apiServer) listWatch() toolscache.ListerWatcher {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.record("list", o)
			if s.compacted && o.ResourceVersion != "" {
				return nil, apierrors.NewResourceExpired("too old")
			}
			return s.list.DeepCopyObject(), nil
		},
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			what := "watch"
			if o.SendInitialEvents != nil && *o.SendInitialEvents {
				what = "stream"
			}
			s.record(what, o)
			s.watch = watch.NewFake()
			return s.watch, nil
		},
	}
}

func (s *apiServer) record(what string, o metav1.ListOptions) {
	s.requests = append(s.requests, fmt.Sprintf("%s version=%q limit=%d", what, o.ResourceVersion, o.Limit))
}

// expire ends the watch with the error that its version is too old. If compact is true, lists that
// name a resource version fail with the same error from now on.
func (s *apiServer) expire(compact bool) {
	s.mu.Lock()
	s.compacted = compact
	w := s.watch
	s.mu.Unlock()
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	w.Error(&expired)
}

// newRequests returns the requests since the last call.
func (s *apiServer) newRequests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// runInformer runs an informer of the manager's cache until the end of the test.
func runInformer(t *testing.T, server *apiServer, kind runtime.Object) toolscache.SharedIndexInformer {
	t.Helper()
	options, err := Options(nil)
	if err != nil {
		t.Fatal(err)
	}
	informer := options.NewInformer(server.listWatch(), kind, 0, toolscache.Indexers{})
	go informer.RunWithContext(t.Context())
	synctest.Wait()
	return informer
}

// backoff is longer than the delay before an informer lists again.
const backoff = 10 * time.Second

// TestOwnKindsAreListed checks that an informer of Agents or AgentSkills begins with a
// consistent list, and never returns to an older version.
func TestOwnKindsAreListed(t *testing.T) {
	t.Parallel()
	list := metav1.ListMeta{ResourceVersion: "7"}
	named := metav1.ObjectMeta{Namespace: "ns", Name: "echo", ResourceVersion: "5"}
	for name, test := range map[string]struct{ kind, list runtime.Object }{
		"Agents":      {&a2av1alpha1.Agent{}, &a2av1alpha1.AgentList{ListMeta: list, Items: []a2av1alpha1.Agent{{ObjectMeta: named}}}},
		"AgentSkills": {&a2av1alpha1.AgentSkill{}, &a2av1alpha1.AgentSkillList{ListMeta: list, Items: []a2av1alpha1.AgentSkill{{ObjectMeta: named}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &apiServer{list: test.list}
				informer := runInformer(t, server, test.kind)
				if !informer.HasSynced() {
					t.Error("the cache is not filled")
				}
				if diff := cmp.Diff([]string{"ns/echo"}, informer.GetStore().ListKeys()); diff != "" {
					t.Error(diff)
				}
				for _, step := range []struct {
					what string
					do   func()
					want []string
				}{
					{"a start", func() {}, []string{`list version="" limit=0`, `watch version="7" limit=0`}},
					{"an expired watch", func() { server.expire(false) }, []string{`list version="7" limit=0`, `watch version="7" limit=0`}},
					{"an expired version", func() { server.expire(true) }, []string{`list version="7" limit=0`, `list version="" limit=0`, `watch version="7" limit=0`}},
				} {
					step.do()
					time.Sleep(backoff)
					if diff := cmp.Diff(step.want, server.newRequests()); diff != "" {
						t.Errorf("after %s: %s", step.what, diff)
					}
				}
			})
		})
	}
}

// TestOtherKindsAreStreamed checks that an informer of another kind requests its initial
// state as a stream (WatchList). A list would be in memory as a whole, and the cluster may
// have many more of these objects than the cache keeps.
func TestOtherKindsAreStreamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &apiServer{list: &corev1.ConfigMapList{}}
		runInformer(t, server, &corev1.ConfigMap{})
		if diff := cmp.Diff([]string{`stream version="" limit=0`}, server.newRequests()); diff != "" {
			t.Error(diff)
		}
	})
}
