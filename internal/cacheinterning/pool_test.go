// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cacheinterning

import (
	"fmt"
	"reflect"
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

// deployment has something of every kind that a part may be of.
func deployment(name string) *appsv1.Deployment {
	words := map[string]string{"app": "echo", "part-of": "a2a"}
	containers := make([]corev1.Container, 0, 4)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Generation: 3, Labels: words, Annotations: map[string]string{"of": name},
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

func TestAnObjectSaysWhatItSaid(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]runtime.Object{
		"empty":              &appsv1.Deployment{},
		"of every kind":      deployment("echo"),
		"of other bytes":     &corev1.ConfigMap{BinaryData: map[string][]byte{"a": {1}}, Data: map[string]string{"": "", "a": ""}},
		"of the same length": &corev1.Secret{Data: map[string][]byte{"a": {2}}},
		"of empty parts":     &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{}, Selector: map[string]string{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := New(100)
			p.Share(deployment("another"))
			for range 2 {
				shared := object.DeepCopyObject()
				p.Share(shared)
				if !reflect.DeepEqual(object, shared) {
					t.Error(cmp.Diff(object, shared))
				}
			}
		})
	}
}

func TestEqualPartsAreOne(t *testing.T) {
	t.Parallel()
	p := New(1000)
	a, b := deployment("a"), deployment("b")
	b.Spec.Template.Spec.Containers = append(b.Spec.Template.Spec.Containers, corev1.Container{Name: "agent"})
	c := deployment("c")
	c.Spec.Template.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("200m")
	for _, each := range []*appsv1.Deployment{a, b, c} {
		p.Share(each)
	}
	probe := func(d *appsv1.Deployment) any { return d.Spec.Template.Spec.Containers[0].LivenessProbe }
	containers := func(d *appsv1.Deployment) any { return d.Spec.Template.Spec.Containers }
	resources := func(d *appsv1.Deployment) any { return d.Spec.Template.Spec.Containers[0].Resources.Requests }
	for name, test := range map[string]struct {
		part  func(*appsv1.Deployment) any
		other *appsv1.Deployment
		want  bool
	}{
		"a map":                       {func(d *appsv1.Deployment) any { return d.Labels }, b, true},
		"a pointer":                   {probe, b, true},
		"a number":                    {func(d *appsv1.Deployment) any { return d.Spec.Replicas }, b, true},
		"what differs":                {func(d *appsv1.Deployment) any { return d.Annotations }, b, false},
		"a list":                      {containers, deployment("a"), true},
		"a list of which one is more": {containers, b, false},
		"part of what differs":        {probe, c, true},
		"an amount":                   {resources, c, false},
		"what holds it":               {containers, c, false},
	} {
		if test.other != b && test.other != c {
			p.Share(test.other)
		}
		if got := reflect.ValueOf(test.part(a)).Pointer() == reflect.ValueOf(test.part(test.other)).Pointer(); got != test.want {
			t.Errorf("%s: one is %t, want %t", name, got, test.want)
		}
	}
}

func TestAListHasNoRoom(t *testing.T) {
	t.Parallel()
	d := deployment("a")
	New(10).Share(d)
	if got := cap(d.Spec.Template.Spec.Containers); got != 1 {
		t.Errorf("room for %d, want 1", got)
	}
}

func TestWhatIsNotMetIsForgotten(t *testing.T) {
	t.Parallel()
	const size = 50
	p := New(size)
	first := deployment("first")
	p.Share(first)
	labels := reflect.ValueOf(first.Labels).Pointer()
	for i := range 20 * size {
		d := deployment(fmt.Sprint(i))
		if p.Share(d); reflect.ValueOf(d.Labels).Pointer() != labels {
			t.Fatalf("what each object has was forgotten at object %d", i)
		}
	}
	if got := len(p.texts.recent) + len(p.texts.older); got > 2*size {
		t.Errorf("%d texts are known, want %d at most", got, 2*size)
	}
	if got := len(p.parts.recent) + len(p.parts.older); got > 2*size {
		t.Errorf("%d parts are known, want %d at most", got, 2*size)
	}
}

func TestObjectsMayComeAtOnce(t *testing.T) {
	t.Parallel()
	p := New(100)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range 100 {
				d := deployment(fmt.Sprint(i))
				want := d.DeepCopy()
				if p.Share(d); !reflect.DeepEqual(want, d) {
					t.Error(cmp.Diff(want, d))
				}
			}
		})
	}
	wait.Wait()
}

func BenchmarkShare(b *testing.B) {
	p := New(4 << 10)
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
		p.Share(objects[at])
	}
}
