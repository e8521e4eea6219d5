// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// itemJSON is an agent in a response.
type itemJSON struct {
	Namespace          string           `json:"namespace"`
	Name               string           `json:"name"`
	DisplayName        string           `json:"displayName"`
	Description        string           `json:"description"`
	Version            string           `json:"version"`
	Provider           *card.Provider   `json:"provider,omitempty"`
	IconURL            string           `json:"iconUrl,omitempty"`
	DocumentationURL   string           `json:"documentationUrl,omitempty"`
	URL                string           `json:"url"`
	ExternalURL        string           `json:"externalURL,omitempty"`
	Ready              bool             `json:"ready"`
	Reason             string           `json:"reason,omitempty"`
	Remote             bool             `json:"remote,omitempty"`
	Capabilities       capabilitiesJSON `json:"capabilities"`
	DefaultInputModes  []string         `json:"defaultInputModes"`
	DefaultOutputModes []string         `json:"defaultOutputModes"`
	Skills             []skillJSON      `json:"skills"`
	CardDigest         string           `json:"cardDigest"`
	UpdatedAt          string           `json:"updatedAt,omitempty"`
}

type capabilitiesJSON struct {
	Streaming         bool     `json:"streaming"`
	PushNotifications bool     `json:"pushNotifications"`
	ExtendedCard      bool     `json:"extendedCard"`
	Extensions        []string `json:"extensions,omitempty"`
}

type skillJSON struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples,omitempty"`
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
}

// The names of capabilities, as a filter and as members of a card.
const (
	capabilityStreaming         = "streaming"
	capabilityPushNotifications = "pushNotifications"
	capabilityExtendedCard      = "extendedCard"
)

// names returns the capabilities of the agent: those with a name of their own, and the
// URIs of extensions.
func (c *capabilitiesJSON) names() []string {
	names := append([]string(nil), c.Extensions...)
	if c.Streaming {
		names = append(names, capabilityStreaming)
	}
	if c.PushNotifications {
		names = append(names, capabilityPushNotifications)
	}
	if c.ExtendedCard {
		names = append(names, capabilityExtendedCard)
	}
	return names
}

// describe sets the members that the card has.
func (v *itemJSON) describe(c *card.Card) {
	v.DisplayName, v.Description, v.Version = c.Name, c.Description, c.Version
	v.Provider, v.IconURL, v.DocumentationURL = c.Provider, c.IconURL, c.DocumentationURL
	v.DefaultInputModes = append(v.DefaultInputModes, c.DefaultInputModes...)
	v.DefaultOutputModes = append(v.DefaultOutputModes, c.DefaultOutputModes...)
	v.Capabilities = capabilitiesJSON{
		Streaming: c.Capabilities.Streaming, PushNotifications: c.Capabilities.PushNotifications, ExtendedCard: c.Capabilities.ExtendedCard,
	}
	for i := range c.Capabilities.Extensions {
		v.Capabilities.Extensions = append(v.Capabilities.Extensions, c.Capabilities.Extensions[i].URI)
	}
	for i := range c.Skills {
		s := &c.Skills[i]
		v.Skills = append(v.Skills, skillJSON{
			ID: s.ID, Name: s.Name, Description: s.Description, Tags: append([]string{}, s.Tags...), // never null
			Examples: s.Examples, InputModes: s.InputModes, OutputModes: s.OutputModes,
		})
	}
}

// Weights of the words of an agent's texts in a ranked search. Tags and names are
// chosen to be found; an example is one sentence of many that a user may say.
const (
	weightName        = 4
	weightSkillName   = 3
	weightTag         = 3
	weightDescription = 2
	weightExample     = 1
)

// fields returns the texts of the agent that a search reads.
func (v *itemJSON) fields() []text.Field {
	fields := []text.Field{
		{Text: v.Name, Weight: weightName},
		{Text: v.DisplayName, Weight: weightName},
		{Text: v.Description, Weight: weightDescription},
	}
	for i := range v.Skills {
		s := &v.Skills[i]
		fields = append(fields, text.Field{Text: s.ID, Weight: weightSkillName}, text.Field{Text: s.Name, Weight: weightSkillName},
			text.Field{Text: s.Description, Weight: weightDescription})
		for _, tag := range s.Tags {
			fields = append(fields, text.Field{Text: tag, Weight: weightTag})
		}
		for _, example := range s.Examples {
			fields = append(fields, text.Field{Text: example, Weight: weightExample})
		}
	}
	return fields
}
