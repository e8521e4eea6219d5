// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
)

// profileExample is a request of the published profile for approvals, and the response to it.
type profileExample struct {
	Name    string
	Request struct {
		Type  string
		Tools []struct {
			ID        string
			Name      string
			Arguments json.RawMessage `json:"args"`
		}
		Nested any
	}
	Response json.RawMessage
}

func profileExamples(t *testing.T) (all []profileExample) {
	t.Helper()
	text, err := os.ReadFile("../../approval/testdata/profile.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestResponsesOfThePublishedProfile has the model make the calls of the requests in the published profile, and sends its responses. A response
// that the profile calls invalid decides nothing.
func TestResponsesOfThePublishedProfile(t *testing.T) {
	for _, example := range profileExamples(t) {
		if example.Request.Type != approval.TypeRequest || example.Request.Nested != nil {
			continue // of an agent that asks or calls another one in its own way
		}
		t.Run(example.Name, func(t *testing.T) {
			var tools []*model.Tool
			var calls []string
			for _, tool := range example.Request.Tools {
				tools = append(tools, &model.Tool{Name: tool.Name, NeedsApproval: true})
				calls = append(calls, tool.Name+" "+string(tool.Arguments))
			}
			set := newTools(echo, tools...)
			k := newTask(t, func(r *request) string {
				if r.results() == 0 {
					return says("", calls...)
				}
				return says("done")
			}, model.Options{Toolsets: []model.Toolset{set}})
			if err := k.send(text("Go")); err != nil || k.state != a2a.StateInputRequired {
				t.Fatalf("%v, state %v", err, k.state)
			}
			// The response has our ids in place of those of the example.
			var asked struct {
				Tools []map[string]json.RawMessage
			}
			if err := json.Unmarshal(approval.Object(k.said), &asked); err != nil || len(asked.Tools) != len(calls) {
				t.Fatalf("the request is %s, %v", k.said.Metadata, err)
			}
			response := string(example.Response)
			for i, tool := range asked.Tools {
				response = strings.ReplaceAll(response, fmt.Sprintf("%q", example.Request.Tools[i].ID), string(tool["id"]))
			}
			first := string(asked.Tools[0]["id"])
			for name, wrong := range map[string]string{
				"another type": strings.Replace(response, "tool_approval_response", "ask_user_response", 1),
				"unknown type": strings.Replace(response, "tool_approval_response", "decision", 1),
				"missing id":   `{"type":"tool_approval_response","approvals":[]}`,
				"repeated id":  strings.Replace(response, `[{`, `[{"id":`+first+`,"approved":true},{`, 1),
				"unknown id":   strings.Replace(response, first, `"approval-9"`, 1),
				"no object":    `["tool_approval_response"]`,
			} {
				if err := k.send(deciding(wrong)); err != nil || k.state != a2a.StateInputRequired || len(set.made()) > 0 {
					t.Errorf("%s: %v, state %v, calls %v", name, err, k.state, set.made())
				}
			}
			undeclared := deciding(response)
			undeclared.Extensions = nil
			if err := k.send(undeclared); err != nil || k.state != a2a.StateInputRequired || !strings.Contains(k.said.Parts[0].Text, "does not list the extension") {
				t.Errorf("a message without the extension: %v, state %v, %s", err, k.state, k.said.Parts[0].Text)
			}
			if err := k.send(deciding(response)); err != nil || k.state != a2a.StateCompleted {
				t.Fatalf("%v, state %v", err, k.state)
			}
			var made []string
			for i, tool := range example.Request.Tools {
				if strings.Contains(string(example.Response), fmt.Sprintf(`"id": %q, "approved": true`, tool.ID)) {
					made = append(made, calls[i])
				}
			}
			if diff := cmp.Diff(made, set.made()); diff != "" || len(made) == 0 {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// deciding returns the message of a caller who may decide, with an object of the extension.
func deciding(object string) *a2a.Message {
	m := text("A person has decided.")
	m.Extensions = []string{approval.Extension}
	m.Metadata = a2a.Object(`{"` + approval.Extension + `":` + object + `}`)
	return approval.WithDecidedBy(m, approval.By{Principal: "bob"})
}
