// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package skilltools lets a model load the instructions and resources of the agent's skills when it needs them, in the manner of
// the Agent Skills format. The model sees name and description of each skill, and reads the rest by a tool.
//
// The text of a skill is data. It gives the agent no tool and no right that the agent does not have.
package skilltools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
)

// ToolName is the name of the tool.
const ToolName = "load_skill"

// Skill is a skill with instructions.
type Skill struct {
	ID, Name, Description string
	// Instructions is Markdown.
	Instructions string
	// Resources are further texts, by their names.
	Resources map[string]string
}

// Skills are the skills of an agent.
type Skills struct {
	// Current returns the skills now. Those without instructions and resources are not offered.
	Current func() []Skill
}

var _ model.Toolset = Skills{}

// Tools implements model.Toolset.
func (s Skills) Tools(context.Context, *backend.Turn) ([]*model.Tool, error) {
	var list strings.Builder
	var ids []string
	for _, skill := range s.Current() {
		if skill.Instructions == "" && len(skill.Resources) == 0 {
			continue
		}
		ids = append(ids, skill.ID)
		fmt.Fprintf(&list, "\n- %s: %s. %s", skill.ID, skill.Name, skill.Description)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	schema, err := json.Marshal(map[string]any{
		"type": "object",
		"properties": map[string]any{
			"skill":    map[string]any{"type": "string", "enum": ids},
			"resource": map[string]any{"type": "string", "description": "The name of a resource of the skill. Without it, the instructions are loaded, with the names of the resources."},
		},
		"required": []string{"skill"},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the schema of %s: %w", ToolName, err)
	}
	return []*model.Tool{{
		Name: ToolName, Key: ToolName, Parameters: a2a.Object(schema), Source: "the skills of this agent", IsRepeatable: true, Toolset: s,
		Description: "Loads the instructions of a skill of this agent. Load them before you do what the skill describes." + list.String(),
	}}, nil
}

// Call implements model.Toolset.
func (s Skills) Call(_ context.Context, c *model.Call, _ func(string)) (*model.Result, error) {
	var arguments struct {
		Skill    string `json:"skill"`
		Resource string `json:"resource"`
	}
	if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
		return &model.Result{Text: "The arguments must be skill and resource, both texts", IsError: true}, nil //nolint:nilerr // the mistake of the model
	}
	for _, skill := range s.Current() {
		if skill.ID == arguments.Skill {
			return skill.load(arguments.Resource), nil
		}
	}
	return &model.Result{Text: fmt.Sprintf("The agent has no skill %q", arguments.Skill), IsError: true}, nil
}

func (s *Skill) load(resource string) *model.Result {
	names := make([]string, 0, len(s.Resources))
	for name := range s.Resources {
		names = append(names, name)
	}
	slices.Sort(names)
	if resource != "" {
		text, ok := s.Resources[resource]
		if !ok {
			return &model.Result{Text: fmt.Sprintf("Skill %s has no resource %q; its resources are: %s", s.ID, resource, strings.Join(names, ", ")), IsError: true}
		}
		return &model.Result{Text: text}
	}
	text := s.Instructions
	if len(names) > 0 {
		text += "\n\nResources: " + strings.Join(names, ", ")
	}
	return &model.Result{Text: text}
}
