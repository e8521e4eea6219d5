// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inputform

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// TestRequestsOfThePublishedProfile answers the requests of the published profile as a person does, and compares the messages with its
// responses.
func TestRequestsOfThePublishedProfile(t *testing.T) {
	text, err := os.ReadFile("../../approval/testdata/profile.json")
	if err != nil {
		t.Fatal(err)
	}
	var examples []struct {
		Name              string
		Request, Response json.RawMessage
	}
	if err := json.Unmarshal(text, &examples); err != nil {
		t.Fatal(err)
	}
	for _, example := range examples {
		t.Run(example.Name, func(t *testing.T) {
			f := Of(extended(string(example.Request)))
			if f == nil {
				t.Fatal("the request has no form")
			}
			var person struct {
				Approvals []struct {
					ID       string
					Approved bool
					Reason   string `json:"rejection_reason"`
				}
				Answers []struct{ Answer []string }
			}
			if err := json.Unmarshal(example.Response, &person); err != nil {
				t.Fatal(err)
			}
			m := &a2a.Message{}
			var decisions []Decision
			for _, d := range person.Approvals {
				decisions = append(decisions, Decision{ID: d.ID, Approved: d.Approved, Reason: d.Reason})
			}
			var replies []Reply
			for i, answer := range person.Answers {
				var reply Reply
				for _, text := range answer.Answer {
					if at := slices.Index(f.Questions[i].Choices, text); at >= 0 {
						reply.Choices = append(reply.Choices, at)
						continue
					}
					reply.Text = text
				}
				replies = append(replies, reply)
			}
			if len(f.Calls) > 0 {
				err = f.Decide(m, decisions)
			} else {
				err = f.Reply(m, replies)
			}
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			var want any
			if err := json.Unmarshal(m.Metadata, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(example.Response, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got[Extension]); diff != "" || !slices.Equal(m.Extensions, []string{Extension}) || len(m.Parts) != 1 {
				t.Errorf("the message is %+v (-want +got):\n%s", m, diff)
			}
		})
	}
}
