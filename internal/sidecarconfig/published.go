// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// Published is the part of a published configuration that a later configuration may
// retain.
type Published struct {
	// Card is the published card. Its interfaces, security schemes and capabilities are
	// those of the published configuration.
	Card card.Card
	// Rules are the published authorization rules.
	Rules []Rule
}

// ReadPublished decodes the card and the authorization rules of an encoded
// configuration. It ignores unknown members, so that it can read the configuration of a
// newer operator.
//
// It returns an error if the configuration is larger than MaxSize bytes, has another
// Version or belongs to another agent. It also returns an error if the card has no name
// or no skills, or if a skill has no id or the id of another skill.
func ReadPublished(encoded []byte, agent Agent) (*Published, error) {
	if len(encoded) > MaxSize {
		return nil, ErrTooLarge
	}
	if err := card.CheckValues(encoded); err != nil {
		return nil, fmt.Errorf("decode sidecar configuration: %w", err)
	}
	var c struct {
		Version string    `json:"version"`
		Agent   Agent     `json:"agent"`
		Card    card.Card `json:"card"`
		Access  struct {
			Authorization *Authorization `json:"authorization"`
		} `json:"access"`
	}
	if err := json.Unmarshal(encoded, &c); err != nil {
		return nil, fmt.Errorf("decode sidecar configuration: %w", err)
	}
	switch {
	case c.Version != Version:
		return nil, fmt.Errorf("sidecar configuration: version is %q, must be %q", c.Version, Version)
	case c.Agent != agent:
		return nil, fmt.Errorf("sidecar configuration: agent is %s/%s, must be of %s/%s", c.Agent.Namespace, c.Agent.Name, agent.Namespace, agent.Name)
	case c.Card.Name == "":
		return nil, errors.New("sidecar configuration: card.name is required")
	case len(c.Card.Skills) == 0:
		return nil, errors.New("sidecar configuration: card.skills is required")
	}
	known := map[string]bool{}
	for i := range c.Card.Skills {
		id := c.Card.Skills[i].ID
		if id == "" || known[id] {
			return nil, fmt.Errorf("sidecar configuration: card.skills[%d].id is %q, must be unique and not empty", i, id)
		}
		known[id] = true
	}
	published := &Published{Card: c.Card}
	if c.Access.Authorization != nil {
		published.Rules = c.Access.Authorization.Rules
	}
	return published, nil
}
