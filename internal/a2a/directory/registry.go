// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// Registry is the registry that a directory agent reads. Its methods are safe for
// concurrent use. Their errors are *a2a.Error and the errors of ctx.
type Registry interface {
	// Find returns a page of a search. The parameters are those of GET /v1/agents.
	Find(ctx context.Context, parameters url.Values) (*Page, error)
	// Card returns the card of an agent as a JSON object. If version is "1.0", it returns
	// the card of 1.0, and for any other version the union card.
	Card(ctx context.Context, a Agent, version string) (json.RawMessage, error)
}

// Page is a page of a search.
type Page struct {
	// Items are entries of the registry, each a JSON object.
	Items []json.RawMessage `json:"items"`
	// NextCursor is "" on the last page.
	NextCursor string `json:"nextCursor"`
	Total      int    `json:"total"`
}

// Agent is the name of an agent.
type Agent struct{ Namespace, Name string }

// ParseAgent reads a name such as team/echo. It returns false unless both parts are DNS
// labels.
func ParseAgent(text string) (Agent, bool) {
	namespace, name, ok := strings.Cut(text, "/")
	return Agent{namespace, name}, ok && label(namespace) && label(name)
}

func label(s string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && s[0] != '-' && s[len(s)-1] != '-'
}

func (a Agent) String() string { return a.Namespace + "/" + a.Name }

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
