// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Union returns the card that every client can read: the members of 0.1 to
// 0.3 and those of 1.0 in one document. Equal cards give equal bytes.
//
// It has no securityRequirements, which 1.0 leaves optional: the official Go
// client asks for no version, so it is served this card, and cannot read them
// in the form that the specification gives them. V1 has them.
func Union(c Card) ([]byte, error) {
	out := shared(c)
	legacy := legacyInterfaces(c.Interfaces)
	if len(legacy) > 0 {
		out.URL = legacy[0].URL
		out.PreferredTransport = legacy[0].Binding
		for _, i := range legacy {
			out.AdditionalInterfaces = append(out.AdditionalInterfaces, transport{i.URL, i.Binding})
		}
	}
	out.ProtocolVersion = "0.3.0"
	out.ExtendedCard = c.Capabilities.ExtendedCard
	for _, s := range c.SecuritySchemes {
		if s.Type == SchemeHTTP {
			out.Authentication = &authentication{append(out.Authentication.schemes(), title(s.Scheme))}
		}
		out.Security = append(out.Security, map[string][]string{s.Name: {}})
		union := renderScheme(s)
		union.Type, union.Scheme, union.BearerFormat, union.Description = s.Type, s.Scheme, s.BearerFormat, s.Description
		out.setScheme(s.Name, union)
	}
	return encode(out)
}

// V1 returns the card of 1.0, with no member that 1.0 does not name. Equal
// cards give equal bytes.
func V1(c Card) ([]byte, error) {
	out := shared(c)
	for _, s := range c.SecuritySchemes {
		out.setScheme(s.Name, renderScheme(s))
		out.SecurityRequirements = append(out.SecurityRequirements, requirement{map[string]scopes{s.Name: {List: []string{}}}})
	}
	return encode(out)
}

// Digest names the content of a card: 16 hexadecimal digits. It changes when
// anything that a client can see does.
func Digest(c Card) (string, error) {
	union, err := Union(c)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(union)
	return hex.EncodeToString(sum[:8]), nil
}

// document has the members of all versions; those of a version that is not
// rendered are empty and left out.
type document struct {
	Name                 string                    `json:"name"`
	Description          string                    `json:"description"`
	Version              string                    `json:"version"`
	ProtocolVersion      string                    `json:"protocolVersion,omitempty"`
	URL                  string                    `json:"url,omitempty"`
	PreferredTransport   Binding                   `json:"preferredTransport,omitempty"`
	AdditionalInterfaces []transport               `json:"additionalInterfaces,omitempty"`
	SupportedInterfaces  []supportedInterface      `json:"supportedInterfaces"`
	Provider             *Provider                 `json:"provider,omitempty"`
	IconURL              string                    `json:"iconUrl,omitempty"`
	DocumentationURL     string                    `json:"documentationUrl,omitempty"`
	Capabilities         capabilities              `json:"capabilities"`
	ExtendedCard         bool                      `json:"supportsAuthenticatedExtendedCard,omitempty"`
	DefaultInputModes    []string                  `json:"defaultInputModes"`
	DefaultOutputModes   []string                  `json:"defaultOutputModes"`
	Authentication       *authentication           `json:"authentication,omitempty"`
	SecuritySchemes      map[string]securityScheme `json:"securitySchemes,omitempty"`
	Security             []map[string][]string     `json:"security,omitempty"`
	SecurityRequirements []requirement             `json:"securityRequirements,omitempty"`
	Skills               []Skill                   `json:"skills"`
}

type transport struct {
	URL       string  `json:"url"`
	Transport Binding `json:"transport"`
}

type supportedInterface struct {
	URL             string  `json:"url"`
	Binding         Binding `json:"protocolBinding"`
	ProtocolVersion string  `json:"protocolVersion"`
}

type capabilities struct {
	Streaming         bool        `json:"streaming,omitempty"`
	PushNotifications bool        `json:"pushNotifications,omitempty"`
	ExtendedAgentCard bool        `json:"extendedAgentCard,omitempty"`
	Extensions        []Extension `json:"extensions,omitempty"`
}

// authentication is that of 0.1.
type authentication struct {
	Schemes []string `json:"schemes"`
}

func (a *authentication) schemes() []string {
	if a == nil {
		return nil
	}
	return a.Schemes
}

// securityScheme has the members of 0.2 and 0.3 side by side with the wrapper
// of 1.0.
type securityScheme struct {
	Type         SchemeType `json:"type,omitempty"`
	Description  string     `json:"description,omitempty"`
	Scheme       string     `json:"scheme,omitempty"`
	BearerFormat string     `json:"bearerFormat,omitempty"`
	HTTP         *httpAuth  `json:"httpAuthSecurityScheme,omitempty"`
}

type httpAuth struct {
	Description  string `json:"description,omitempty"`
	Scheme       string `json:"scheme"`
	BearerFormat string `json:"bearerFormat,omitempty"`
}

type requirement struct {
	Schemes map[string]scopes `json:"schemes"`
}

type scopes struct {
	List []string `json:"list"`
}

// plainText is what a card without modes means; they are required.
var plainText = []string{"text/plain"}

func shared(c Card) *document {
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
			ExtendedAgentCard: c.Capabilities.ExtendedCard,
			Extensions:        c.Capabilities.Extensions,
		},
		SupportedInterfaces: []supportedInterface{},
		Skills:              []Skill{},
	}
	if len(out.DefaultInputModes) == 0 {
		out.DefaultInputModes = plainText
	}
	if len(out.DefaultOutputModes) == 0 {
		out.DefaultOutputModes = plainText
	}
	for _, i := range newestFirst(c.Interfaces) {
		out.SupportedInterfaces = append(out.SupportedInterfaces, supportedInterface(i))
	}
	for _, s := range c.Skills {
		if s.Tags == nil {
			s.Tags = []string{}
		}
		out.Skills = append(out.Skills, s)
	}
	return out
}

// newestFirst keeps the order of preference within a version.
func newestFirst(all []Interface) []Interface {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b Interface) int {
		return cmp.Compare(b.ProtocolVersion, a.ProtocolVersion)
	})
	return sorted
}

// legacyInterfaces are those that clients up to 0.3 can use, or all when there
// is none: url is required.
func legacyInterfaces(all []Interface) []Interface {
	legacy := slices.DeleteFunc(slices.Clone(all), func(i Interface) bool {
		return !strings.HasPrefix(i.ProtocolVersion, "0.")
	})
	if len(legacy) == 0 {
		return all
	}
	return slices.CompactFunc(legacy, func(a, b Interface) bool {
		return a.URL == b.URL && a.Binding == b.Binding
	})
}

// renderScheme returns the wrapper of 1.0.
func renderScheme(s SecurityScheme) securityScheme {
	return securityScheme{HTTP: &httpAuth{s.Description, s.Scheme, s.BearerFormat}}
}

func (d *document) setScheme(name string, s securityScheme) {
	if d.SecuritySchemes == nil {
		d.SecuritySchemes = map[string]securityScheme{}
	}
	d.SecuritySchemes[name] = s
}

// title spells a scheme as the samples of 0.1 do: "Bearer".
func title(scheme string) string {
	if scheme == "" {
		return ""
	}
	return strings.ToUpper(scheme[:1]) + scheme[1:]
}

func encode(d *document) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return nil, fmt.Errorf("encode card: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
