// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package skilltools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/skilltools"
)

func TestSkills(t *testing.T) {
	all := []skilltools.Skill{
		{ID: "triage", Name: "Triage", Description: "Sorts incidents", Instructions: "# Triage\nLook first.", Resources: map[string]string{"b.md": "B", "a.md": "A"}},
		{ID: "card-only", Name: "Card", Description: "A line on the card"},
	}
	s := skilltools.Skills{Current: func() []skilltools.Skill { return all }}
	tools, err := s.Tools(t.Context(), nil)
	if err != nil || len(tools) != 1 {
		t.Fatalf("Tools() = %v, %v", tools, err)
	}
	if d := tools[0].Description; !strings.Contains(d, "- triage: Triage. Sorts incidents") || strings.Contains(d, "card-only") {
		t.Errorf("description %q", d)
	}
	for arguments, want := range map[string]*model.Result{
		`{"skill":"triage"}`:                   {Text: "# Triage\nLook first.\n\nResources: a.md, b.md"},
		`{"skill":"triage","resource":"a.md"}`: {Text: "A"},
		`{"skill":"triage","resource":"c.md"}`: {Text: `Skill triage has no resource "c.md"; its resources are: a.md, b.md`, IsError: true},
		`{"skill":"other"}`:                    {Text: `The agent has no skill "other"`, IsError: true},
		`{"skill":1}`:                          {Text: "The arguments must be skill and resource, both texts", IsError: true},
	} {
		got, err := s.Call(t.Context(), &model.Call{Tool: tools[0], Arguments: json.RawMessage(arguments)}, nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", arguments, err, diff)
		}
	}
	all = all[1:]
	if tools, err := s.Tools(t.Context(), nil); err != nil || len(tools) > 0 {
		t.Errorf("Tools() = %v, %v, want none", tools, err)
	}
}
