// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentevents

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestDecodeEvent(t *testing.T) {
	artifact := a2a.Event{Artifact: &a2a.ArtifactUpdate{
		TaskID: "t", ContextID: "c", Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.TextPart("hi")}}, LastChunk: true,
	}}
	file := a2a.Event{Artifact: &a2a.ArtifactUpdate{
		TaskID: "t", Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{{Content: a2a.ContentRaw, Raw: []byte("hi"), MediaType: "x/y", Filename: "f"}}},
	}}
	working := a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t", Status: a2a.Status{State: a2a.StateWorking}}}
	task := a2a.Event{Task: &a2a.Task{ID: "t", Status: a2a.Status{State: a2a.StateCompleted}}}
	message := a2a.Event{Message: &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("hi")}}}
	for name, tt := range map[string]struct {
		text string
		want a2a.Event
	}{
		"LangGraph: 1.0 without its member":  {`{"taskId":"t","contextId":"c","kind":"artifact-update","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"hi"}]},"append":false,"lastChunk":true}`, artifact},
		"0.3 inside a member of 1.0":         {`{"artifactUpdate":{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"hi"}]},"lastChunk":true}}`, artifact},
		"neither a kind nor a member":        {`{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"hi"}]},"lastChunk":true}`, artifact},
		"proto names":                        {`{"artifact_update":{"task_id":"t","context_id":"c","artifact":{"artifact_id":"a","parts":[{"text":"hi"}]},"last_chunk":true}}`, artifact},
		"a kind and the member of this kind": {`{"kind":"artifact-update","artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"hi"}]},"lastChunk":true}}`, artifact},
		"an unknown kind and a member":       {`{"kind":"stream-response","artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"hi"}]},"lastChunk":true}}`, artifact},
		"a file of 1.0 under a kind":         {`{"kind":"artifact-update","taskId":"t","artifact":{"artifactId":"a","parts":[{"raw":"aGk=","mediaType":"x/y","filename":"f"}]}}`, file},
		"a file of 0.3 in a member":          {`{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"kind":"file","file":{"bytes":"aGk=","mimeType":"x/y","name":"f"}}]}}}`, file},
		"a status with a state of 1.0":       {`{"kind":"status-update","taskId":"t","status":{"state":"TASK_STATE_WORKING"}}`, working},
		"a status in a member":               {`{"statusUpdate":{"kind":"status-update","taskId":"t","status":{"state":"working"}}}`, working},
		"a bare status":                      {`{"taskId":"t","status":{"state":"working"},"final":false}`, working},
		"a bare task":                        {`{"id":"t","status":{"state":"completed"}}`, task},
		"a task under a kind":                {`{"kind":"task","id":"t","status":{"state":"TASK_STATE_COMPLETED"}}`, task},
		"a bare message":                     {`{"role":"agent","messageId":"m","parts":[{"text":"hi"}]}`, message},
		"a message of 0.3 in proto JSON":     {`{"message":{"messageId":"m","role":"ROLE_AGENT","content":[{"text":"hi"}]}}`, message},
	} {
		t.Run(name, func(t *testing.T) {
			for _, newer := range []bool{false, true} {
				got, err := DecodeEvent([]byte(tt.text), newer)
				if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
					t.Errorf("DecodeEvent(newer=%t) error = %v (-want +got):\n%s", newer, err, diff)
				}
			}
		})
	}
}

func TestDecodeEventRejectsInvalidEvents(t *testing.T) {
	for text, want := range map[string]string{
		`7`:                 "neither its kind",
		`{}`:                "neither its kind",
		`{"kind":"later"}`:  "neither its kind",
		`{"message":"x"}`:   "neither its kind",
		`{"status":{}}`:     "neither its kind",
		`{"kind":"task"`:    "Invalid JSON",
		`{"kind":"task"}{}`: "after the end",
		`{"kind":"artifact-update","artifact":{"artifactId":"a","prts":[]},"lastChunk":true}`:               "artifact.parts: is required",
		`{"kind":"artifact-update","artifact":{"artifactId":"a","prts":[]},"append":true,"lastChunk":true}`: "artifact.parts: is required",
		`{"kind":"artifact-update","artifxct":{"artifactId":"a"},"append":true,"lastChunk":true}`:           "artifact.parts: is required",
		`{"kind":"artifact-update"}`: "artifact.parts: is required",
		`{"artifactUpdate":{"artifact":{"parts":[{"kind":"later","later":"x"}]}}}`: "artifact",
		`{"kind":"status-update"}`:                                                                      "status.state: is required",
		`{"kind":"status-update","status":{"stte":"failed"}}`:                                           "status.state: is required",
		`{"statusUpdate":{"status":{"stte":"TASK_STATE_FAILED"}}}`:                                      "state: is required",
		`{"statusUpdate":{"taskId":"t","stats":{"state":"TASK_STATE_FAILED"}}}`:                         "state: is required",
		`{"artifactUpdate":{"taskId":"t","artifct":{"artifactId":"a"}}}`:                                "artifact.parts: is required",
		`{"message":{"messageId":"m","parts":[{"txt":"x"}]}}`:                                           "must have exactly one of",
		`{"kind":"status-update","status":{"state":"working","message":{"role":"agent","prts":[]}}}`:    "status.message.parts: is required",
		`{"kind":"message","role":"agent","prts":[]}`:                                                   "parts: is required",
		`{"kind":"message","role":"agent","text":"hi"}`:                                                 "parts: is required",
		`{"kind":"task","id":"t","artifacts":[{"artifactId":"a","prts":[{"kind":"text","text":"x"}]}]}`: "parts: is required",
	} {
		for _, newer := range []bool{false, true} {
			_, err := DecodeEvent([]byte(text), newer)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("DecodeEvent(%s, %t) error = %v, want %s", text, newer, err, want)
			}
			if problem, ok := errors.AsType[*a2a.Error](err); !ok && !errors.Is(err, ErrUnknownEvent) {
				t.Errorf("DecodeEvent(%s) error = %v", text, problem)
			}
		}
	}
}

// ProtoJSON leaves out members with their default values, such as an empty list.
func TestAbsentMembersHaveTheirDefaults(t *testing.T) {
	for _, text := range []string{
		`{"kind":"artifact-update","artifact":{"artifactId":"a"}}`,
		`{"artifactUpdate":{"artifact":{"artifactId":"a"},"append":true,"lastChunk":true}}`,
		`{"artifact_update":{"artifact":{"artifact_id":"a","name":"n"}}}`,
		`{"artifactUpdate":{"taskId":"t"}}`,
		`{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{}]}}}`,
		`{"kind":"message","role":"agent"}`,
		`{"message":{"messageId":"m","role":"ROLE_AGENT"}}`,
		`{"message":{"messageId":"m","role":"ROLE_AGENT","content":[{},{"metadata":{"a":1}}]}}`,
		`{"role":"ROLE_AGENT","messageId":"m"}`,
		`{"kind":"status-update","status":{"state":"working","message":{"role":"agent","messageId":"m"}}}`,
		`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","metadata":{"a":1}}}}}`,
		`{"statusUpdate":{"status":{"message":{"role":"ROLE_AGENT","parts":[{"text":"x"}]}}}}`,
		`{"statusUpdate":{"taskId":"t","status":{}}}`,
		`{"statusUpdate":{"taskId":"t"}}`,
		`{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT"}},"artifacts":[{"artifactId":"a"}]}}`,
		`{"task":{"id":"t"}}`,
		`{"kind":"task","id":"t","artifacts":[{"artifactId":"a"}],"status":{"state":"working"}}`,
	} {
		for _, newer := range []bool{false, true} {
			if _, err := DecodeEvent([]byte(text), newer); err != nil {
				t.Errorf("DecodeEvent(%s, %t) error = %v", text, newer, err)
			}
		}
	}
}
