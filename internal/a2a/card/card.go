// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package card holds the model of an A2A Agent Card and its pure renderings.
//
// The operator fills a Card from an Agent, the sidecar serves it, the registry
// passes it on. The package reads no clock, opens no connection and imports
// neither Kubernetes nor the engine, so that all three render the same bytes.
package card

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
// file given to `sidecar --card`. What clients see comes from Union and V1.
type Card struct {
	Name             string    `json:"name"`
	Description      string    `json:"description"`
	Version          string    `json:"version"`
	Provider         *Provider `json:"provider,omitempty"`
	IconURL          string    `json:"iconUrl,omitempty"`
	DocumentationURL string    `json:"documentationUrl,omitempty"`
	// Interfaces lists where the agent is served, the preferred one first.
	Interfaces         []Interface      `json:"interfaces,omitempty"`
	Capabilities       Capabilities     `json:"capabilities"`
	DefaultInputModes  []string         `json:"defaultInputModes,omitempty"`
	DefaultOutputModes []string         `json:"defaultOutputModes,omitempty"`
	Skills             []Skill          `json:"skills,omitempty"`
	SecuritySchemes    []SecurityScheme `json:"securitySchemes,omitempty"`
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
}

// SecurityScheme is one way to authenticate. Any one of a card's schemes is
// enough to call the agent.
type SecurityScheme struct {
	// Name is the key under which the scheme stands in securitySchemes.
	Name        string     `json:"name"`
	Type        SchemeType `json:"type"`
	Description string     `json:"description,omitempty"`
	// Scheme and BearerFormat belong to SchemeHTTP: "bearer", "JWT".
	Scheme       string `json:"scheme,omitempty"`
	BearerFormat string `json:"bearerFormat,omitempty"`
}

// SchemeType is the kind of a SecurityScheme, named as in OpenAPI 3.
type SchemeType string

// SchemeHTTP is RFC 9110 authentication, such as a bearer token.
const SchemeHTTP SchemeType = "http"

// Form is what a rendering of a card looks like.
type Form uint8

// The forms.
const (
	// FormUnion is read by clients of every version.
	FormUnion Form = iota
	// FormV03 is the card of 0.2 and 0.3 by the letter.
	FormV03
	// FormV10 is the card of 1.0 by the letter.
	FormV10
)
