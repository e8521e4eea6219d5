// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package card holds the model of an A2A Agent Card and its pure renderings.
//
// The operator creates a Card from an Agent, the sidecar serves it, and the
// registry renders it. The package is pure and imports neither Kubernetes nor the
// engine, so that all three render the same bytes.
package card

import "slices"

// Binding is a transport of the protocol. Its values are the names in A2A 1.0 section
// 4.4.6.
type Binding string

// The bindings that a card may list.
const (
	JSONRPC  Binding = "JSONRPC"
	HTTPJSON Binding = "HTTP+JSON"
	GRPC     Binding = "GRPC"
)

// Card describes an agent, independent of the protocol version. Its JSON is an internal
// format: it is part of the sidecar configuration and of the file that `sidecar --card`
// reads. Clients receive the result of Render instead.
type Card struct {
	Name             string    `json:"name"`
	Description      string    `json:"description"`
	Version          string    `json:"version"`
	Provider         *Provider `json:"provider,omitempty"`
	IconURL          string    `json:"iconUrl,omitempty"`
	DocumentationURL string    `json:"documentationUrl,omitempty"`
	// Interfaces are the addresses of the agent, the preferred one first.
	Interfaces []Interface `json:"interfaces,omitempty"`
	// Bindings are the bindings that At lists, the preferred one first. Empty means
	// DefaultBindings. They do not change the Interfaces.
	Bindings           []Binding        `json:"bindings,omitempty"`
	Capabilities       Capabilities     `json:"capabilities"`
	DefaultInputModes  []string         `json:"defaultInputModes,omitempty"`
	DefaultOutputModes []string         `json:"defaultOutputModes,omitempty"`
	Skills             []Skill          `json:"skills,omitempty"`
	SecuritySchemes    []SecurityScheme `json:"securitySchemes,omitempty"`
	// SecurityOptional is true if calls need none of the SecuritySchemes. A caller that
	// authenticates by one of the schemes has access to more, such as the extended card. The
	// card then lists the schemes without a requirement.
	SecurityOptional bool `json:"securityOptional,omitempty"`
}

// Provider is the organization that provides the agent. 0.2 and later require both
// fields.
type Provider struct {
	Organization string `json:"organization"`
	URL          string `json:"url"`
}

// Interface is the address of the agent for one binding and one protocol version.
type Interface struct {
	URL     string  `json:"url"`
	Binding Binding `json:"binding"`
	// ProtocolVersion is Major.Minor, such as "1.0" or "0.3".
	ProtocolVersion string `json:"protocolVersion"`
	// Tenant is the tenant that calls must name, "" for none. A2A 1.0 added this field to
	// interfaces.
	Tenant string `json:"tenant,omitempty"`
}

// Capabilities are derived from the configuration. Users do not set them.
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
	// Required makes the sidecar refuse calls that do not activate the extension.
	Required bool `json:"required,omitempty"`
	// Params is a JSON object, nil for none.
	Params RawObject `json:"params,omitempty"`
}

// Skill is a capability of the agent.
type Skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples,omitempty"`
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
	// InputSchema and OutputSchema are JSON Schemas of structured data, nil for none.
	// No version has fields for them; the card has them in SchemasExtension.
	InputSchema  RawObject `json:"inputSchema,omitempty"`
	OutputSchema RawObject `json:"outputSchema,omitempty"`
	// Security lists requirements of this skill in addition to those of the card. A call
	// must meet one of them.
	Security []Requirement `json:"security,omitempty"`
	// Extended is true for a skill that is only on the extended card, which authenticated
	// callers receive.
	Extended bool `json:"extended,omitempty"`
}

// Requirement maps the names of security schemes to the scopes that a call needs. A call
// must meet all of the schemes in the map.
type Requirement map[string][]string

// HasExtended reports whether some skill is on the extended card only.
func (c *Card) HasExtended() bool {
	return slices.ContainsFunc(c.Skills, func(s Skill) bool { return s.Extended })
}

// Extended returns the extended card, which has every skill.
func (c *Card) Extended() *Card {
	extended := *c
	extended.Skills = slices.Clone(c.Skills)
	for i := range extended.Skills {
		extended.Skills[i].Extended = false
	}
	return &extended
}

// Public returns the public card, which lacks the skills with Extended set.
func (c *Card) Public() *Card {
	public := *c
	public.Skills = slices.DeleteFunc(slices.Clone(c.Skills), func(s Skill) bool { return s.Extended })
	return &public
}
