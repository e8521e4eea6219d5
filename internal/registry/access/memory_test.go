// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

// TestBindingCostsBoundedMemory checks the memory of the index and the cache for a binding with many long
// subjects. The page on tenancy (docs/how-to/tenancy.md) has the bound.
func TestBindingCostsBoundedMemory(t *testing.T) {
	const count, limit = 20, 128 << 10
	live := func() int {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc)
	}
	b := NewBindings(clock.RealClock{})
	var cached []any
	before := live()
	for number := range count {
		o := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprint(number), Annotations: map[string]string{"a": strings.Repeat("x", 1<<20)}},
			RoleRef:    rbacv1.RoleRef{Kind: kindRole, Name: "role"},
		}
		for i := range 4096 {
			name := fmt.Sprintf("%d-%d-", number, i)
			o.Subjects = append(o.Subjects, rbacv1.Subject{Kind: rbacv1.UserKind, Name: name + strings.Repeat("x", maxName-len(name))})
		}
		o.Subjects = append([]rbacv1.Subject{{Kind: rbacv1.UserKind, Name: strings.Repeat("x", 1<<20)}}, o.Subjects...)
		kept, err := Strip(o)
		if err != nil {
			t.Fatal(err)
		}
		if subjects := kept.(*rbacv1.RoleBinding).Subjects; len(subjects) != maxSubjects {
			t.Fatalf("the cache keeps %d subjects", len(subjects))
		}
		b.set(kept)
		cached = append(cached, kept)
	}
	each := (live() - before) / count
	t.Logf("a binding costs %d KiB", each>>10)
	if each > limit {
		t.Errorf("a binding costs %d bytes, more than %d", each, limit)
	}
	runtime.KeepAlive(b)
	runtime.KeepAlive(cached)
}
