// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// CheckSecurity returns the joined errors of all security schemes, and of skills whose
// requirements name an unknown scheme.
func (c *Card) CheckSecurity() error {
	var errs []error
	taken := map[string]bool{}
	for i := range c.SecuritySchemes {
		s := &c.SecuritySchemes[i]
		if err := s.check(); err != nil {
			errs = append(errs, fmt.Errorf("securitySchemes[%d]: %w", i, err))
		} else if taken[s.Name] {
			errs = append(errs, fmt.Errorf("securitySchemes[%d]: name %q is not unique", i, s.Name))
		}
		taken[s.Name] = true
	}
	for i := range c.Skills {
		for _, r := range c.Skills[i].Security {
			for name := range r {
				if !slices.ContainsFunc(c.SecuritySchemes, func(s SecurityScheme) bool { return s.Name == name }) {
					errs = append(errs, fmt.Errorf("skills[%d]: security names %q: add it to securitySchemes", i, name))
				}
			}
		}
	}
	return errors.Join(errs...)
}

func (s *SecurityScheme) check() error {
	if s.Name == "" {
		return errors.New("name is required")
	}
	switch s.Type {
	case SchemeHTTP:
		if s.Scheme == "" {
			return errors.New("scheme is required")
		}
	case SchemeAPIKey:
		if !slices.Contains([]string{"header", "query", "cookie"}, s.In) {
			return fmt.Errorf("in is %q, must be header, query or cookie", s.In)
		}
		if s.ParameterName == "" {
			return errors.New("parameterName is required")
		}
	case SchemeOAuth2:
		if s.Flow == nil {
			return errors.New("flow is required")
		}
		if flows := []FlowType{FlowAuthorizationCode, FlowClientCredentials, FlowImplicit, FlowPassword, FlowDeviceCode}; !slices.Contains(flows, s.Flow.Type) {
			return fmt.Errorf("flow.type is %q, must be one of %v", s.Flow.Type, flows)
		}
	case SchemeOpenIDConnect:
		if s.OpenIDConnectURL == "" {
			return errors.New("openIdConnectUrl is required")
		}
	case SchemeMutualTLS:
	default:
		return fmt.Errorf("type is %q, must be http, apiKey, oauth2, openIdConnect or mutualTLS", s.Type)
	}
	return nil
}

// securityScheme has the members of a scheme in the JSON Schemas of 0.2 and 0.3, and its
// members in the protos. The protos of 0.3 and 1.0 have the same members.
type securityScheme struct {
	Type             SchemeType         `json:"type,omitempty"`
	Description      string             `json:"description,omitempty"`
	In               string             `json:"in,omitempty"`
	Name             string             `json:"name,omitempty"`
	Scheme           string             `json:"scheme,omitempty"`
	BearerFormat     string             `json:"bearerFormat,omitempty"`
	Flows            map[FlowType]*flow `json:"flows,omitzero"`
	MetadataURL      string             `json:"oauth2MetadataUrl,omitempty"`
	OpenIDConnectURL string             `json:"openIdConnectUrl,omitempty"`

	WrappedAPIKey        *apiKeyScheme        `json:"apiKeySecurityScheme,omitempty"`
	WrappedHTTP          *httpScheme          `json:"httpAuthSecurityScheme,omitempty"`
	WrappedOAuth2        *oauth2Scheme        `json:"oauth2SecurityScheme,omitempty"`
	WrappedOpenIDConnect *openIDConnectScheme `json:"openIdConnectSecurityScheme,omitempty"`
	WrappedMutualTLS     *mutualTLSScheme     `json:"mtlsSecurityScheme,omitempty"`
}

type apiKeyScheme struct {
	Description string `json:"description,omitempty"`
	Location    string `json:"location"`
	Name        string `json:"name"`
}

type httpScheme struct {
	Description  string `json:"description,omitempty"`
	Scheme       string `json:"scheme"`
	BearerFormat string `json:"bearerFormat,omitempty"`
}

type oauth2Scheme struct {
	Description string             `json:"description,omitempty"`
	Flows       map[FlowType]*flow `json:"flows"`
	MetadataURL string             `json:"oauth2MetadataUrl,omitempty"`
}

type openIDConnectScheme struct {
	Description      string `json:"description,omitempty"`
	OpenIDConnectURL string `json:"openIdConnectUrl"`
}

type mutualTLSScheme struct {
	Description string `json:"description,omitempty"`
}

type flow struct {
	AuthorizationURL       string            `json:"authorizationUrl,omitempty"`
	DeviceAuthorizationURL string            `json:"deviceAuthorizationUrl,omitempty"`
	TokenURL               string            `json:"tokenUrl,omitempty"`
	RefreshURL             string            `json:"refreshUrl,omitempty"`
	Scopes                 map[string]string `json:"scopes"`
	PKCERequired           bool              `json:"pkceRequired,omitempty"`
}

// renderScheme returns a scheme in a form.
func renderScheme(s *SecurityScheme, f Form) securityScheme {
	out := wrapScheme(s, f)
	if f != FormUnion && f != FormV03 {
		return out
	}
	out.Type = s.Type
	out.Description = s.Description
	switch s.Type {
	case SchemeAPIKey:
		out.In = s.In
		out.Name = s.ParameterName
	case SchemeHTTP:
		out.Scheme = s.Scheme
		out.BearerFormat = s.BearerFormat
	case SchemeOAuth2:
		out.Flows = renderFlows(s.Flow, f)
		out.MetadataURL = s.MetadataURL
	case SchemeOpenIDConnect:
		out.OpenIDConnectURL = s.OpenIDConnectURL
	case SchemeMutualTLS:
	}
	return out
}

func wrapScheme(s *SecurityScheme, f Form) (out securityScheme) {
	switch s.Type {
	case SchemeAPIKey:
		out.WrappedAPIKey = &apiKeyScheme{s.Description, s.In, s.ParameterName}
	case SchemeHTTP:
		out.WrappedHTTP = &httpScheme{s.Description, s.Scheme, s.BearerFormat}
	case SchemeOAuth2:
		out.WrappedOAuth2 = &oauth2Scheme{s.Description, renderFlows(s.Flow, f), s.MetadataURL}
	case SchemeOpenIDConnect:
		out.WrappedOpenIDConnect = &openIDConnectScheme{s.Description, s.OpenIDConnectURL}
	case SchemeMutualTLS:
		out.WrappedMutualTLS = &mutualTLSScheme{s.Description}
	}
	return out
}

// renderFlows returns the flow in a form. The forms of 0.3 omit flows and members that
// 0.3 does not define.
func renderFlows(in *OAuthFlow, f Form) map[FlowType]*flow {
	flows := map[FlowType]*flow{}
	v03 := f == FormV03 || f == FormV03Proto
	if in == nil || v03 && in.Type == FlowDeviceCode {
		return flows
	}
	scopes := in.Scopes
	if scopes == nil {
		scopes = map[string]string{}
	}
	flows[in.Type] = &flow{
		AuthorizationURL: in.AuthorizationURL, DeviceAuthorizationURL: in.DeviceAuthorizationURL,
		TokenURL: in.TokenURL, RefreshURL: in.RefreshURL, Scopes: scopes, PKCERequired: in.PKCERequired && !v03,
	}
	return flows
}

// requirement is a Requirement of the protos.
type requirement struct {
	Schemes map[string]scopes `json:"schemes"`
}

type scopes struct {
	List []string `json:"list"`
}

// security has the requirements of a card or a skill, in the members of all forms.
type security struct {
	Security             []any         `json:"security,omitempty"`
	SecurityRequirements []requirement `json:"securityRequirements,omitempty"`
	ProtoRequirements    []requirement `json:"security_requirements,omitempty"`
}

// renderSecurity returns requirements in a form.
func renderSecurity(all []Requirement, f Form) (out security) {
	switch f {
	case FormUnion:
		out.Security = anyOf(plain(all))
		out.ProtoRequirements = wrap(all)
	case FormV03:
		out.Security = anyOf(plain(all))
	case FormV03Proto:
		out.Security = anyOf(wrap(all))
	case FormV10:
		out.SecurityRequirements = wrap(all)
	}
	return out
}

// requirements returns one requirement for each scheme of the card. It returns none if
// the schemes are optional.
func (c *Card) requirements() []Requirement {
	if c.SecurityOptional {
		return nil
	}
	var all []Requirement
	for i := range c.SecuritySchemes {
		s := &c.SecuritySchemes[i]
		all = append(all, Requirement{s.Name: s.Scopes})
	}
	return all
}

// anyOf returns requirements, of either shape, as a slice of type []any.
func anyOf[T any](all []T) []any {
	var out []any
	for _, each := range all {
		out = append(out, each)
	}
	return out
}

// plain returns requirements in the shape of OpenAPI, with an empty list instead of null
// for no scopes.
func plain(all []Requirement) []Requirement {
	var out []Requirement
	for _, r := range all {
		whole := make(Requirement, len(r))
		for name, list := range r {
			whole[name] = append([]string{}, list...)
		}
		out = append(out, whole)
	}
	return out
}

// wrap returns requirements in the shape of the protos.
func wrap(all []Requirement) []requirement {
	var wrapped []requirement
	for _, r := range all {
		schemes := make(map[string]scopes, len(r))
		for name, list := range r {
			schemes[name] = scopes{append([]string{}, list...)}
		}
		wrapped = append(wrapped, requirement{schemes})
	}
	return wrapped
}

// authentication is the security member of 0.1.
type authentication struct {
	Schemes []string `json:"schemes"`
}

// legacyAuthentication returns the names of the schemes in 0.1, such as "Bearer".
func legacyAuthentication(all []SecurityScheme) *authentication {
	var names []string
	for i := range all {
		name := ""
		switch s := &all[i]; s.Type {
		case SchemeHTTP:
			name = title(s.Scheme)
		case SchemeOAuth2, SchemeOpenIDConnect:
			name = "Bearer"
		case SchemeAPIKey:
			name = "ApiKey"
		case SchemeMutualTLS:
			name = "MutualTLS"
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		return nil
	}
	return &authentication{names}
}

func title(scheme string) string {
	if scheme == "" {
		return ""
	}
	return strings.ToUpper(scheme[:1]) + scheme[1:]
}
