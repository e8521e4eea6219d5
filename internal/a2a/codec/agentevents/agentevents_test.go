// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentevents

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestDecodeValidEvent(t *testing.T) {
	text := a2a.TextPart("hi")
	tests := map[string]struct {
		text string
		want Emission
	}{
		"0.3 status": {
			text: `{"status":{"state":"working"},"kind":"status-update"}`,
			want: Emission{Kind: "status-update", Event: a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}}}},
		},
		"1.0 status": {
			text: `{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`,
			want: Emission{Event: a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateInputRequired}}}},
		},
		"0.3 message": {
			text: `{"kind":"message","parts":[{"kind":"text","text":"hi"}]}`,
			want: Emission{Kind: "message", Event: a2a.Event{Message: &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{text}}}},
		},
		"1.0 message": {
			text: `{"message":{"parts":[{"text":"hi"}]}}`,
			want: Emission{Event: a2a.Event{Message: &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{text}}}},
		},
		"1.0 part":                     {text: `{"text":"hi"}`, want: Emission{Part: &text}},
		"0.3 part":                     {text: `{"kind":"text","text":"hi"}`, want: Emission{Kind: "text", Part: &text}},
		"data":                         {text: `{"data":null}`, want: Emission{}},
		"internal":                     {text: `{"kind":"internal:usage","text":"x"}`, want: Emission{Kind: "internal:usage"}},
		"any JSON":                     {text: `{"answer":42}`, want: Emission{}},
		"an array":                     {text: `[1]`, want: Emission{}},
		"message that is not an event": {text: `{"message":"hi"}`, want: Emission{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Decode([]byte(test.text))
			if err != nil {
				t.Fatalf("Decode() error = %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Decode() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRejectsInvalidEvents(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":       `hello`,
		"cut":           `{"kind":"task"`,
		"trailing":      `{"text":"a"} {}`,
		"duplicate":     `{"text":"a","text":"b"}`,
		"unknown state": `{"kind":"status-update","status":{"state":"done"}}`,
		"two contents":  `{"text":"a","url":"b"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Decode([]byte(text)); err == nil {
				t.Errorf("Decode() = %+v, want an error", got)
			}
		})
	}
}
