// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reconcile_test measures reconciles of an Agent in sync, without a cluster: the cache
// is a map, and writes change it.
package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/controllers"
	"github.com/a2a-operator/a2a-operator/internal/operator/desired"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// fakeCluster stores applied objects. Like an informer cache, it returns the stored object to
// callers that want no copy.
type fakeCluster struct {
	client.Client
	scheme  *runtime.Scheme
	objects map[reflect.Type]map[client.ObjectKey]client.Object
	writes  int
}

func (c *fakeCluster) Get(_ context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	object, ok := c.objects[reflect.TypeOf(into)][key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	var options client.GetOptions
	options.ApplyOptions(o)
	if options.UnsafeDisableDeepCopy == nil || !*options.UnsafeDisableDeepCopy {
		object = object.DeepCopyObject().(client.Object)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(object).Elem())
	return nil
}

func (c *fakeCluster) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	pods, ok := list.(*corev1.PodList)
	if !ok {
		return fmt.Errorf("list of %T", list)
	}
	for _, pod := range c.objects[reflect.TypeFor[*corev1.Pod]()] {
		pods.Items = append(pods.Items, *pod.DeepCopyObject().(*corev1.Pod))
	}
	return nil
}

func (c *fakeCluster) put(obj client.Object) {
	kind := reflect.TypeOf(obj)
	if c.objects[kind] == nil {
		c.objects[kind] = map[client.ObjectKey]client.Object{}
	}
	c.objects[kind][client.ObjectKeyFromObject(obj)] = obj
}

// Apply stores the object in place of the former one, and counts the write.
func (c *fakeCluster) Apply(_ context.Context, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	text, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	var kind metav1.TypeMeta
	if err := json.Unmarshal(text, &kind); err != nil {
		return err
	}
	into, err := c.scheme.New(kind.GroupVersionKind())
	if err != nil {
		return err
	}
	object, ok := into.(client.Object)
	if !ok {
		return errors.New("not an object")
	}
	if err := json.Unmarshal(text, object); err != nil {
		return err
	}
	c.writes++
	object.SetResourceVersion(fmt.Sprint(c.writes))
	c.put(object)
	return nil
}

// fakeStatus stores the status of the Agent.
type fakeStatus struct {
	client.SubResourceWriter
	agent  *a2av1alpha1.Agent
	writes *int
}

func (c *fakeCluster) Status() client.SubResourceWriter {
	return &fakeStatus{agent: c.objects[reflect.TypeFor[*a2av1alpha1.Agent]()][agentKey].(*a2av1alpha1.Agent), writes: &c.writes}
}

func (s *fakeStatus) Apply(_ context.Context, obj runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	text, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	*s.writes++
	s.agent.ResourceVersion = fmt.Sprint(*s.writes)
	return json.Unmarshal(text, s.agent)
}

// BenchmarkInSync reconciles an Agent in sync, without the manager's queue and cache. It measures the first reconcile
// in a manager, and the later ones.
func BenchmarkInSync(b *testing.B) {
	b.Run("first", func(b *testing.B) {
		f := newFixture(b, newAgent())
		f.bench(b, f.reconcileFirst)
	})
	b.Run("again", func(b *testing.B) {
		f := newFixture(b, newAgent())
		f.bench(b, f.reconcileAgain)
	})
}

// TestUnchangedUserErrorIsRenderedOnce checks that an Agent with a mistake in its spec is rendered by the first
// reconcile only, while nothing changes.
func TestUnchangedUserErrorIsRenderedOnce(t *testing.T) {
	agent := newAgent()
	for i := range 100 {
		id := fmt.Sprintf("skill-%d", i)
		agent.Spec.Skills = append(agent.Spec.Skills, a2av1alpha1.Skill{ID: a2av1alpha1.SkillID(id), SkillDetails: a2av1alpha1.SkillDetails{Name: id, Description: id, Tags: []string{id}}})
	}
	agent.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "missing"}}
	f := newFixture(t, agent)
	programmed := meta.FindStatusCondition(f.agent().Status.Conditions, a2av1alpha1.ConditionProgrammed)
	if programmed == nil || programmed.Status != metav1.ConditionFalse {
		t.Fatalf("Programmed is %v, want one that is false", programmed)
	}
	first, again := testing.AllocsPerRun(10, f.reconcileFirst), testing.AllocsPerRun(10, f.reconcileAgain)
	if again > first/2 {
		t.Errorf("another reconcile allocates %v times, the first one %v times", again, first)
	}
}

var agentKey = client.ObjectKey{Namespace: "ns", Name: "echo"}

func newAgent() *a2av1alpha1.Agent {
	return &a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: agentKey.Namespace, Name: agentKey.Name, UID: "uid", Generation: 1},
		Spec: a2av1alpha1.AgentSpec{
			Description: "Repeats what it is told.",
			Workload: &a2av1alpha1.AgentWorkload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "agent", Image: "example/echo:1"}},
			}}},
		},
	}
}

// fixture is an Agent in a fake cluster, and its reconciler.
type fixture struct {
	*fakeCluster
	tb         testing.TB
	config     controllers.AgentConfig
	reconciler *controllers.AgentReconciler
}

// newFixture returns a fixture whose Agent was reconciled until nothing was written.
func newFixture(tb testing.TB, agent *a2av1alpha1.Agent) *fixture {
	tb.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), a2av1alpha1.AddToScheme(scheme)); err != nil {
		tb.Fatal(err)
	}
	c := &fakeCluster{scheme: scheme, objects: map[reflect.Type]map[client.ObjectKey]client.Object{}}
	c.put(agent)
	f := &fixture{fakeCluster: c, tb: tb, config: controllers.AgentConfig{
		Client:   c,
		Gather:   gather.Gatherer{Issuer: issuer{}, Remote: noRemoteCards{}, Optional: noOptionalKinds{}},
		Events:   events.NewFakeRecorder(1),
		Platform: desired.Platform{SidecarImage: "example/sidecar:1", ClusterDomain: "cluster.local", RegistryURL: "http://registry.a2a.svc.cluster.local"},
		Clock:    testingclock.NewFakePassiveClock(time.Now()),
	}}
	f.reconciler = controllers.NewAgentReconciler(f.config)
	f.reconcileAgain()
	f.reconcileAgain()
	return f
}

func (f *fixture) agent() *a2av1alpha1.Agent {
	return f.objects[reflect.TypeFor[*a2av1alpha1.Agent]()][agentKey].(*a2av1alpha1.Agent)
}

func (f *fixture) reconcileAgain() {
	if _, err := f.reconciler.ReconcileRequest(context.Background(), reconcile.Request{NamespacedName: agentKey}); err != nil {
		f.tb.Fatal(err)
	}
}

// reconcileFirst reconciles like a manager that has just started.
func (f *fixture) reconcileFirst() {
	f.reconciler = controllers.NewAgentReconciler(f.config)
	f.reconcileAgain()
}

// bench measures reconciles and fails if one of them writes.
func (f *fixture) bench(b *testing.B, reconcile func()) {
	before := f.writes
	b.ReportAllocs()
	for b.Loop() {
		reconcile()
	}
	if f.writes != before || before == 0 {
		b.Fatalf("%d writes before, %d after", before, f.writes)
	}
}

type issuer struct{}

var clusterIssuer = &state.Issuer{URL: "https://issuer.example", Keys: []byte(`{"keys":[{"kid":"1"}]}`)}

func (issuer) Current() *state.Issuer { return clusterIssuer }

type noRemoteCards struct{}

func (noRemoteCards) LastRead(*a2av1alpha1.Agent) *state.Remote { return nil }

func (noRemoteCards) LastResult(types.NamespacedName) *state.Remote { return nil }

func (noRemoteCards) AgentDeleted(types.NamespacedName) {}

type noOptionalKinds struct{}

func (noOptionalKinds) Reader(schema.GroupResource) client.Reader { return nil }

func (noOptionalKinds) Unreadable(schema.GroupResource) string { return "" }
