// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// action is the value of the field action in every event.
const action = "Reconcile"

// maxNote is the API's maximum length of the note of an event, in bytes.
const maxNote = 1024

// Publish records events about an object. It truncates a long note at a character boundary,
// because the API refuses a note that is invalid UTF-8 or too long. It does not wait for the API
// server.
func Publish(recorder events.EventRecorder, object runtime.Object, events ...Event) {
	for _, e := range events {
		recorder.Eventf(object, nil, e.Type, e.Reason, action, "%s", safetext.Clip(e.Note, maxNote-len("…")))
	}
}
