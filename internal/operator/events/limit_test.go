// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
)

func TestEventsOfANamespaceAreLimited(t *testing.T) {
	sent := events.NewFakeRecorder(3 * burst)
	now := time.Unix(0, 0)
	recorder := Limit(sent, func() time.Time { return now })
	publish := func(namespace string, times, want int) {
		t.Helper()
		for range times {
			Publish(recorder, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}, Event{Type: corev1.EventTypeNormal, Reason: "R"})
		}
		if got := len(sent.Events); got != want {
			t.Errorf("%d events of %s after %s: %d sent, want %d", times, namespace, now.Sub(time.Unix(0, 0)), got, want)
		}
		for len(sent.Events) > 0 {
			<-sent.Events
		}
	}
	publish("noisy", burst+500, burst)
	publish("quiet", 1, 1)
	now = now.Add(10 * time.Second)
	publish("noisy", 100, 10*perSecond)
}
