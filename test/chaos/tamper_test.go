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

// repairTime is how long a repair may take.
const repairTime = 5 * time.Second

const (
	foreignKey   = "example.com/foreign"
	foreignValue = "kept"
	somebodyElse = client.FieldOwner("somebody-else")
)

// repairs are what was tampered with, and how long the repairs took.
type repairs struct {
	refused int
	took    []time.Duration
}

// TestTampering deletes every object that an Agent owns, and changes and
// removes every field of theirs that the operator has set: C8 of the
// reliability plan. All is repaired, whose they are included, and what somebody
// else has added stays.
func TestTampering(t *testing.T) {
	b := newBench(t, "chaos-tampering")
	if err := b.user.createShared(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := b.settles(workload{shows: []string{ready, "--- HorizontalPodAutoscaler\n", "--- PodDisruptionBudget\n"}}.complaint)
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
			b.reaches(want)
		})
	}
	b.t = t
	b.rests(want, stillness())
	slices.Sort(got.took)
	if len(got.took) == 0 {
		t.Fatal("nothing was tampered with")
	}
	t.Logf("%d times tampered with, and %d more that the API server refused; all repaired within %s, half of them within %s",
		len(got.took), got.refused, got.took[len(got.took)-1].Round(time.Millisecond), got.took[len(got.took)/2].Round(time.Millisecond))
}

// owned are the objects of the agent.
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

// repaired waits until nothing is left to complain of.
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
	b.reaches(want)
	b.rested()
}

// live is an object as the API server has it, nil for none.
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

// write changes an object as somebody else, who looks at it first.
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

// marked gives an object a label and an annotation that are nobody's business.
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

// tampered changes a field, and then removes it.
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
				b.t.Errorf("the repair of %s took what is somebody else's", what)
			}
			return ""
		})
	}
}

// other is another value of the same type, if there is one.
func other(value any) (any, bool) {
	switch v := value.(type) {
	case string:
		// Case is kept, and so is what a name or an image may end with.
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
