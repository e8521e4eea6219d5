// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package card holds the model of an A2A Agent Card and its pure renderings.
//
// The operator fills a Card from an Agent, the sidecar serves it, the registry
// passes it on. The package reads no clock, opens no connection and imports
// neither Kubernetes nor the engine, so that all three render the same bytes.
package card

import "slices"

// Binding names a transport on a card. The values are those of the A2A
// specification, 1.0 section 4.4.6.
type Binding string

// The bindings that a card may list.
const (
	JSONRPC  Binding = "JSONRPC"
	HTTPJSON Binding = "HTTP+JSON"
	GRPC     Binding = "GRPC"
)

// Card is what an agent says about itself, independent of any protocol
// version. The JSON form is internal: it travels in the contract and in the
// file given to `sidecar --card`. What clients see comes from Render.
type Card struct {
	Name             string    `json:"name"`
	Description      string    `json:"description"`
	Version          string    `json:"version"`
	Provider         *Provider `json:"provider,omitempty"`
	IconURL          string    `json:"iconUrl,omitempty"`
	DocumentationURL string    `json:"documentationUrl,omitempty"`
	// Interfaces lists where the agent is served, the preferred one first.
	Interfaces []Interface `json:"interfaces,omitempty"`
	// Bindings are those that the card lists at each base, the preferred one
	// first; none are DefaultBindings. They do not change the Interfaces.
	Bindings           []Binding        `json:"bindings,omitempty"`
	Capabilities       Capabilities     `json:"capabilities"`
	DefaultInputModes  []string         `json:"defaultInputModes,omitempty"`
	DefaultOutputModes []string         `json:"defaultOutputModes,omitempty"`
	Skills             []Skill          `json:"skills,omitempty"`
	SecuritySchemes    []SecurityScheme `json:"securitySchemes,omitempty"`
	// SecurityOptional is true when calls need none of the SecuritySchemes: a
	// caller that uses one gets more, such as the extended card. The card then
	// lists schemes and no requirement.
	SecurityOptional bool `json:"securityOptional,omitempty"`
}

// Provider is the organization behind the agent. Both fields are required
// from 0.2 on.
type Provider struct {
	Organization string `json:"organization"`
	URL          string `json:"url"`
}

// Interface is one address at which one binding of one protocol version is
// served.
type Interface struct {
	URL     string  `json:"url"`
	Binding Binding `json:"binding"`
	// ProtocolVersion is Major.Minor, such as "1.0" or "0.3".
	ProtocolVersion string `json:"protocolVersion"`
	// Tenant is what calls to it name, "" for none. It came with 1.0.
	Tenant string `json:"tenant,omitempty"`
}

// Capabilities are derived from what is served, never typed in by a user.
type Capabilities struct {
	Streaming         bool        `json:"streaming,omitempty"`
	PushNotifications bool        `json:"pushNotifications,omitempty"`
	ExtendedCard      bool        `json:"extendedCard,omitempty"`
	Extensions        []Extension `json:"extensions,omitempty"`
}

// Extension declares a protocol extension that the agent understands.
type Extension struct {
	URI         string `json:"uri"`
	Description string `json:"description,omitempty"`
	// Required makes calls of clients that do not activate it fail.
	Required bool `json:"required,omitempty"`
	// Params is any JSON object; nil when absent.
	Params RawObject `json:"params,omitempty"`
}

// Skill is one thing that the agent can do.
type Skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples,omitempty"`
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
	// InputSchema and OutputSchema are JSON Schemas of structured data, nil when
	// absent. No version has a place for them; they stand in SchemasExtension.
	InputSchema  RawObject `json:"inputSchema,omitempty"`
	OutputSchema RawObject `json:"outputSchema,omitempty"`
	// Security is what this skill asks for beyond the card's own schemes. Any
	// one of the requirements is enough.
	Security []Requirement `json:"security,omitempty"`
	// Extended keeps the skill off the public card: it stands on the extended
	// one, for callers who are known.
	Extended bool `json:"extended,omitempty"`
}

// Requirement names security schemes, all of which are needed, and the scopes
// of each.
type Requirement map[string][]string

// HasExtended reports whether there is a skill for callers who are known.
func (c *Card) HasExtended() bool {
	return slices.ContainsFunc(c.Skills, func(s Skill) bool { return s.Extended })
}

// Extended returns the card for callers who are known: the one that holds
// every skill.
func (c *Card) Extended() *Card {
	extended := *c
	extended.Skills = slices.Clone(c.Skills)
	for i := range extended.Skills {
		extended.Skills[i].Extended = false
	}
	return &extended
}

// Public returns the card for everybody.
func (c *Card) Public() *Card {
	public := *c
	public.Skills = slices.DeleteFunc(slices.Clone(c.Skills), func(s Skill) bool { return s.Extended })
	return &public
}
