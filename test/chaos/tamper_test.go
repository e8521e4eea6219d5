// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// repairTime is the longest time of a repair.
const repairTime = 5 * time.Second

const (
	foreignKey   = "example.com/foreign"
	foreignValue = "kept"
	somebodyElse = client.FieldOwner("somebody-else")
)

// repairs counts the edits by hand and holds the times of their repairs.
type repairs struct {
	refused int
	took    []time.Duration
}

// TestTampering is the campaign "tampering" of docs/explanation/reliability.md. It deletes every
// object that an Agent owns, and changes and removes every field that the operator owns, including
// owner references. The operator must repair all of them, and must not change fields of other
// managers.
func TestTampering(t *testing.T) {
	b := newBench(t, "chaos-tampering")
	if err := b.user.createShared(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := b.waitStable(workload{shows: []string{ready, "--- HorizontalPodAutoscaler\n", "--- PodDisruptionBudget\n"}}.complaint)
	var got repairs
	for _, object := range b.owned() {
		t.Run(object.GetKind(), func(t *testing.T) {
			b.t = t
			b.deleted(object, want, &got)
			foreign := b.marked(object)
			for n, field := range fieldsOf(t, foreign) {
				if full || n%12 == 0 {
					b.tampered(foreign, field, &got)
				}
			}
			b.unmarked(foreign)
			b.waitForEnd(want)
		})
	}
	b.t = t
	b.expectQuiet(want, quietPeriod())
	slices.Sort(got.took)
	if len(got.took) == 0 {
		t.Fatal("no edit was made")
	}
	t.Logf("%d edits, and %d more that the API server rejected; all repaired within %s, half of them within %s",
		len(got.took), got.refused, got.took[len(got.took)-1].Round(time.Millisecond), got.took[len(got.took)/2].Round(time.Millisecond))
}

// owned returns the objects of the agent.
func (b *bench) owned() []*unstructured.Unstructured {
	b.t.Helper()
	var all []*unstructured.Unstructured
	for _, kind := range owned() {
		gvk, err := cluster.GroupVersionKindFor(kind)
		if err != nil {
			b.t.Fatal(err)
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		if err := cluster.List(b.t.Context(), list, client.InNamespace(b.namespace)); err != nil {
			b.t.Fatal(err)
		}
		for i := range list.Items {
			owner := list.Items[i].GetOwnerReferences()
			if len(owner) > 0 && owner[0].Kind == a2av1alpha1.AgentKind {
				all = append(all, &list.Items[i])
			}
		}
	}
	return all
}

// repaired waits until check returns no complaint, and records how long this takes.
func (b *bench) repaired(what string, got *repairs, check func() string) {
	b.t.Helper()
	began := time.Now()
	b.eventually("the repair of "+what, check)
	took := time.Since(began)
	got.took = append(got.took, took)
	if took > repairTime {
		b.t.Errorf("%s was repaired after %s, want at most %s", what, took, repairTime)
	}
}

func (b *bench) deleted(object *unstructured.Unstructured, want string, got *repairs) {
	b.t.Helper()
	uid := object.GetUID()
	if err := cluster.Delete(b.t.Context(), object); err != nil {
		b.t.Fatal(err)
	}
	b.repaired(object.GetKind(), got, func() string {
		now := b.live(object)
		if now == nil || now.GetUID() == uid {
			return "it is not there again"
		}
		return ""
	})
	b.waitForEnd(want)
	b.waitIdle()
}

// live returns an object by a live read, nil for none.
func (b *bench) live(object *unstructured.Unstructured) *unstructured.Unstructured {
	b.t.Helper()
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(object.GroupVersionKind())
	err := cluster.Get(b.t.Context(), client.ObjectKeyFromObject(object), now)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return now
}

// write changes an object as another client, after a read.
func (b *bench) write(object *unstructured.Unstructured, change func(*unstructured.Unstructured)) error {
	b.t.Helper()
	for {
		now := b.live(object)
		change(now)
		if err := cluster.Update(b.t.Context(), now, somebodyElse); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// marked adds a label and an annotation of another manager.
func (b *bench) marked(object *unstructured.Unstructured) *unstructured.Unstructured {
	b.t.Helper()
	b.mark(object, func(m map[string]string) { m[foreignKey] = foreignValue })
	return b.live(object)
}

func (b *bench) unmarked(object *unstructured.Unstructured) {
	b.t.Helper()
	b.mark(object, func(m map[string]string) { delete(m, foreignKey) })
}

func (b *bench) mark(object *unstructured.Unstructured, change func(map[string]string)) {
	b.t.Helper()
	if err := b.write(object, func(o *unstructured.Unstructured) {
		labels, annotations := o.GetLabels(), o.GetAnnotations()
		if labels == nil {
			labels = map[string]string{}
		}
		change(labels)
		change(annotations)
		o.SetLabels(labels)
		o.SetAnnotations(annotations)
	}); err != nil {
		b.t.Fatal(err)
	}
}

// tampered changes a field and then removes it.
func (b *bench) tampered(object *unstructured.Unstructured, field fieldPath, got *repairs) {
	b.t.Helper()
	was, ok := field.of(object.Object)
	if !ok || field.isKey() {
		return
	}
	for _, change := range []func(any) (any, bool){other, nothing} {
		value, changes := change(was)
		if !changes {
			continue
		}
		what := fmt.Sprintf("%s %s (%v)", object.GetKind(), field, value)
		err := b.write(object, func(o *unstructured.Unstructured) { field.set(o.Object, value) })
		if err != nil {
			got.refused++
			continue
		}
		b.repaired(what, got, func() string {
			now := b.live(object)
			if now == nil {
				return "it is gone"
			}
			value, _ := field.of(now.Object)
			if diff := cmp.Diff(was, value); diff != "" {
				return diff
			}
			if now.GetLabels()[foreignKey] != foreignValue || now.GetAnnotations()[foreignKey] != foreignValue {
				b.t.Errorf("the repair of %s removed a field of another manager", what)
			}
			return ""
		})
	}
}

// other returns another value of the same type, if there is one.
func other(value any) (any, bool) {
	switch v := value.(type) {
	case string:
		// A lower-case letter at the end keeps a name or an image valid. White space at the
		// end keeps JSON valid.
		if strings.HasPrefix(v, "{") {
			return v + " ", true
		}
		return v + "x", true
	case bool:
		return !v, true
	case int64:
		return v + 1, true
	case float64:
		return v + 1, true
	default:
		return nil, false
	}
}

// nothing removes a value.
func nothing(any) (any, bool) { return nil, true }
