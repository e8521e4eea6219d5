// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// eventReader lists the same events for each pod, and counts the reads.
type eventReader struct {
	client.Reader
	events []corev1.Event
	err    error
	reads  int
}

func (r *eventReader) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	r.reads++
	list.(*corev1.EventList).Items = r.events
	return r.err
}

func event(kind, reason, message string, at time.Duration) corev1.Event {
	return corev1.Event{Type: kind, Reason: reason, Message: message, LastTimestamp: metav1.NewTime(noon.Add(at))}
}

func TestNewestWarning(t *testing.T) {
	mount := event("Warning", "FailedMount", "secret \"keys\" not found", 2*time.Second)
	for name, test := range map[string]struct {
		events []corev1.Event
		want   string
	}{
		"none":              {nil, ""},
		"the newest":        {[]corev1.Event{event("Warning", "FailedMount", "old", time.Second), mount}, `FailedMount: secret "keys" not found`},
		"a normal event":    {[]corev1.Event{mount, event("Normal", "Pulling", "Pulling image", 3*time.Second)}, ""},
		"the vague message": {[]corev1.Event{mount, event("Warning", "FailedMount", vague+": unmounted volumes=[a]", 3*time.Second)}, `FailedMount: secret "keys" not found`},
		"scheduled since":   {[]corev1.Event{event("Warning", "FailedScheduling", "0/1 nodes", 3*time.Second)}, ""},
		"an id": {
			[]corev1.Event{event("Warning", "FailedCreatePodSandBox", "sandbox \""+strings.Repeat("0af9", 16)+"\": no\n plugin", time.Second)},
			`FailedCreatePodSandBox: sandbox "…": no plugin`,
		},
		"of the new API": {
			[]corev1.Event{{Type: "Warning", Reason: "FailedMount", Message: "new", EventTime: metav1.NewMicroTime(noon.Add(time.Minute))}, mount}, "FailedMount: new",
		},
	} {
		if got := newestWarning(test.events); got != test.want {
			t.Errorf("%s: newestWarning() = %q, want %q", name, got, test.want)
		}
	}
	if got := newestWarning([]corev1.Event{event("Warning", "R", strings.Repeat("x", 4096), 0)}); len(got) > maxWarning {
		t.Errorf("a warning of %d bytes", len(got))
	}
}

// TestEventsAreReadForPodsThatDoNotStart shows that a pod that starts costs no request, that one that does not
// start costs one in a minute, and that all together have a limit.
func TestEventsAreReadForPodsThatDoNotStart(t *testing.T) {
	clock := testclock.NewFakePassiveClock(noon)
	reader := &eventReader{events: []corev1.Event{event("Warning", "FailedMount", "why", 0)}}
	w := NewPodWarnings(reader, clock)
	pod := func(uid string, scheduled time.Time) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}, Status: corev1.PodStatus{
			Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(scheduled)}},
		}}
	}
	running := pod("running", noon.Add(-time.Hour))
	running.Status.Phase = corev1.PodRunning
	pulls := pod("pulls", noon.Add(-time.Hour))
	pulls.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}
	if got := w.of(t.Context(), []corev1.Pod{running, pulls, pod("young", noon.Add(-19*time.Second))}); got != nil || reader.reads != 0 {
		t.Fatalf("of() = %v with %d reads", got, reader.reads)
	}
	stuck := []corev1.Pod{pod("stuck", noon.Add(-20*time.Second))}
	for range 3 {
		if got := w.of(t.Context(), stuck); got["stuck"] != "FailedMount: why" || reader.reads != 1 {
			t.Fatalf("of() = %v with %d reads", got, reader.reads)
		}
	}
	clock.SetTime(noon.Add(warningAge))
	reader.err = errors.New("no")
	reader.events = nil
	if got := w.of(t.Context(), stuck); got != nil || reader.reads != 2 {
		t.Fatalf("of() = %v with %d reads", got, reader.reads)
	}
	reader.reads = 0
	for i := range 100 {
		w.of(t.Context(), []corev1.Pod{pod("stuck-"+string(rune('a'+i)), noon)})
	}
	if reader.reads > warningReads {
		t.Errorf("%d reads at once", reader.reads)
	}
}

// TestPodsOfANamespaceDelayNoReadsOfOthers has a namespace with many pods that do not start, all of which the operator looks at
// again and again. The warnings of the pods of another namespace, which come later, are read at once.
func TestPodsOfANamespaceDelayNoReadsOfOthers(t *testing.T) {
	clock := testclock.NewFakePassiveClock(noon)
	reader := &eventReader{events: []corev1.Event{event("Warning", "FailedMount", "why", 0)}}
	w := NewPodWarnings(reader, clock)
	pod := func(namespace string, number int) corev1.Pod {
		scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))}
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, UID: types.UID(fmt.Sprint(namespace, number))},
			Status:     corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{scheduled}},
		}
	}
	const pods = 5000
	securitypage.Attempts(t, "T-PODS", pods)
	flood := func() {
		for i := range pods {
			w.of(t.Context(), []corev1.Pod{pod("flood", i)})
		}
	}
	for i := range 12 {
		clock.SetTime(noon.Add(time.Duration(i) * 5 * time.Second))
		flood()
	}
	for i := range 5 {
		flood()
		if got := w.of(t.Context(), []corev1.Pod{pod("other", i)}); len(got) != 1 {
			t.Errorf("pod %d of another namespace has no warning", i)
		}
	}
	if most := 6 * warningReads; reader.reads > most {
		t.Errorf("%d reads in a minute, want at most %d", reader.reads, most)
	}
}

// TestManyNamespacesShareTheReads has more namespaces with pods that do not start than a window has reads.
func TestManyNamespacesShareTheReads(t *testing.T) {
	const namespaces = 1000
	securitypage.Attempts(t, "T-PODS", namespaces)
	shares := &readShares{}
	for window := range 3 {
		now := noon.Add(time.Duration(window) * warningWindow)
		took := map[string]int{}
		total := 0
		for i := range 10 * namespaces {
			if namespace := fmt.Sprint(i % namespaces); shares.take(namespace, now) {
				took[namespace]++
				total++
			}
		}
		if total > warningReads || window > 0 && len(took) != warningReads {
			t.Errorf("window %d: %d reads of %d namespaces, want %d of as many", window, total, len(took), warningReads)
		}
	}
	if later := noon.Add(time.Hour); !shares.take("0", later) || len(shares.before) != 0 {
		t.Errorf("after an hour, %d namespaces count", len(shares.before))
	}
}

// TestNamespacesThatAskFirstStarveNoOthers has more namespaces than a window has reads that ask first in each window, and one that asks last.
func TestNamespacesThatAskFirstStarveNoOthers(t *testing.T) {
	const first = 3 * warningReads
	shares := &readShares{}
	for window := range 2 * first / warningReads {
		now := noon.Add(time.Duration(window) * warningWindow)
		for i := range first {
			shares.take(fmt.Sprint(i), now)
		}
		if shares.take("last", now) {
			return
		}
	}
	t.Error("the namespace that asks last has no read")
}
