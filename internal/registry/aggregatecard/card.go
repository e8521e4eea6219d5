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
)

// MaxAgents bounds the agents on a card. The registry's pages of a search have the same
// bound.
const MaxAgents = 200

// AgentsExtension is the URI of the extension with the agents of an aggregate card. Its
// params are
//
//	{"agents": [{"namespace": "…", "name": "…", "url": "…", "externalURL": "…"}], "total": 1, "nextCursor": "…"}
//
// with an agent for each two first segments of a skill id. The extension changes no
// message, so clients need not activate it.
const AgentsExtension = "https://a2a-operator.dev/extensions/aggregate-card/v1"

// Agents are the agents that a caller sees.
type Agents struct {
	// Items are the first ones in the order of namespace and name, as the registry lists
	// them.
	Items [][]byte
	// Total counts all of them.
	Total int
	// NextCursor is where a search for the agents after Items begins, "" if there are none.
	NextCursor string
}

// agent is what a card needs of an agent, as the registry lists it.
type agent struct {
	Namespace          string   `json:"namespace"`
	Name               string   `json:"name"`
	URL                string   `json:"url"`
	ExternalURL        string   `json:"externalURL"`
	DefaultInputModes  []string `json:"defaultInputModes"`
	DefaultOutputModes []string `json:"defaultOutputModes"`
	Skills             []skill  `json:"skills"`
}

type skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples"`
	InputModes  []string `json:"inputModes"`
	OutputModes []string `json:"outputModes"`
}

// reference names an agent in the params of AgentsExtension.
type reference struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	URL         string `json:"url,omitempty"`
	ExternalURL string `json:"externalURL,omitempty"`
}

// New returns the aggregate card: own, the card of the registry, and after its skills those
// of the agents. The id of such a skill is namespace.agent.skill; namespaces and agents have
// no dot in their names, so that the first two dots separate the parts.
func New(own *card.Card, agents Agents) (*card.Card, error) {
	out := *own
	// The caller is authenticated, so that the card lists the schemes without a requirement:
	// a2a-go v2.4.0 cannot read the requirements of a card of 1.0.
	out.SecurityOptional = true
	out.Skills = slices.Clone(own.Skills)
	references := make([]reference, 0, len(agents.Items))
	for _, item := range agents.Items {
		var a agent
		if err := json.Unmarshal(item, &a); err != nil {
			return nil, fmt.Errorf("read agent: %w", err)
		}
		references = append(references, reference{a.Namespace, a.Name, a.URL, a.ExternalURL})
		for i := range a.Skills {
			out.Skills = append(out.Skills, a.skill(&a.Skills[i]))
		}
	}
	params, err := json.Marshal(struct {
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

// describe explains the skills of the agents, and where the others are.
func describe(agents *Agents) string {
	text := "A skill whose id is <namespace>.<agent>.<skill> is that of an agent: send its messages to the URL in its description."
	if agents.NextCursor == "" {
		return text
	}
	return text + fmt.Sprintf(" The card has the skills of %d of the %d agents that you may see, in the order of namespace and name:"+
		` for the others, send {"cursor":%q} to find-agents.`, len(agents.Items), agents.Total, agents.NextCursor)
}

func (a *agent) skill(s *skill) card.Skill {
	out := card.Skill{
		ID:   a.Namespace + "." + a.Name + "." + s.ID,
		Name: s.Name, Tags: s.Tags, Examples: s.Examples, InputModes: s.InputModes, OutputModes: s.OutputModes,
	}
	if len(out.InputModes) == 0 {
		out.InputModes = a.DefaultInputModes
	}
	if len(out.OutputModes) == 0 {
		out.OutputModes = a.DefaultOutputModes
	}
	at := " at " + a.URL
	if a.URL == "" {
		at = ", which has no URL yet"
	}
	out.Description = strings.TrimSpace(s.Description + "\nAgent " + a.Namespace + "/" + a.Name + at)
	return out
}
