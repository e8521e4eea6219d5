// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// ReadingsOf returns what a client of a form's version makes of a card that it
// has received, FormV03 or FormV10, by the letter: a signature over one of them
// is over all that the client knows of the card.
func ReadingsOf(text []byte, f Form) ([][]byte, error) {
	if !jsontext.Value(text).IsValid() {
		return nil, errors.New("read card: not valid JSON, or a member stands twice")
	}
	value, err := readObject(text)
	if err != nil {
		return nil, err
	}
	known := knownV10
	if f == FormV03 {
		known = knownV03
	}
	kept, _ := known.keep(value).(map[string]any)
	whole, err := canonical(kept)
	if err != nil || f == FormV03 {
		return [][]byte{whole}, err
	}
	dropEmptyScopes(kept)
	proto, err := canonical(kept)
	return [][]byte{whole, proto}, err
}

// shape says which members of an object a version knows. A nil shape takes any
// value; each is the shape of the members of a map or of a list's elements.
type shape struct {
	members map[string]*shape
	each    *shape
}

// keep returns a copy of the value with what the shape knows.
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
