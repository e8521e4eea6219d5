// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// itemJSON is an agent in a response. The order of its parts is the order of the members in the
// JSON.
type itemJSON struct {
	identityJSON
	stateJSON
	offerJSON
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// identityJSON has the first members of an item. Clients that need only the namespace and the name read only the beginning. Except for the namespace and the name, they are
// from the card or, while the agent has no card, from Facts.
type identityJSON struct {
	Namespace        string         `json:"namespace"`
	Name             string         `json:"name"`
	DisplayName      string         `json:"displayName"`
	Description      string         `json:"description"`
	Version          string         `json:"version"`
	Provider         *card.Provider `json:"provider,omitempty"`
	IconURL          string         `json:"iconUrl,omitempty"`
	DocumentationURL string         `json:"documentationUrl,omitempty"`
}

// stateJSON has the members that do not depend on the card. A change of the Agent's status
// changes only these members and updatedAt.
type stateJSON struct {
	URL         string `json:"url"`
	ExternalURL string `json:"externalURL,omitempty"`
	Ready       bool   `json:"ready"`
	Reason      string `json:"reason,omitempty"`
	Remote      bool   `json:"remote,omitempty"`
}

// offerJSON has the members between those of stateJSON and updatedAt. They are from the card.
type offerJSON struct {
	Capabilities       capabilitiesJSON `json:"capabilities"`
	DefaultInputModes  []string         `json:"defaultInputModes"`
	DefaultOutputModes []string         `json:"defaultOutputModes"`
	Skills             []skillJSON      `json:"skills"`
	CardDigest         string           `json:"cardDigest"`
}

// itemLayout has the byte positions at which the parts of an encoded item begin.
type itemLayout struct{ state, offer, updatedAt uint32 }

// encode returns the item as JSON.
func (v *itemJSON) encode() ([]byte, itemLayout, error) {
	identity, err := plainjson.Marshal(v.identityJSON)
	if err != nil {
		return nil, itemLayout{}, err
	}
	offer, err := plainjson.Marshal(v.offerJSON)
	if err != nil {
		return nil, itemLayout{}, err
	}
	offer[0] = ','
	return joinItem(identity[:len(identity)-1], v.stateJSON, offer[:len(offer)-1], v.UpdatedAt)
}

// joinItem returns the JSON of an item with the given parts. identity and offer are encoded:
// identity without its closing brace, and offer with a comma in place of its opening brace and
// without its closing brace.
func joinItem(identity []byte, state stateJSON, offer []byte, updatedAt string) ([]byte, itemLayout, error) {
	encoded, err := plainjson.Marshal(state)
	if err != nil {
		return nil, itemLayout{}, err
	}
	const member = `,"updatedAt":"`
	body := make([]byte, 0, len(identity)+len(encoded)+len(offer)+len(member)+len(updatedAt)+2)
	body = append(body, identity...)
	layout := itemLayout{state: uint32(len(body))} // the size of an object is below 2 MiB
	body = append(body, ',')
	body = append(body, encoded[1:len(encoded)-1]...)
	layout.offer = uint32(len(body)) // the size of an object is below 2 MiB
	body = append(body, offer...)
	layout.updatedAt = uint32(len(body)) // the size of an object is below 2 MiB
	if updatedAt != "" {
		body = append(append(append(body, member...), updatedAt...), '"')
	}
	return append(body, '}'), layout, nil
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

// The names of capabilities, which are values of a filter and members of a card.
const (
	capabilityStreaming         = "streaming"
	capabilityPushNotifications = "pushNotifications"
	capabilityExtendedCard      = "extendedCard"
)

// names returns the names of the agent's capabilities and the URIs of its extensions.
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

// describe sets the members that are from the card.
func (v *itemJSON) describe(c *card.Card) {
	v.DisplayName = c.Name
	v.Description = c.Description
	v.Version = c.Version
	v.Provider = c.Provider
	v.IconURL = c.IconURL
	v.DocumentationURL = c.DocumentationURL
	v.DefaultInputModes = append(v.DefaultInputModes, c.DefaultInputModes...)
	v.DefaultOutputModes = append(v.DefaultOutputModes, c.DefaultOutputModes...)
	v.Capabilities = capabilitiesJSON{
		Streaming: c.Capabilities.Streaming, PushNotifications: c.Capabilities.PushNotifications, ExtendedCard: c.Capabilities.ExtendedCard,
	}
	for i := range c.Capabilities.Extensions {
		v.Capabilities.Extensions = append(v.Capabilities.Extensions, c.Capabilities.Extensions[i].URI)
	}
	v.Skills = slices.Grow(v.Skills, len(c.Skills))
	for i := range c.Skills {
		s := &c.Skills[i]
		v.Skills = append(v.Skills, skillJSON{
			ID: s.ID, Name: s.Name, Description: s.Description, Tags: append([]string{}, s.Tags...), // tags are never null
			Examples: s.Examples, InputModes: s.InputModes, OutputModes: s.OutputModes,
		})
	}
}

// Weights of the words of an agent's texts in a ranked search. Names and tags have high weights,
// because authors choose them so that users find the agent. Examples have a low weight, because
// an example is only one of many possible requests.
const (
	weightName        = 4
	weightSkillName   = 3
	weightTag         = 3
	weightDescription = 2
	weightExample     = 1
	// A namespace narrows a search and says little about an agent.
	weightNamespace = 1
)

// fields returns the texts of the agent that ranked searches use, with their weights.
func (v *itemJSON) fields() []text.Field {
	size := 4
	for i := range v.Skills {
		size += 3 + len(v.Skills[i].Tags) + len(v.Skills[i].Examples)
	}
	fields := append(make([]text.Field, 0, size), text.Field{Text: v.Name, Weight: weightName},
		text.Field{Text: v.DisplayName, Weight: weightName}, text.Field{Text: v.Description, Weight: weightDescription},
		text.Field{Text: v.Namespace, Weight: weightNamespace})
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
