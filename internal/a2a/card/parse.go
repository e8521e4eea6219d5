// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import (
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// Parse reads the card of an agent of any version. It ignores unknown members. A duplicate member,
// a member of the wrong type, and more values than CheckValues allows are errors. Parse drops the
// signatures without verifying them: a signature covers the text, and the Card does not contain the
// text.
//
// Parse reads the schemes of all security requirements as alternatives, even schemes that a call
// must combine.
func Parse(text []byte) (*Card, error) {
	if err := CheckValues(text); err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	return d.card()
}

// ParseRendered is Parse for a result of Render. It does not use the strict JSON reader
// of Parse, which would cost each sidecar memory.
func ParseRendered(text []byte) (*Card, error) {
	var d document
	if err := stdjson.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	return d.card()
}

func (d *document) card() (*Card, error) {
	if d.Name == "" {
		return nil, errors.New("read card: name is required")
	}
	c := &Card{
		Name: d.Name, Description: d.Description, Version: d.Version,
		Provider: d.Provider, IconURL: d.IconURL, DocumentationURL: d.DocumentationURL,
		Interfaces: d.interfaces(),
		Capabilities: Capabilities{
			Streaming:         d.Capabilities.Streaming,
			PushNotifications: d.Capabilities.PushNotifications,
			ExtendedCard:      d.Capabilities.ExtendedAgentCard || d.ExtendedCard,
			Extensions:        d.Capabilities.Extensions,
		},
		DefaultInputModes: d.DefaultInputModes, DefaultOutputModes: d.DefaultOutputModes,
		SecuritySchemes: d.schemes(),
	}
	for i := range d.Skills {
		s := &d.Skills[i]
		if s.ID == "" {
			return nil, fmt.Errorf("read card: skills[%d].id is required", i)
		}
		c.Skills = append(c.Skills, Skill{
			ID: s.ID, Name: cmp.Or(s.Name, s.ID), Description: s.Description, Tags: s.Tags, Examples: s.Examples,
			InputModes: s.InputModes, OutputModes: s.OutputModes,
		})
	}
	return c, nil
}

// interfaces returns the interfaces in the members of 1.0 and of earlier versions,
// without duplicates.
func (d *document) interfaces() []Interface {
	var all []Interface
	known := map[Interface]struct{}{} // a hostile card may have tens of thousands of interfaces
	add := func(i Interface) {
		if _, again := known[i]; again || i.URL == "" {
			return
		}
		known[i] = struct{}{}
		all = append(all, i)
	}
	if d.SupportedInterfaces != nil {
		for _, i := range *d.SupportedInterfaces {
			add(Interface{URL: i.URL, Binding: i.Binding, ProtocolVersion: minor(cmp.Or(i.ProtocolVersion, "1.0")), Tenant: i.Tenant})
		}
	}
	version := minor(cmp.Or(d.ProtocolVersion, d.assumedVersion()))
	add(Interface{URL: d.URL, Binding: cmp.Or(d.PreferredTransport, JSONRPC), ProtocolVersion: version})
	for _, i := range d.AdditionalInterfaces {
		add(Interface{URL: i.URL, Binding: i.Transport, ProtocolVersion: version})
	}
	return all
}

// assumedVersion returns the version of a card without protocolVersion. It is 0.1 if the
// card has the security member of 0.1 and no newer one, and else 0.2.
func (d *document) assumedVersion() string {
	if d.Authentication != nil && d.SecuritySchemes == nil && d.Security == nil {
		return "0.1"
	}
	return "0.2"
}

// minor returns a version without its patch number, as Major.Minor.
func minor(version string) string {
	major, rest, _ := strings.Cut(version, ".")
	if m, _, _ := strings.Cut(rest, "."); m != "" {
		return major + "." + m
	}
	return major
}

// schemes returns the valid security schemes, sorted by name.
func (d *document) schemes() []SecurityScheme {
	scopes := d.scopes()
	var all []SecurityScheme
	for _, name := range slices.Sorted(maps.Keys(d.SecuritySchemes)) {
		read := d.SecuritySchemes[name]
		s := read.parse()
		s.Name = name
		s.Scopes = scopes[name]
		if s.check() == nil {
			all = append(all, s)
		}
	}
	return all
}

// scopes returns the scopes in the requirements by the name of the scheme. It reads the
// shape of OpenAPI and the shape of the protos.
func (d *document) scopes() map[string][]string {
	scopes := map[string][]string{}
	for _, r := range d.SecurityRequirements {
		for name, list := range r.Schemes {
			scopes[name] = list.List
		}
	}
	for _, r := range d.Security {
		requirement, _ := r.(map[string]any)
		for name, list := range requirement {
			texts, _ := list.([]any)
			for _, text := range texts {
				if scope, ok := text.(string); ok {
					scopes[name] = append(scopes[name], scope)
				}
			}
		}
	}
	return scopes
}

// parse returns the scheme. It reads the shape of OpenAPI and the shape of the protos.
func (s *securityScheme) parse() SecurityScheme {
	out := SecurityScheme{
		Type: s.Type, Description: s.Description, In: s.In, ParameterName: s.Name,
		Scheme: s.Scheme, BearerFormat: s.BearerFormat, MetadataURL: s.MetadataURL, OpenIDConnectURL: s.OpenIDConnectURL,
	}
	flows := s.Flows
	switch {
	case s.WrappedAPIKey != nil:
		w := s.WrappedAPIKey
		out.Type = SchemeAPIKey
		out.Description = w.Description
		out.In = w.Location
		out.ParameterName = w.Name
	case s.WrappedHTTP != nil:
		w := s.WrappedHTTP
		out.Type = SchemeHTTP
		out.Description = w.Description
		out.Scheme = w.Scheme
		out.BearerFormat = w.BearerFormat
	case s.WrappedOAuth2 != nil:
		w := s.WrappedOAuth2
		out.Type = SchemeOAuth2
		out.Description = w.Description
		out.MetadataURL = w.MetadataURL
		flows = w.Flows
	case s.WrappedOpenIDConnect != nil:
		w := s.WrappedOpenIDConnect
		out.Type = SchemeOpenIDConnect
		out.Description = w.Description
		out.OpenIDConnectURL = w.OpenIDConnectURL
	case s.WrappedMutualTLS != nil:
		out.Type = SchemeMutualTLS
		out.Description = s.WrappedMutualTLS.Description
	}
	// A SecurityScheme has one flow. It is the first one in the order of names.
	for _, name := range slices.Sorted(maps.Keys(flows)) {
		f := flows[name]
		if f == nil || out.Type != SchemeOAuth2 {
			continue
		}
		out.Flow = &OAuthFlow{
			Type: name, AuthorizationURL: f.AuthorizationURL, DeviceAuthorizationURL: f.DeviceAuthorizationURL,
			TokenURL: f.TokenURL, RefreshURL: f.RefreshURL, Scopes: f.Scopes, PKCERequired: f.PKCERequired,
		}
		break
	}
	return out
}

// CheckValues allows maxValues values. In a text longer than maxValues*bytesPerValue bytes, it
// allows one value for each bytesPerValue bytes.
const (
	maxValues     = 64 << 10
	bytesPerValue = 8
)

// CheckValues returns an error if a JSON text has too many values for its size. A card that is
// decoded from such a text needs far more memory than the text: a skill without members has 2
// bytes of text, and needs more than 200 bytes of memory. The sidecar configurations that the
// operator writes stay below the bound, because they are indented.
func CheckValues[T ~string | ~[]byte](text T) error {
	if most := max(maxValues, len(text)/bytesPerValue); countValues(text) > most {
		return fmt.Errorf("it has more than %d values", most)
	}
	return nil
}

// countValues returns an upper bound of the number of values in a JSON text: the number of its
// objects, arrays and commas, and one.
func countValues[T ~string | ~[]byte](text T) int {
	count := 1
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '{' || c == '['):
			count++
		}
	}
	return count
}
