// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package signingtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// signedTexts returns the texts over which clients of one version verify signatures: of
// 0.3 for FormV03, and of 1.0 for FormV10. A text contains the members of the card that
// this version defines. For 1.0, there is a second text, for clients that omit empty
// lists of scopes.
func signedTexts(text []byte, f card.Form) ([][]byte, error) {
	if !jsontext.Value(text).IsValid() {
		return nil, errors.New("read card: not valid JSON, or a duplicate member")
	}
	// Numbers keep their notation.
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value map[string]any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	known := knownV10
	if f == card.FormV03 {
		known = knownV03
	}
	kept, _ := known.keep(value).(map[string]any)
	whole, err := canonical(kept)
	if err != nil || f == card.FormV03 {
		return [][]byte{whole}, err
	}
	dropEmptyScopes(kept)
	proto, err := canonical(kept)
	return [][]byte{whole, proto}, err
}

// canonical encodes a value by RFC 8785.
func canonical(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	out := jsontext.Value(text)
	return out, out.Canonicalize()
}

// dropEmptyScopes removes empty lists of scopes from the requirements of the card
// and its skills, as ProtoJSON does.
func dropEmptyScopes(card map[string]any) {
	skills, _ := card["skills"].([]any)
	for _, each := range append([]any{card}, skills...) {
		holder, _ := each.(map[string]any)
		requirements, _ := holder["securityRequirements"].([]any)
		for _, each := range requirements {
			requirement, _ := each.(map[string]any)
			schemes, _ := requirement["schemes"].(map[string]any)
			for _, each := range schemes {
				scheme, _ := each.(map[string]any)
				if list, ok := scheme["list"].([]any); ok && len(list) == 0 {
					delete(scheme, "list")
				}
			}
		}
	}
}

// shape lists the members that a version defines for an object. A nil shape accepts any
// value. For a map, each is the shape of the values.
type shape struct {
	members map[string]*shape
	each    *shape
}

// keep returns a copy of the value that contains only the members of the shape.
func (s *shape) keep(value any) any {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = s.keep(v[i])
		}
		return out
	case map[string]any:
		if s == nil {
			return v
		}
		out := map[string]any{}
		for name, member := range v {
			if s.each != nil {
				out[name] = s.each.keep(member)
			} else if known, ok := s.members[name]; ok {
				out[name] = known.keep(member)
			}
		}
		return out
	}
	return value
}

func object(names ...string) *shape {
	s := &shape{members: map[string]*shape{}}
	for _, name := range names {
		s.members[name] = nil
	}
	return s
}

func (s *shape) with(name string, member *shape) *shape {
	s.members[name] = member
	return s
}

func mapOf(member *shape) *shape { return &shape{each: member} }

var (
	extensionShape   = object("uri", "description", "required", "params")
	providerShape    = object("organization", "url")
	requirementShape = object().with("schemes", mapOf(object("list")))
	skillNames       = []string{"id", "name", "description", "tags", "examples", "inputModes", "outputModes"}
	flowNames        = []string{"authorizationUrl", "tokenUrl", "refreshUrl", "scopes"}
	cardNames        = []string{"name", "description", "version", "iconUrl", "documentationUrl", "defaultInputModes", "defaultOutputModes"}

	knownV10 = object(cardNames...).
			with("provider", providerShape).
			with("supportedInterfaces", object("url", "protocolBinding", "protocolVersion", "tenant")).
			with("capabilities", object("streaming", "pushNotifications", "extendedAgentCard").with("extensions", extensionShape)).
			with("securityRequirements", requirementShape).
			with("skills", object(skillNames...).with("securityRequirements", requirementShape)).
			with("securitySchemes", mapOf(object().
				with("apiKeySecurityScheme", object("description", "location", "name")).
				with("httpAuthSecurityScheme", object("description", "scheme", "bearerFormat")).
				with("openIdConnectSecurityScheme", object("description", "openIdConnectUrl")).
				with("mtlsSecurityScheme", object("description")).
				with("oauth2SecurityScheme", object("description", "oauth2MetadataUrl").
					with("flows", mapOf(object(append(flowNames, "deviceAuthorizationUrl", "pkceRequired")...))))))

	knownV03 = object(append(cardNames, "protocolVersion", "url", "preferredTransport", "supportsAuthenticatedExtendedCard", "security")...).
			with("provider", providerShape).
			with("additionalInterfaces", object("url", "transport")).
			with("capabilities", object("streaming", "pushNotifications", "stateTransitionHistory").with("extensions", extensionShape)).
			with("skills", object(append(skillNames, "security")...)).
			with("securitySchemes", mapOf(object("type", "description", "in", "name", "scheme", "bearerFormat", "oauth2MetadataUrl", "openIdConnectUrl").
				with("flows", object().
					with("authorizationCode", object(flowNames...)).
					with("clientCredentials", object(flowNames...)).
					with("implicit", object(flowNames...)).
					with("password", object(flowNames...)))))
)
