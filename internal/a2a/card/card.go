// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package card holds the model of an A2A Agent Card and its pure renderings.
//
// The operator creates a Card from an Agent, the sidecar serves it, and the
// registry renders it. The package is pure and imports neither Kubernetes nor the
// engine, so that all three render the same bytes.
package card

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

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
	// Bindings are the bindings for which the method At adds interfaces, the preferred one
	// first. Empty means DefaultBindings. A change of Bindings has no effect on Interfaces
	// until At is called.
	Bindings           []Binding        `json:"bindings,omitempty"`
	Capabilities       Capabilities     `json:"capabilities"`
	DefaultInputModes  []string         `json:"defaultInputModes,omitempty"`
	DefaultOutputModes []string         `json:"defaultOutputModes,omitempty"`
	Skills             []Skill          `json:"skills,omitempty"`
	SecuritySchemes    []SecurityScheme `json:"securitySchemes,omitempty"`
	// SecurityOptional is true if calls need none of the SecuritySchemes, and a caller that
	// authenticates has access to more, such as the extended card. The rendered card then
	// lists the schemes without a requirement.
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
	// Security lists the alternative requirements of this skill. A call must meet one of
	// them, in addition to the requirements of the card.
	Security []Requirement `json:"security,omitempty"`
	// Extended is true for a skill that is only on the extended card, which authenticated
	// callers receive.
	Extended bool `json:"extended"`
}

// Requirement maps the names of security schemes to the scopes that a call needs. A call
// must meet all of the schemes in the map.
type Requirement map[string][]string

// SecurityScheme is a way to authenticate. A call needs one of the schemes of a
// card.
type SecurityScheme struct {
	// Name is the key of the scheme in securitySchemes.
	Name        string     `json:"name"`
	Type        SchemeType `json:"type"`
	Description string     `json:"description,omitempty"`
	// Scopes are the scopes that a call needs.
	Scopes []string `json:"scopes,omitempty"`
	// In and ParameterName belong to SchemeAPIKey, such as "header" and "X-API-Key".
	In            string `json:"in,omitempty"`
	ParameterName string `json:"parameterName,omitempty"`
	// Scheme and BearerFormat belong to SchemeHTTP, such as "bearer" and "JWT".
	Scheme       string `json:"scheme,omitempty"`
	BearerFormat string `json:"bearerFormat,omitempty"`
	// Flow and MetadataURL (RFC 8414) belong to SchemeOAuth2.
	Flow        *OAuthFlow `json:"flow,omitempty"`
	MetadataURL string     `json:"oauth2MetadataUrl,omitempty"`
	// OpenIDConnectURL belongs to SchemeOpenIDConnect.
	OpenIDConnectURL string `json:"openIdConnectUrl,omitempty"`
}

// SchemeType is the kind of a SecurityScheme, named as in OpenAPI 3.
type SchemeType string

// The kinds of schemes.
const (
	// SchemeHTTP is HTTP authentication (RFC 9110), such as by a bearer token.
	SchemeHTTP          SchemeType = "http"
	SchemeAPIKey        SchemeType = "apiKey"
	SchemeOAuth2        SchemeType = "oauth2"
	SchemeOpenIDConnect SchemeType = "openIdConnect"
	// SchemeMutualTLS is authentication by a client certificate. A2A 0.3 added it.
	SchemeMutualTLS SchemeType = "mutualTLS"
)

// OAuthFlow describes how a client gets a token. A scheme has one flow, because A2A 1.0
// allows only one.
type OAuthFlow struct {
	Type                   FlowType          `json:"type"`
	AuthorizationURL       string            `json:"authorizationUrl,omitempty"`
	DeviceAuthorizationURL string            `json:"deviceAuthorizationUrl,omitempty"`
	TokenURL               string            `json:"tokenUrl,omitempty"`
	RefreshURL             string            `json:"refreshUrl,omitempty"`
	Scopes                 map[string]string `json:"scopes,omitempty"`
	PKCERequired           bool              `json:"pkceRequired,omitempty"`
}

// FlowType is the name of an OAuth 2 flow.
type FlowType string

// The flows. A2A 1.0 added FlowDeviceCode.
const (
	FlowAuthorizationCode FlowType = "authorizationCode"
	FlowClientCredentials FlowType = "clientCredentials"
	FlowImplicit          FlowType = "implicit"
	FlowPassword          FlowType = "password"
	FlowDeviceCode        FlowType = "deviceCode"
)

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

// AcceptsInput reports whether an input mode of the agent or of one of its skills
// covers a media type. An agent without input modes accepts every media type.
func (c *Card) AcceptsInput(mediaType string) bool {
	mediaType = bare(mediaType)
	declared := len(c.DefaultInputModes) > 0
	matches := func(mode string) bool { return covers(bare(mode), mediaType) }
	if slices.ContainsFunc(c.DefaultInputModes, matches) {
		return true
	}
	for i := range c.Skills {
		if slices.ContainsFunc(c.Skills[i].InputModes, matches) {
			return true
		}
		declared = declared || len(c.Skills[i].InputModes) > 0
	}
	return !declared
}

// bare returns a media type without its parameters, in lower case.
func bare(mediaType string) string {
	name, _, _ := strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// covers reports whether a mode covers a media type. Besides a media type, a mode can be
// */*, a range such as text/*, or a bare type such as "text" in 0.1.
func covers(mode, mediaType string) bool {
	if mode == mediaType || mode == "*/*" || mode == "*" {
		return true
	}
	kind, _, _ := strings.Cut(mediaType, "/")
	return mode == kind || mode == kind+"/*"
}

// RawObject is the text of a JSON object, which the package does not parse.
type RawObject []byte

// MarshalJSON returns the text, or null if o is nil.
func (o RawObject) MarshalJSON() ([]byte, error) {
	return json.RawMessage(o).MarshalJSON()
}

// UnmarshalJSON stores a copy of the text of an object. The value null leaves o
// unchanged. Any other value is an error.
func (o *RawObject) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if len(data) == 0 || data[0] != '{' {
		return errors.New("must be a JSON object")
	}
	*o = append((*o)[:0], data...)
	return nil
}

// Form is a format of a rendered card, made for clients of certain versions.
type Form uint8

// The forms.
const (
	// FormUnion is for clients of every version.
	FormUnion Form = iota
	// FormV03 is the card of the JSON Schemas of 0.2 and 0.3. Each security scheme also has
	// the member of the 0.3 proto, because some clients parse the card as ProtoJSON.
	FormV03
	// FormV03Proto is the message a2a.v1.AgentCard of 0.3 as ProtoJSON.
	FormV03Proto
	// FormV10 is the card of 1.0 as specified, which is ProtoJSON.
	FormV10
)

// Forms is the number of forms.
const Forms = int(FormV10) + 1

// Profile selects the forms that the sidecar serves.
type Profile string

// The profiles. The zero value "" means ProfileUnion.
const (
	// ProfileUnion serves FormUnion to clients whose request does not ask for version 1.x.
	ProfileUnion Profile = "Union"
	// ProfileV1 serves FormV10 to all clients that request the card at its path in 0.3 and
	// later, /.well-known/agent-card.json. It is for clients of 1.0 that refuse unknown
	// members.
	ProfileV1 Profile = "V1"
)
