// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// testPart is the maximum size of a shared part in these tests.
const (
	testPart  = 8 << 10
	testBytes = 8 << 20
)

// deployment returns a Deployment with parts of every Go kind.
func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": "echo", "part-of": "a2a"}
	containers := make([]corev1.Container, 0, 4)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Generation: 3, Labels: labels, Annotations: map[string]string{"of": name},
			CreationTimestamp: metav1.NewTime(time.Unix(1, 0)),
			OwnerReferences:   []metav1.OwnerReference{{Kind: "Agent", Name: name, Controller: new(true)}},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "echo"}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: append(containers, corev1.Container{
				Name: "sidecar", Image: "example/sidecar:1", Args: []string{"serve"},
				Resources:     corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("health")}}},
				Env:           []corev1.EnvVar{{Name: "empty"}, {Name: "word", Value: "a"}},
			})}},
		},
	}
}

func TestInternKeepsTheValue(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]runtime.Object{
		"empty":                    &appsv1.Deployment{},
		"parts of every kind":      deployment("echo"),
		"bytes and empty strings":  &corev1.ConfigMap{BinaryData: map[string][]byte{"a": {1}}, Data: map[string]string{"": "", "a": ""}},
		"bytes of the same length": &corev1.Secret{Data: map[string][]byte{"a": {2}}},
		"empty parts":              &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{}, Selector: map[string]string{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := NewPool(100, testPart, testBytes)
			p.Intern(deployment("another"))
			for range 2 {
				interned := object.DeepCopyObject()
				p.Intern(interned)
				if !reflect.DeepEqual(object, interned) {
					t.Error(cmp.Diff(object, interned))
				}
			}
		})
	}
}

func TestEqualPartsShareMemory(t *testing.T) {
	t.Parallel()
	p := NewPool(1000, testPart, testBytes)
	a, b := deployment("a"), deployment("b")
	b.Spec.Template.Spec.Containers = append(b.Spec.Template.Spec.Containers, corev1.Container{Name: "agent"})
	c := deployment("c")
	c.Spec.Template.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("200m")
	for _, each := range []*appsv1.Deployment{a, b, c} {
		p.Intern(each)
	}
	probe := func(d *appsv1.Deployment) any { return d.Spec.Template.Spec.Containers[0].LivenessProbe }
	containers := func(d *appsv1.Deployment) any { return d.Spec.Template.Spec.Containers }
	resources := func(d *appsv1.Deployment) any { return d.Spec.Template.Spec.Containers[0].Resources.Requests }
	for name, test := range map[string]struct {
		part  func(*appsv1.Deployment) any
		other *appsv1.Deployment
		want  bool
	}{
		"map":                            {func(d *appsv1.Deployment) any { return d.Labels }, b, true},
		"pointer":                        {probe, b, true},
		"number":                         {func(d *appsv1.Deployment) any { return d.Spec.Replicas }, b, true},
		"different map":                  {func(d *appsv1.Deployment) any { return d.Annotations }, b, false},
		"list":                           {containers, deployment("a"), true},
		"longer list":                    {containers, b, false},
		"equal part of a different list": {probe, c, true},
		"different quantity":             {resources, c, false},
		"list with a different quantity": {containers, c, false},
	} {
		if test.other != b && test.other != c {
			p.Intern(test.other)
		}
		if got := reflect.ValueOf(test.part(a)).Pointer() == reflect.ValueOf(test.part(test.other)).Pointer(); got != test.want {
			t.Errorf("%s: shared is %t, want %t", name, got, test.want)
		}
	}
}

func TestInternDropsSpareCapacity(t *testing.T) {
	t.Parallel()
	d := deployment("a")
	NewPool(10, testPart, testBytes).Intern(d)
	if got := cap(d.Spec.Template.Spec.Containers); got != 1 {
		t.Errorf("capacity %d, want 1", got)
	}
}

func TestUnusedPartsAreDropped(t *testing.T) {
	t.Parallel()
	const size = 50
	p := NewPool(size, testPart, testBytes)
	first := deployment("first")
	p.Intern(first)
	labels := reflect.ValueOf(first.Labels).Pointer()
	for i := range 20 * size {
		d := deployment(fmt.Sprint(i))
		if p.Intern(d); reflect.ValueOf(d.Labels).Pointer() != labels {
			t.Fatalf("the labels of every object were dropped at object %d", i)
		}
	}
	if got := len(p.strings.recent) + len(p.strings.older); got > 2*size {
		t.Errorf("the pool has %d strings, want %d at most", got, 2*size)
	}
	if got := len(p.parts.recent) + len(p.parts.older); got > 2*size {
		t.Errorf("the pool has %d parts, want %d at most", got, 2*size)
	}
}

func TestInternIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	p := NewPool(100, testPart, testBytes)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range 100 {
				d := deployment(fmt.Sprint(i))
				want := d.DeepCopy()
				if p.Intern(d); !reflect.DeepEqual(want, d) {
					t.Error(cmp.Diff(want, d))
				}
			}
		})
	}
	wait.Wait()
}

func BenchmarkIntern(b *testing.B) {
	p := NewPool(4<<10, testPart, testBytes)
	objects := make([]*appsv1.Deployment, 1000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		at := i % len(objects)
		if at == 0 {
			b.StopTimer()
			for j := range objects {
				objects[j] = deployment(fmt.Sprint(j))
			}
			b.StartTimer()
		}
		p.Intern(objects[at])
	}
}

// A user may change an object often, and each change may be large: the pool must not hold the
// former content.
func TestPoolHoldsNoLargeParts(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", testPart)
	many := make([]string, testPart/16)
	for i := range many {
		many[i] = "-v"
	}
	for name, change := range map[string]func(*appsv1.Deployment){
		"map":                  func(d *appsv1.Deployment) { d.Annotations["large"] = large },
		"string of a slice":    func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Args[0] = large },
		"string of a struct":   func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = large },
		"string in a pointer":  func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].LivenessProbe.HTTPGet.Path = large },
		"slice of short texts": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Args = many },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := NewPool(1000, testPart, testBytes)
			d := deployment("echo")
			change(d)
			p.Intern(d)
			for _, part := range p.parts.recent {
				if text := fmt.Sprintf("%+v", part.value); len(text) > testPart {
					t.Errorf("the pool holds a %T of %d characters", part, len(text))
				}
			}
			for text := range p.strings.recent {
				if len(text) >= maxString {
					t.Errorf("the pool holds a string of %d bytes", len(text))
				}
			}
			again := deployment("echo")
			change(again)
			p.Intern(again)
			if d.Spec.Selector != again.Spec.Selector {
				t.Error("small parts beside the large one are not shared")
			}
		})
	}
}
