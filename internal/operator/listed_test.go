// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

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

// told is an API server that remembers what it was asked for.
type told struct {
	list runtime.Object

	mu sync.Mutex
	// forgot tells that it knows of no version but the last.
	forgot bool
	asked  []string
	watch  *watch.FakeWatcher
}

func (s *told) listWatch() toolscache.ListerWatcher {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.note("list", o)
			if s.forgot && o.ResourceVersion != "" {
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
			s.note(what, o)
			s.watch = watch.NewFake()
			return s.watch, nil
		},
	}
}

func (s *told) note(what string, o metav1.ListOptions) {
	s.asked = append(s.asked, fmt.Sprintf("%s version=%q limit=%d", what, o.ResourceVersion, o.Limit))
}

// expire ends the watch, of which the version is too old by now.
func (s *told) expire(forget bool) {
	s.mu.Lock()
	s.forgot = forget
	w := s.watch
	s.mu.Unlock()
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	w.Error(&expired)
}

// since is what it was asked for since it was asked last.
func (s *told) since() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// informed runs an informer of the manager's cache, until the end of the test.
func informed(t *testing.T, server *told, kind runtime.Object) toolscache.SharedIndexInformer {
	t.Helper()
	options, err := cacheOptions(Defaults())
	if err != nil {
		t.Fatal(err)
	}
	informer := options.NewInformer(server.listWatch(), kind, 0, toolscache.Indexers{})
	go informer.RunWithContext(t.Context())
	synctest.Wait()
	return informer
}

// backoff is more than an informer waits before it lists again.
const backoff = 10 * time.Second

func TestOwnKindsAreListedAsTheyAre(t *testing.T) {
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
				server := &told{list: test.list}
				informer := informed(t, server, test.kind)
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
					// What is seen never goes back behind what was.
					{"a watch that has expired", func() { server.expire(false) }, []string{`list version="7" limit=0`, `watch version="7" limit=0`}},
					{"a version that has expired", func() { server.expire(true) }, []string{`list version="7" limit=0`, `list version="" limit=0`, `watch version="7" limit=0`}},
				} {
					step.do()
					time.Sleep(backoff)
					if diff := cmp.Diff(step.want, server.since()); diff != "" {
						t.Errorf("after %s: %s", step.what, diff)
					}
				}
			})
		})
	}
}

// Of other kinds there may be much more than is kept.
func TestOtherKindsAreStreamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &told{list: &corev1.ConfigMapList{}}
		informed(t, server, &corev1.ConfigMap{})
		if diff := cmp.Diff([]string{`stream version="" limit=0`}, server.since()); diff != "" {
			t.Error(diff)
		}
	})
}
