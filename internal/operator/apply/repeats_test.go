// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// TestWritesThatNeverEnd has a policy that gives an object another value at each write, so that each write causes the event that starts the
// next one. The operator names the field and sends ever fewer writes.
func TestWritesThatNeverEnd(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.ConfigMap, int)
		field  string
	}{
		"a field": {func(c *corev1.ConfigMap, i int) { c.Data["a"] = strconv.Itoa(i + 2) }, "data.a"},
		"a field and another annotation": {func(c *corev1.ConfigMap, i int) {
			c.Data["a"] = "foreign"
			c.Annotations["changed"] = strconv.Itoa(i)
		}, "data.a"},
		"the digest": {func(c *corev1.ConfigMap, i int) { c.Annotations["digest"] = strconv.Itoa(i) }, "metadata.annotations[digest]"},
		"no digest": {func(c *corev1.ConfigMap, i int) {
			delete(c.Annotations, "digest")
			c.Annotations["changed"] = strconv.Itoa(i)
		}, "metadata.annotations[digest]"},
		"an object without data in the cache": {func(c *corev1.ConfigMap, _ int) { c.Data = nil }, "spec"},
		"an object that is too large for the cache": {func(c *corev1.ConfigMap, i int) {
			c.Data = nil
			c.Generation = int64(i + 5)
			state.MarkTooLarge(c, 1<<20)
		}, "spec"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{}
			passive := testingclock.NewFakePassiveClock(time.Now())
			a := New(Config{Writer: w, FieldOwner: "tester", DigestAnnotation: "digest", OwnerLabel: "owner", Clock: passive})
			end := passive.Now().Add(time.Hour)
			for reconciles := 0; passive.Now().Before(end); reconciles++ {
				if reconciles > 1000 {
					t.Fatalf("%d writes in %s", len(w.kinds), time.Hour-end.Sub(passive.Now()))
				}
				now := len(w.kinds)
				current := applied(t)
				current.ResourceVersion = strconv.Itoa(now + 7)
				test.change(current, now)
				w.version = strconv.Itoa(now + 8)
				if current.Generation > 0 {
					w.generation = current.Generation + 1
				}
				result, err := a.Set(t.Context(), owner, Of(configMap(), current))
				if err != nil {
					t.Fatal(err)
				}
				passive.SetTime(passive.Now().Add(max(result.RecheckAfter, 10*time.Millisecond)))
			}
			got, _ := a.Contested(owner.UID)
			if want := []state.Contest{{Kind: "ConfigMap", Name: "cm", Field: test.field}}; !cmp.Equal(want, got) {
				t.Errorf("Contested() = %v", got)
			}
			if n := len(w.kinds); n < 380 || n > 420 {
				t.Errorf("%d writes in an hour", n)
			}
		})
	}
}

// TestPolicyRemovesTheDigest has a policy that removes the annotation at each write, and changes nothing else.
func TestPolicyRemovesTheDigest(t *testing.T) {
	w := &writer{version: "7"}
	a := newApplier(w)
	for range 5 {
		current := applied(t)
		delete(current.Annotations, "digest")
		result, err := a.Set(t.Context(), owner, Of(configMap(), current))
		if err != nil || !result.Undone {
			t.Errorf("Set() = %+v, %v", result, err)
		}
	}
	want := []state.Contest{{Kind: "ConfigMap", Name: "cm", Field: "metadata.annotations[digest]", Undone: true}}
	if got, _ := a.Contested(owner.UID); !cmp.Equal(want, got) || len(w.kinds) != 1 {
		t.Errorf("Contested() = %v after %d writes", got, len(w.kinds))
	}
}

// TestAnnotationsThatNeverEnd has a policy that gives a pod another annotation at each write.
func TestAnnotationsThatNeverEnd(t *testing.T) {
	w := &writer{undo: true}
	passive := testingclock.NewFakePassiveClock(time.Now())
	a := New(Config{Writer: w, FieldOwner: "tester", DigestAnnotation: "digest", OwnerLabel: "owner", Clock: passive})
	for end := passive.Now().Add(time.Hour); passive.Now().Before(end) && len(w.pods) < 1000; {
		w.version = strconv.Itoa(len(w.pods) + 1)
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "1", ResourceVersion: strconv.Itoa(len(w.pods))}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		result, err := a.Annotate(t.Context(), []corev1.Pod{pod}, "key", "value", "tester")
		if err != nil {
			t.Fatal(err)
		}
		passive.SetTime(passive.Now().Add(max(result.RecheckAfter, 10*time.Millisecond)))
	}
	if n := len(w.pods); n < 380 || n > 420 {
		t.Errorf("%d patches in an hour", n)
	}
}

// stored lists the object in the API server, and counts the reads.
type stored struct {
	client.Reader
	object map[string]any
	reads  int
}

func (s *stored) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	s.reads++
	list.(*unstructured.UnstructuredList).Items = []unstructured.Unstructured{{Object: s.object}}
	return nil
}

// TestPolicyChangesLargeObjects has an object of which the cache has no content, and that a write does not change: a policy changes the write
// back. The operator reads it once, and writes it each time nevertheless.
func TestPolicyChangesLargeObjects(t *testing.T) {
	for name, test := range map[string]struct {
		data map[string]any
		want []state.Contest
	}{
		"changed": {map[string]any{"a": "foreign"}, []state.Contest{{Kind: "ConfigMap", Name: "cm", Field: "data.a", Undone: true}}},
		"kept":    {map[string]any{"a": "1", "b": "other"}, nil},
	} {
		w := &writer{version: "7"}
		a := newApplier(w)
		object, err := members(applied(t))
		if err != nil {
			t.Fatal(err)
		}
		object["data"] = test.data
		live := &stored{object: object}
		a.config.Live = live
		for range 3 {
			part := applied(t)
			part.Data = nil
			result, err := a.Set(t.Context(), owner, Of(configMap(), part))
			if err != nil || result.Undone != (test.want != nil) {
				t.Errorf("%s: Set() = %+v, %v", name, result, err)
			}
		}
		if got, _ := a.Contested(owner.UID); !cmp.Equal(test.want, got) || live.reads != 1 || len(w.kinds) != 3 {
			t.Errorf("%s: Contested() = %v after %d reads and %d writes", name, got, live.reads, len(w.kinds))
		}
	}
}
