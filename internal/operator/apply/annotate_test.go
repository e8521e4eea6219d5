// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func TestAnnotate(t *testing.T) {
	pod := func(name string, change func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		change(&p)
		return p
	}
	pods := []corev1.Pod{
		pod("stale", func(p *corev1.Pod) { p.Annotations = map[string]string{"key": "old"} }),
		pod("fresh", func(p *corev1.Pod) { p.Annotations = map[string]string{"key": "new"} }),
		pod("without", func(*corev1.Pod) {}),
		pod("leaving", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time} }),
		pod("pending", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }),
	}
	w := &writer{}
	if outcome, err := newApplier(w).Annotate(t.Context(), pods, "key", "new", "tester"); err != nil || !outcome.Complete() {
		t.Fatalf("Annotate() = %+v, %v", outcome, err)
	}
	want := []string{
		`stale {"metadata":{"annotations":{"key":"new"},"uid":"uid-stale"}}`,
		`without {"metadata":{"annotations":{"key":"new"},"uid":"uid-without"}}`,
	}
	if diff := cmp.Diff(want, w.pods); diff != "" {
		t.Errorf("patched (-want +got):\n%s", diff)
	}

	resource := schema.GroupResource{Resource: "pods"}
	for _, gone := range []error{apierrors.NewNotFound(resource, "stale"), apierrors.NewConflict(resource, "stale", errors.New("uid"))} {
		if _, err := newApplier(&writer{err: gone}).Annotate(t.Context(), pods, "key", "newer", "tester"); err != nil {
			t.Errorf("Annotate() error = %v, want none for a pod that is gone", err)
		}
	}
	if _, err := newApplier(&writer{err: errors.New("boom")}).Annotate(t.Context(), pods, "key", "newest", "tester"); err == nil {
		t.Error("Annotate() error = nil, want the API server's error")
	}
}

func TestAnnotateSendsAPatchOnceUntilTheCacheShowsIt(t *testing.T) {
	w := &writer{version: "12"}
	applier := newApplier(w)
	annotate := func(version, cached, want string, patches int) {
		t.Helper()
		pods := []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "uid", ResourceVersion: version, Annotations: map[string]string{"key": cached}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning},
		}}
		shared := pods[0].Annotations
		if _, err := applier.Annotate(t.Context(), pods, "key", want, "tester"); err != nil {
			t.Fatal(err)
		}
		if len(w.pods) != patches {
			t.Errorf("cached version %s with %q: %d patches, want %d", version, cached, len(w.pods), patches)
		}
		if pods[0].Annotations["key"] != want {
			t.Errorf("cached version %s: the pod has %q, want %q", version, pods[0].Annotations["key"], want)
		}
		if shared["key"] != cached {
			t.Error("Annotate changed the annotations of the cached pod")
		}
	}
	annotate("7", "old", "new", 1)
	annotate("7", "old", "new", 1)
	annotate("9", "old", "new", 1) // the cache shows a write of the kubelet that preceded the patch
	w.version = "15"
	annotate("9", "old", "newer", 2)
	annotate("12", "new", "newer", 2)   // the cache shows the first patch
	annotate("15", "newer", "newer", 2) // the cache shows both
	annotate("16", "old", "newer", 3)   // another client has undone the patch
}

func TestAnnotateReportsAnUndoneAnnotationAsMissing(t *testing.T) {
	w := &writer{version: "7", undo: true}
	applier := newApplier(w)
	for range 2 {
		pods := []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "uid", ResourceVersion: "7"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}}
		if _, err := applier.Annotate(t.Context(), pods, "key", "new", "tester"); err != nil || pods[0].Annotations["key"] != "" {
			t.Errorf("Annotate() error = %v, annotations %v", err, pods[0].Annotations)
		}
	}
}
