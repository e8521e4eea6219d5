// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// The skills.
const (
	// SkillFind searches the registry.
	SkillFind = "find-agents"
	// SkillCard returns the card of an agent.
	SkillCard = "get-card"
)

// Card returns the card of a directory agent without interfaces.
func Card(name, description, version string) *card.Card {
	modes := []string{"text/plain", "application/json"}
	return &card.Card{
		Name: name, Description: description, Version: version,
		Capabilities:      card.Capabilities{Streaming: true},
		DefaultInputModes: modes, DefaultOutputModes: modes,
		Skills: []card.Skill{
			{
				ID: SkillFind, Name: "Find agents",
				Description: "Searches the registry. Send what the agent must be able to do as text, and get the best matches first, or an object with parameters of the registry's search: " +
					strings.Join(SearchParameters, ", ") + ".",
				Tags: []string{"discovery", "registry"}, Examples: []string{"Will it rain in Paris?", `{"skill":"echo","ready":true}`},
			},
			{
				ID: SkillCard, Name: "Get card",
				Description: `Returns the card of one agent. Send its name as text, such as team/echo, or as an object with "namespace" and "name", ` +
					`and name this skill in the metadata, as "` + a2a.SkillName + `".`,
				Tags: []string{"discovery", "registry"}, Examples: []string{"team/echo", `{"namespace":"team","name":"echo"}`},
			},
		},
	}
}
