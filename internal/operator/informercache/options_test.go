// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// apiServer is a fake API server that records its requests.
type apiServer struct {
	list runtime.Object

	mu       sync.Mutex
	requests []string
}

func (s *apiServer) listWatch() toolscache.ListerWatcher {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.record("list", o)
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
			return watch.NewFake(), nil
		},
	}
}

func (s *apiServer) record(what string, o metav1.ListOptions) {
	s.requests = append(s.requests, fmt.Sprintf("%s version=%q limit=%d", what, o.ResourceVersion, o.Limit))
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
func runInformer(t *testing.T, server *apiServer, kind runtime.Object) {
	t.Helper()
	options, err := Options(nil, access.Strip)
	if err != nil {
		t.Fatal(err)
	}
	informer := options.NewInformer(server.listWatch(), kind, 0, toolscache.Indexers{})
	go informer.RunWithContext(t.Context())
	synctest.Wait()
}

// TestKindsAreStreamed checks that an informer requests its initial state as a stream (WatchList). A list
// would be in memory as a whole, and the cluster may have many more of these objects than the cache
// keeps.
func TestKindsAreStreamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ kind, list runtime.Object }{
		"Agents":      {&a2av1alpha1.Agent{}, &a2av1alpha1.AgentList{}},
		"AgentSkills": {&a2av1alpha1.AgentSkill{}, &a2av1alpha1.AgentSkillList{}},
		"ConfigMaps":  {&corev1.ConfigMap{}, &corev1.ConfigMapList{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &apiServer{list: test.list}
				runInformer(t, server, test.kind)
				if diff := cmp.Diff([]string{`stream version="" limit=0`}, server.newRequests()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
