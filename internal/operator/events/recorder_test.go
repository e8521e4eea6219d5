// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

func TestPublishTruncatesNotesToTextThatTheAPIAccepts(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	for _, note := range []string{strings.Repeat("ü", 600), "a" + strings.Repeat("ü", 600), strings.Repeat("世", 400)} {
		Publish(recorder, &corev1.Pod{}, Event{Type: corev1.EventTypeNormal, Reason: "R", Note: note})
		got := strings.TrimPrefix(<-recorder.Events, "Normal R ")
		if len(got) > maxNote || len(got) < maxNote-8 || !utf8.ValidString(got) {
			t.Errorf("a note of %d bytes is published as %d bytes, valid %t", len(note), len(got), utf8.ValidString(got))
		}
	}
}
