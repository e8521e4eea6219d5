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

// Parse reads a card as an agent of any version serves it. What a version does
// not know is passed over; a member that stands twice, and one of another type,
// are errors. Signatures are not verified, and not kept: they are over bytes
// that are gone.
//
// What 0.2 and later say with alternatives, of which one is enough, is kept;
// schemes that must come together become alternatives.
func Parse(text []byte) (*Card, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	return d.card()
}

// ParseRendered is Parse for what Render made, which needs no strict reader:
// that would cost each sidecar memory.
func ParseRendered(text []byte) (*Card, error) {
	var d document
	if err := stdjson.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	return d.card()
}

func (d *document) card() (*Card, error) {
	if d.Name == "" {
		return nil, errors.New("read card: it has no name")
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
			return nil, fmt.Errorf("read card: skills[%d] has no id", i)
		}
		c.Skills = append(c.Skills, Skill{
			ID: s.ID, Name: cmp.Or(s.Name, s.ID), Description: s.Description, Tags: s.Tags, Examples: s.Examples,
			InputModes: s.InputModes, OutputModes: s.OutputModes,
		})
	}
	return c, nil
}

// interfaces are those of 1.0 and those of the versions before, each once.
func (d *document) interfaces() []Interface {
	var all []Interface
	add := func(i Interface) {
		if i.URL != "" && !slices.Contains(all, i) {
			all = append(all, i)
		}
	}
	if d.SupportedInterfaces != nil {
		for _, i := range *d.SupportedInterfaces {
			add(Interface{URL: i.URL, Binding: i.Binding, ProtocolVersion: minor(cmp.Or(i.ProtocolVersion, "1.0")), Tenant: i.Tenant})
		}
	}
	version := minor(cmp.Or(d.ProtocolVersion, d.unsaid()))
	add(Interface{URL: d.URL, Binding: cmp.Or(d.PreferredTransport, JSONRPC), ProtocolVersion: version})
	for _, i := range d.AdditionalInterfaces {
		add(Interface{URL: i.URL, Binding: i.Transport, ProtocolVersion: version})
	}
	return all
}

// unsaid is the version of a card that need not say it: 0.1 had a member of its
// own for security.
func (d *document) unsaid() string {
	if d.Authentication != nil && d.SecuritySchemes == nil && d.Security == nil {
		return "0.1"
	}
	return "0.2"
}

// minor cuts a version off after Major.Minor.
func minor(version string) string {
	major, rest, _ := strings.Cut(version, ".")
	if m, _, _ := strings.Cut(rest, "."); m != "" {
		return major + "." + m
	}
	return major
}

// schemes are ordered by name. One of a kind that is not known is left out.
func (d *document) schemes() []SecurityScheme {
	scopes := d.scopes()
	var all []SecurityScheme
	for _, name := range slices.Sorted(maps.Keys(d.SecuritySchemes)) {
		read := d.SecuritySchemes[name]
		s := read.parse()
		s.Name, s.Scopes = name, scopes[name]
		if s.check() == nil {
			all = append(all, s)
		}
	}
	return all
}

// scopes are those that the requirements name, in the shape of either version.
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

// parse reads either shape of a scheme.
func (s *securityScheme) parse() SecurityScheme {
	out := SecurityScheme{
		Type: s.Type, Description: s.Description, In: s.In, ParameterName: s.Name,
		Scheme: s.Scheme, BearerFormat: s.BearerFormat, MetadataURL: s.MetadataURL, OpenIDConnectURL: s.OpenIDConnectURL,
	}
	flows := s.Flows
	switch {
	case s.WrappedAPIKey != nil:
		w := s.WrappedAPIKey
		out.Type, out.Description, out.In, out.ParameterName = SchemeAPIKey, w.Description, w.Location, w.Name
	case s.WrappedHTTP != nil:
		w := s.WrappedHTTP
		out.Type, out.Description, out.Scheme, out.BearerFormat = SchemeHTTP, w.Description, w.Scheme, w.BearerFormat
	case s.WrappedOAuth2 != nil:
		w := s.WrappedOAuth2
		out.Type, out.Description, out.MetadataURL = SchemeOAuth2, w.Description, w.MetadataURL
		flows = w.Flows
	case s.WrappedOpenIDConnect != nil:
		w := s.WrappedOpenIDConnect
		out.Type, out.Description, out.OpenIDConnectURL = SchemeOpenIDConnect, w.Description, w.OpenIDConnectURL
	case s.WrappedMutualTLS != nil:
		out.Type, out.Description = SchemeMutualTLS, s.WrappedMutualTLS.Description
	}
	// A scheme has one flow: of several the first by name.
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
