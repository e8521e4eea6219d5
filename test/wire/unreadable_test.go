// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// unreadable are values that some client cannot read. A page of tasks with one of them would fail as
// a whole.
var unreadable = map[string]string{
	"number beyond a double":      `1e400`,
	"negative number":             `[-1e309]`,
	"number of 400 digits":        `{"x":1` + strings.Repeat("0", 400) + `}`,
	"nesting of 31 levels":        strings.Repeat(`{"a":`, 31) + "1" + strings.Repeat("}", 31),
	"null":                        `null`,
	"lone surrogate":              `"\ud800"`,
	"member that occurs twice":    `{"a":1,"a":2}`,
	"number in an inner metadata": `{"metadata":{"inner":[1E400]}}`,
}

// A client cannot store a value that other clients cannot read. The error names the field.
func TestUnreadableValuesOfClientsAreRefused(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent)
	client := sidecartest.Plain(t)
	for name, value := range unreadable {
		part := `{"kind":"data","data":{"v":` + value + `}}`
		for path, r := range map[string]request{
			"params.message.parts[0].data": rpc("SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":`+value+`}]}}`).with("A2A-Version", "1.0"),
			"message.parts[0].data":        {method: http.MethodPost, path: "/message:send", body: `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":` + value + `}]}}`, header: map[string]string{"A2A-Version": "1.0"}},
			"params.message.parts[0]":      rpc("message/send", `{"message":{"kind":"message","messageId":"m","role":"user","parts":[`+part+`]}}`),
			"params.metadata":              rpc("message/send", `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]},"metadata":{"v":`+value+`}}`),
		} {
			if name == "null" && !strings.HasSuffix(path, ".data") {
				continue // a null within an object is readable
			}
			answer := do(t, client, f.URL, r)
			syntax := strings.Contains(answer.body, "-32700") || strings.Contains(answer.body, "Invalid JSON")
			if !syntax && (!strings.Contains(answer.body, "-32602") && answer.status != http.StatusBadRequest || !strings.Contains(answer.body, strings.TrimPrefix(path, "params."))) {
				t.Errorf("%s in %s: status %d, %.300s; want an error that names the field", name, path, answer.status, answer.body)
			}
		}
	}
	if f.Calls() != 0 {
		t.Errorf("the agent was called %d times, want 0", f.Calls())
	}
}

// An event of an agent with such a value fails its turn, and the task and the list of tasks stay
// readable.
func TestUnreadableValuesOfAgentsFailTheTurn(t *testing.T) {
	for name, value := range unreadable {
		t.Run(name, func(t *testing.T) {
			data := `{"kind":"artifact-update","artifact":{"artifactId":"a","parts":[{"kind":"data","data":{"v":` + value + `}}]}}`
			if name == "null" {
				data = `{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"data":null}]}}}`
			}
			f := sidecartest.Start(t, sidecartest.NDJSONAgent(`{"text":"so far"}`, data, `{"text":"more"}`))
			client := sidecartest.Plain(t)
			sent := do(t, client, f.URL, rpc("SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`).with("A2A-Version", "1.0"))
			list := do(t, client, f.URL, rpc("ListTasks", `{"includeArtifacts":true,"historyLength":10}`).with("A2A-Version", "1.0"))
			for what, body := range map[string]string{"task": sent.body, "list": list.body} {
				var decoded map[string]any
				if err := json.Unmarshal([]byte(body), &decoded); err != nil {
					t.Errorf("the %s cannot be read: %v", what, err)
				}
				if !strings.Contains(body, "TASK_STATE_FAILED") {
					t.Errorf("%s = %.500s, want a failed task", what, fmt.Sprint(decoded))
				}
			}
		})
	}
}
