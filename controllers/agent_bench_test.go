// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

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
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	a2aevents "github.com/a2a-operator/a2a-operator/internal/events"
)

// shelf is a cluster that takes what is applied, and gives its own objects to
// those who ask for no copies, as a cache does.
type shelf struct {
	client.Client
	scheme  *runtime.Scheme
	objects map[reflect.Type]map[client.ObjectKey]client.Object
	applied int
}

func (s *shelf) Get(_ context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	object, ok := s.objects[reflect.TypeOf(into)][key]
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

func (s *shelf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	pods, ok := list.(*corev1.PodList)
	if !ok {
		return fmt.Errorf("list of %T", list)
	}
	for _, pod := range s.objects[reflect.TypeFor[*corev1.Pod]()] {
		pods.Items = append(pods.Items, *pod.DeepCopyObject().(*corev1.Pod))
	}
	return nil
}

func (s *shelf) put(obj client.Object) {
	kind := reflect.TypeOf(obj)
	if s.objects[kind] == nil {
		s.objects[kind] = map[client.ObjectKey]client.Object{}
	}
	s.objects[kind][client.ObjectKeyFromObject(obj)] = obj
}

// Apply keeps what is not there, and counts.
func (s *shelf) Apply(_ context.Context, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	text, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	var kind metav1.TypeMeta
	if err := json.Unmarshal(text, &kind); err != nil {
		return err
	}
	into, err := s.scheme.New(kind.GroupVersionKind())
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
	s.applied++
	object.SetResourceVersion(fmt.Sprint(s.applied))
	s.put(object)
	return nil
}

// shelfStatus takes that of the Agent.
type shelfStatus struct {
	client.SubResourceWriter
	agent   *a2av1alpha1.Agent
	written *int
}

func (s *shelf) Status() client.SubResourceWriter {
	return &shelfStatus{agent: s.objects[reflect.TypeFor[*a2av1alpha1.Agent]()][client.ObjectKey{Namespace: "ns", Name: "echo"}].(*a2av1alpha1.Agent), written: &s.applied}
}

func (s *shelfStatus) Apply(_ context.Context, obj runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	text, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	*s.written++
	s.agent.ResourceVersion = fmt.Sprint(*s.written)
	return json.Unmarshal(text, s.agent)
}

// BenchmarkConverged is a look at an Agent that is as it should be, without the
// queue and the cache around it: the first one of a manager, and any other.
func BenchmarkConverged(b *testing.B) {
	b.Run("first", func(b *testing.B) {
		l := newShelved(b, makeAgent("ns", "echo"))
		l.bench(b, l.first)
	})
	b.Run("again", func(b *testing.B) {
		l := newShelved(b, makeAgent("ns", "echo"))
		l.bench(b, l.again)
	})
}

// TestMistakeIsJudgedOnce looks at an Agent of which no objects can be made: to
// find that out costs no less than to make them.
func TestMistakeIsJudgedOnce(t *testing.T) {
	l := newShelved(t, makeAgent("ns", "echo", func(a *a2av1alpha1.Agent) {
		for i := range 100 {
			id := fmt.Sprintf("skill-%d", i)
			a.Spec.Skills = append(a.Spec.Skills, a2av1alpha1.Skill{ID: a2av1alpha1.SkillID(id), SkillDetails: a2av1alpha1.SkillDetails{Name: id, Description: id, Tags: []string{id}}})
		}
		a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "missing"}}
	}))
	programmed := meta.FindStatusCondition(l.agent().Status.Conditions, a2av1alpha1.ConditionProgrammed)
	if programmed == nil || programmed.Status != metav1.ConditionFalse {
		t.Fatalf("Programmed is %v, want one that is false", programmed)
	}
	first, again := testing.AllocsPerRun(10, l.first), testing.AllocsPerRun(10, l.again)
	if again > first/2 {
		t.Errorf("another look allocates %v times, the first one %v times", again, first)
	}
}

// shelved is an Agent on a shelf, and who looks at it.
type shelved struct {
	*shelf
	tb  testing.TB
	key client.ObjectKey
	r   *AgentReconciler
}

// newShelved returns one that was looked at until there was nothing to write.
func newShelved(tb testing.TB, agent *a2av1alpha1.Agent) *shelved {
	tb.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), a2av1alpha1.AddToScheme(scheme)); err != nil {
		tb.Fatal(err)
	}
	agent.UID, agent.Generation = "uid", 1
	s := &shelf{scheme: scheme, objects: map[reflect.Type]map[client.ObjectKey]client.Object{}}
	s.put(agent)
	l := &shelved{shelf: s, tb: tb, key: client.ObjectKeyFromObject(agent), r: NewAgentReconciler(AgentConfig{
		Client:   s,
		Issuer:   &keys{issuer: &clusterstate.Issuer{URL: "https://issuer.example", Keys: []byte(`{"keys":[{"kid":"1"}]}`)}},
		Remote:   &cards{},
		Optional: offered{},
		Events:   a2aevents.NewRecorder(events.NewFakeRecorder(1)),
		Platform: testPlatform,
		Clock:    testingclock.NewFakePassiveClock(time.Now()),
	})}
	l.again()
	l.again()
	return l
}

func (l *shelved) agent() *a2av1alpha1.Agent {
	return l.objects[reflect.TypeFor[*a2av1alpha1.Agent]()][l.key].(*a2av1alpha1.Agent)
}

func (l *shelved) again() {
	if _, err := l.r.look(context.Background(), reconcile.Request{NamespacedName: l.key}); err != nil {
		l.tb.Fatal(err)
	}
}

func (l *shelved) first() {
	l.r.settled.forget(l.key)
	l.again()
}

func (l *shelved) bench(b *testing.B, look func()) {
	before := l.applied
	b.ReportAllocs()
	for b.Loop() {
		look()
	}
	if l.applied != before || before == 0 {
		b.Fatalf("%d writes before, %d after", before, l.applied)
	}
}
