// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/informercache"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// hangingServer is an API server whose lists hang while hangs is true. Its watches continue, so
// that the caches are up to date.
type hangingServer struct {
	client.Reader
	mu     sync.Mutex
	agents map[string]*a2av1alpha1.Agent
	cached map[string]*corev1.ConfigMap
	live   map[string]*corev1.ConfigMap
	hangs  bool
}

func (c *hangingServer) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch o := object.(type) {
	case *a2av1alpha1.Agent:
		*o = *c.agents[key.Name]
	case *corev1.ConfigMap:
		*o = *c.cached[key.Name]
	}
	return nil
}

func (c *hangingServer) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	c.mu.Lock()
	hangs := c.hangs
	c.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	var filter client.ListOptions
	filter.ApplyOptions(options)
	name, _ := filter.FieldSelector.RequiresExactMatch("metadata.name")
	list.(*corev1.ConfigMapList).Items = []corev1.ConfigMap{*c.live[name].DeepCopy()}
	return nil
}

func (c *hangingServer) add(t *testing.T, name string, deleted bool, version string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	agent := testAgent()
	agent.Name, agent.ResourceVersion = name, version
	m := testConfigMap(t, agent, "d")
	m.ResourceVersion = version
	m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}}
	if deleted {
		m.DeletionTimestamp, m.Finalizers = new(metav1.Unix(1, 0)), []string{"example.com/backup"}
	}
	kept, err := informercache.StripForeign(m.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	c.agents[name], c.cached[m.Name], c.live[m.Name] = agent, kept.(*corev1.ConfigMap), m
}

// The feed publishes the changes of other Agents although the API server does not answer the
// lists of 100 ConfigMaps that are being deleted.
func TestHangingListsDoNotDelayOtherAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &hangingServer{agents: map[string]*a2av1alpha1.Agent{}, cached: map[string]*corev1.ConfigMap{}, live: map[string]*corev1.ConfigMap{}}
		const n = 100
		var keys []Key
		for i := range n {
			c.add(t, fmt.Sprintf("a%d", i), true, "7")
			keys = append(keys, Key{"team-a", fmt.Sprintf("a%d", i)})
		}
		c.add(t, "other", false, "7")
		f := NewFeed((&Source{Reader: c, ReadDeleted: readDeleted(c)}).Read, clock.RealClock{}, logr.Discard())
		f.Touch(Revision{7, 7}, append(keys, Key{"team-a", "other"})...)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { f.Run(ctx) })
		time.Sleep(time.Second)
		if f.Current().size != n+1 {
			t.Fatalf("%d agents", f.Current().size)
		}

		c.hangs = true
		for i := range n { // someone annotates the ConfigMaps that are being deleted
			c.add(t, fmt.Sprintf("a%d", i), true, "8")
		}
		f.Touch(Revision{7, 8}, keys...)
		time.Sleep(time.Second) // the batch has begun
		c.add(t, "other", false, "9")
		c.mu.Lock()
		c.agents["other"].Spec.Version = "2"
		c.mu.Unlock()
		start := time.Now()
		f.Touch(Revision{9, 9}, Key{"team-a", "other"})
		before := f.Current().Get(Key{"team-a", "other"})
		for f.Current().Get(Key{"team-a", "other"}) == before && time.Since(start) < time.Hour {
			time.Sleep(100 * time.Millisecond)
		}
		if waited := time.Since(start); waited > 15*time.Second {
			t.Errorf("the change of another Agent was published after %v", waited)
		}
		cancel()
		group.Wait()
	})
}

// A change of an Agent's visibility takes effect although its card cannot be read: the ConfigMap is
// being deleted, and the API server does not answer the list.
func TestVisibilityChangesWithoutTheCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &hangingServer{agents: map[string]*a2av1alpha1.Agent{}, cached: map[string]*corev1.ConfigMap{}, live: map[string]*corev1.ConfigMap{}}
		c.add(t, "a", true, "7")
		c.agents["a"].Spec.Discovery.Visibility = a2av1alpha1.VisibilityFederated
		f := NewFeed((&Source{Reader: c, ReadDeleted: readDeleted(c)}).Read, clock.RealClock{}, logr.Discard())
		key := Key{"team-a", "a"}
		f.Touch(Revision{7, 7}, key)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { f.Run(ctx) })
		time.Sleep(time.Second)
		before := f.Current().Get(key).Visibility
		c.mu.Lock()
		c.hangs = true
		c.mu.Unlock()
		c.add(t, "a", true, "8") // the ConfigMap changes together with the visibility below
		c.mu.Lock()
		c.agents["a"].Spec.Discovery.Visibility = a2av1alpha1.VisibilityCluster
		want := access.VisibilityOf(c.agents["a"])
		c.mu.Unlock()
		f.Withdrawn(Revision{8, 8}, before, key)
		time.Sleep(time.Minute)
		if now := f.Current().Get(key).Visibility; now != want || before == want {
			t.Errorf("a minute later, the registry shows the agent with visibility %v (before %v), want %v", now, before, want)
		}
		cancel()
		group.Wait()
	})
}

func TestConfigMapWithoutCardIsReadOnce(t *testing.T) {
	api := &apiServer{agent: testAgent()}
	api.configMap = testConfigMap(t, api.agent, "d")
	api.configMap.ResourceVersion, api.configMap.Data = "7", nil
	api.configMap.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}}
	api.configMap.DeletionTimestamp, api.configMap.Finalizers = new(metav1.Unix(1, 0)), []string{"example.com/backup"}
	api.sync(t)
	source := &Source{Reader: &cacheOf{api}, ReadDeleted: readDeleted(api)}
	var last *Entry
	for range 5 {
		last, _ = readEcho(t, source, last)
	}
	if api.reads != 1 {
		t.Errorf("%d reads from the API server, want 1", api.reads)
	}
}
