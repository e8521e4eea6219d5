// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kindrest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/test/codectest"
)

// TestEveryObjectIsWrittenInBothForms checks that the two forms of an object have equal
// members.
func TestEveryObjectIsWrittenInBothForms(t *testing.T) {
	for name, event := range codectest.Events() {
		t.Run(name, func(t *testing.T) {
			inner := string(v03.AppendEvent(nil, &event))
			frame := members(t, AppendEvent([]byte(nil), &event))
			second := map[string]string{"task": "task", "smallest": "task", "message": "message", "artifact": "artifactUpdate", "chunk": "artifactUpdate"}[name]
			if second == "" {
				second = "statusUpdate"
			}
			want := map[string]string{"jsonrpc": `"2.0"`, "id": "null", "result": inner, second: inner}
			if diff := cmp.Diff(want, frame); diff != "" {
				t.Errorf("AppendEvent() (-want +got):\n%s", diff)
			}
			if event.Task == nil && event.Message == nil {
				return
			}
			want = members(t, []byte(inner))
			want[second] = inner
			if diff := cmp.Diff(want, members(t, AppendAnswer(make([]byte, 0, 1), &event))); diff != "" {
				t.Errorf("AppendAnswer() (-want +got):\n%s", diff)
			}
		})
	}
}

func members(t *testing.T, text []byte) map[string]string {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	all := map[string]string{}
	for name, value := range raw {
		all[name] = string(value)
	}
	return all
}

func TestAppendKeepsTheDestination(t *testing.T) {
	event := a2a.Event{Task: &a2a.Task{ID: "t", ContextID: "c", Status: a2a.Status{State: a2a.StateSubmitted}}}
	const task = `{"kind":"task","id":"t","contextId":"c","status":{"state":"submitted"}`
	if got, want := string(AppendAnswer([]byte("x"), &event)), `x`+task+`,"task":`+task+`}}`; got != want {
		t.Errorf("AppendAnswer() = %s, want %s", got, want)
	}
	if got, want := string(AppendEvent([]byte("x"), &event)), `x{"jsonrpc":"2.0","id":null,"result":`+task+`},"task":`+task+`}}`; got != want {
		t.Errorf("AppendEvent() = %s, want %s", got, want)
	}
}
