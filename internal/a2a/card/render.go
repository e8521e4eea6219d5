// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

// Signature is one JWS over a card, in the flattened JSON serialization.
type Signature struct {
	Protected string `json:"protected"`
	Signature string `json:"signature"`
}

// Render returns a card in a form, with its public skills only. To render all skills, pass
// c.Extended(). Equal cards result in equal bytes.
//
// FormUnion contains the requirements of 1.0 as security_requirements, their name in the
// proto. Readers of ProtoJSON, such as the official Java client, accept this name. The name
// securityRequirements would break the official Go client: that client asks for no version,
// so it receives FormUnion, and it refuses a card whose securityRequirements have the shape
// of the specification.
func Render(c *Card, f Form, signatures ...Signature) ([]byte, error) {
	out := shared(c)
	public := c.Public().Skills
	schemas, err := schemasExtension(public)
	if err != nil {
		return nil, err
	}
	// Clip makes append copy, so that the capabilities of c do not change.
	out.Capabilities.Extensions = append(slices.Clip(out.Capabilities.Extensions), schemas...)
	out.Signatures = signatures
	if f == FormUnion || f == FormV10 {
		out.SupportedInterfaces = new(supportedInterfaces(c.Interfaces))
		out.Capabilities.ExtendedAgentCard = c.Capabilities.ExtendedCard
	}
	if f != FormV10 {
		out.legacy(c)
	}
	for i := range c.SecuritySchemes {
		out.SecuritySchemes[c.SecuritySchemes[i].Name] = renderScheme(&c.SecuritySchemes[i], f)
	}
	if f == FormUnion && !c.SecurityOptional {
		out.Authentication = legacyAuthentication(c.SecuritySchemes)
	}
	out.security = renderSecurity(c.requirements(), f)
	for _, s := range public {
		out.Skills = append(out.Skills, renderSkill(s, f))
	}
	return encode(out)
}

// Digest returns 16 hexadecimal digits that identify the content of a card at the bases.
// The digest changes whenever a client would see a change.
func Digest(c *Card, bases ...Base) (string, error) {
	text, err := Render(c, FormUnion)
	for _, b := range bases {
		text = fmt.Appendf(text, "\n%s %s", b.URL, b.GRPC)
	}
	if err == nil && c.HasExtended() {
		var extended []byte
		extended, err = Render(c.Extended(), FormUnion)
		text = append(text, extended...)
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// document has the members of all versions of the card. In a rendered form, members that
// the form lacks are empty and omitted.
type document struct {
	Name                 string                    `json:"name"`
	Description          string                    `json:"description"`
	Version              string                    `json:"version"`
	ProtocolVersion      string                    `json:"protocolVersion,omitempty"`
	URL                  string                    `json:"url,omitempty"`
	PreferredTransport   Binding                   `json:"preferredTransport,omitempty"`
	AdditionalInterfaces []transport               `json:"additionalInterfaces,omitempty"`
	SupportedInterfaces  *[]supportedInterface     `json:"supportedInterfaces,omitempty"`
	Provider             *Provider                 `json:"provider,omitempty"`
	IconURL              string                    `json:"iconUrl,omitempty"`
	DocumentationURL     string                    `json:"documentationUrl,omitempty"`
	Capabilities         capabilities              `json:"capabilities"`
	ExtendedCard         bool                      `json:"supportsAuthenticatedExtendedCard,omitempty"`
	DefaultInputModes    []string                  `json:"defaultInputModes"`
	DefaultOutputModes   []string                  `json:"defaultOutputModes"`
	Authentication       *authentication           `json:"authentication,omitempty"`
	SecuritySchemes      map[string]securityScheme `json:"securitySchemes,omitempty"`
	security
	Skills     []skill     `json:"skills"`
	Signatures []Signature `json:"signatures,omitempty"`
}

type transport struct {
	URL       string  `json:"url"`
	Transport Binding `json:"transport"`
}

type supportedInterface struct {
	URL             string  `json:"url"`
	Binding         Binding `json:"protocolBinding"`
	ProtocolVersion string  `json:"protocolVersion"`
	Tenant          string  `json:"tenant,omitempty"`
}

type capabilities struct {
	Streaming         bool        `json:"streaming,omitempty"`
	PushNotifications bool        `json:"pushNotifications,omitempty"`
	ExtendedAgentCard bool        `json:"extendedAgentCard,omitempty"`
	Extensions        []Extension `json:"extensions,omitempty"`
}

type skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples,omitempty"`
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
	security
}

// plainText is the list of modes of a card without modes, because the protocol requires
// modes.
var plainText = []string{"text/plain"}

// shared returns a document with the members that all forms have.
func shared(c *Card) *document {
	out := &document{
		Name:               c.Name,
		Description:        c.Description,
		Version:            c.Version,
		Provider:           c.Provider,
		IconURL:            c.IconURL,
		DocumentationURL:   c.DocumentationURL,
		DefaultInputModes:  c.DefaultInputModes,
		DefaultOutputModes: c.DefaultOutputModes,
		Capabilities: capabilities{
			Streaming:         c.Capabilities.Streaming,
			PushNotifications: c.Capabilities.PushNotifications,
			Extensions:        c.Capabilities.Extensions,
		},
		SecuritySchemes: map[string]securityScheme{},
		Skills:          []skill{},
	}
	if len(out.DefaultInputModes) == 0 {
		out.DefaultInputModes = plainText
	}
	if len(out.DefaultOutputModes) == 0 {
		out.DefaultOutputModes = plainText
	}
	return out
}

// legacy sets the members of 0.2 and 0.3 that 1.0 does not have.
func (d *document) legacy(c *Card) {
	d.ProtocolVersion = "0.3.0"
	d.ExtendedCard = c.Capabilities.ExtendedCard
	interfaces := legacyInterfaces(c.Interfaces)
	if len(interfaces) == 0 {
		return
	}
	d.URL = interfaces[0].URL
	d.PreferredTransport = interfaces[0].Binding
	for _, i := range interfaces {
		d.AdditionalInterfaces = append(d.AdditionalInterfaces, transport{i.URL, i.Binding})
	}
}

// supportedInterfaces returns the interfaces in the order of their versions, the newest first,
// and preserves the order of interfaces of the same version.
func supportedInterfaces(all []Interface) []supportedInterface {
	out := make([]supportedInterface, len(all))
	for i, each := range all {
		out[i] = supportedInterface(each)
	}
	slices.SortStableFunc(out, func(a, b supportedInterface) int { return cmp.Compare(b.ProtocolVersion, a.ProtocolVersion) })
	return out
}

func renderSkill(s Skill, f Form) skill {
	return skill{
		ID: s.ID, Name: s.Name, Description: s.Description, Tags: append([]string{}, s.Tags...),
		Examples: s.Examples, InputModes: s.InputModes, OutputModes: s.OutputModes,
		security: renderSecurity(s.Security, f),
	}
}

func encode(d *document) ([]byte, error) {
	text, err := plainjson.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode card: %w", err)
	}
	return text, nil
}

// SchemasExtension is the URI of the extension with the JSON Schemas of the skills on
// a card. Its params are
//
//	{"skills": {"<skill id>": {"inputSchema": {…}, "outputSchema": {…}}}}
//
// with the skills on the same card only. The extension changes no message, so
// clients need not activate it.
const SchemasExtension = "https://a2a-operator.dev/extensions/skill-schemas/v1"

type skillSchemas struct {
	Input  RawObject `json:"inputSchema,omitempty"`
	Output RawObject `json:"outputSchema,omitempty"`
}

// schemasExtension returns the extension in a slice. The slice is nil if no skill has a
// schema.
func schemasExtension(skills []Skill) ([]Extension, error) {
	declared := map[string]skillSchemas{}
	for i := range skills {
		if s := &skills[i]; s.InputSchema != nil || s.OutputSchema != nil {
			declared[s.ID] = skillSchemas{s.InputSchema, s.OutputSchema}
		}
	}
	if len(declared) == 0 {
		return nil, nil
	}
	params, err := plainjson.Marshal(map[string]any{"skills": declared})
	if err != nil {
		return nil, fmt.Errorf("encode skill schemas: %w", err)
	}
	return []Extension{{
		URI:         SchemasExtension,
		Description: "JSON Schemas of the structured input and output of skills, by skill id",
		Params:      params,
	}}, nil
}
