// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package aggregatecard makes the aggregate card of a cluster: the card of the registry
// with the skills of the agents that one caller sees. The package is pure.
package aggregatecard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

// MaxAgents bounds the agents on a card. It is also the maximum page size of a search in the
// registry.
const MaxAgents = 200

// AgentsExtension is the URI of the extension that lists the agents of an aggregate card. Its params are
//
//	{"agents": [{"namespace": "…", "name": "…", "url": "…", "externalURL": "…"}], "total": 1, "nextCursor": "…"}
//
// The id of each skill begins with the namespace and the name of one of these agents. The extension changes no
// message, so clients need not activate it.
const AgentsExtension = "https://a2a-operator.dev/extensions/aggregate-card/v1"

// Agents are the agents that a caller sees.
type Agents struct {
	// Items are the first agents in the order of namespace and name. Each is the JSON of an agent
	// in a list of the registry.
	Items [][]byte
	// Total is the number of all agents that the caller sees.
	Total int
	// NextCursor is the cursor of a search for the agents after Items, "" if Items has all agents.
	NextCursor string
}

// agent has the fields that a card needs from the JSON of an agent in a list of the registry.
type agent struct {
	reference
	DefaultInputModes  []string     `json:"defaultInputModes"`
	DefaultOutputModes []string     `json:"defaultOutputModes"`
	Skills             []card.Skill `json:"skills"`
}

// reference names an agent in the params of AgentsExtension.
type reference struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	URL         string `json:"url,omitempty"`
	ExternalURL string `json:"externalURL,omitempty"`
}

// New returns the aggregate card. It is own, the card of the registry, with the skills of agents
// appended. The id of an agent's skill is namespace.agent.skill. Names of namespaces and agents
// contain no dot, so the first two dots separate the parts.
func New(own *card.Card, agents Agents) (*card.Card, error) {
	out := *own
	// The card has security schemes but does not require them. The reader is already authenticated,
	// and a2a-go v2.4.0 cannot read the requirements of a card of 1.0.
	out.SecurityOptional = true
	out.Skills = slices.Clone(own.Skills)
	references := make([]reference, 0, len(agents.Items))
	for _, item := range agents.Items {
		var a agent
		if err := json.Unmarshal(item, &a); err != nil {
			return nil, fmt.Errorf("read agent: %w", err)
		}
		references = append(references, a.reference)
		for _, s := range a.Skills {
			out.Skills = append(out.Skills, a.skill(s))
		}
	}
	params, err := plainjson.Marshal(struct {
		Agents     []reference `json:"agents"`
		Total      int         `json:"total"`
		NextCursor string      `json:"nextCursor,omitempty"`
	}{references, agents.Total, agents.NextCursor})
	if err != nil {
		return nil, fmt.Errorf("encode agents: %w", err)
	}
	out.Capabilities.Extensions = append(slices.Clone(own.Capabilities.Extensions), card.Extension{
		URI: AgentsExtension, Description: "Agents whose skills are on this card", Params: params,
	})
	out.Description = strings.TrimSuffix(own.Description, ".") + ". " + describe(&agents)
	return &out, nil
}

// describe returns an explanation of the agents' skills, and of how to find further agents.
func describe(agents *Agents) string {
	text := "A skill whose id is <namespace>.<agent>.<skill> is that of an agent: send its messages to the URL in its description."
	if agents.NextCursor == "" {
		return text
	}
	return text + fmt.Sprintf(" The card has the skills of %d of the %d agents that you may see, in the order of namespace and name:"+
		` for the others, send {"cursor":%q} to find-agents.`, len(agents.Items), agents.Total, agents.NextCursor)
}

// skill returns a skill of the agent as a skill of the aggregate card.
func (a *agent) skill(s card.Skill) card.Skill {
	s.ID = a.Namespace + "." + a.Name + "." + s.ID
	if len(s.InputModes) == 0 {
		s.InputModes = a.DefaultInputModes
	}
	if len(s.OutputModes) == 0 {
		s.OutputModes = a.DefaultOutputModes
	}
	at := " at " + a.URL
	if a.URL == "" {
		at = ", which has no URL yet"
	}
	s.Description = strings.TrimSpace(s.Description + "\nAgent " + a.Namespace + "/" + a.Name + at)
	return s
}
