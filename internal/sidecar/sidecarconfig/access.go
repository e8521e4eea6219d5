// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/hosturl"
)

// Names of the security schemes on the card.
const (
	kubernetesScheme = "kubernetes"
	jwtScheme        = "jwt"
	oauth2Scheme     = "oauth2"
	apiKeyScheme     = "apiKey"
	mtlsScheme       = "mtls"
)

// AdmitsAnonymous reports whether callers without a credential are admitted.
func (a *Access) AdmitsAnonymous() bool {
	return slices.ContainsFunc(a.Authentication, func(each Authentication) bool { return each.Type == AuthenticationAnonymous })
}

// Schemes returns the security schemes for the card. It returns none if anonymous callers
// are admitted: a client that finds a scheme on the card gets a credential before its first
// call, which it does not need then.
func (a *Access) Schemes() []card.SecurityScheme {
	var schemes []card.SecurityScheme
	for i, each := range a.Authentication {
		switch each.Type {
		case AuthenticationAnonymous:
			return nil
		case AuthenticationKubernetes:
			if slices.ContainsFunc(a.Authentication[:i], func(b Authentication) bool { return b.Type == each.Type }) {
				continue // the first Kubernetes issuer has added the scheme
			}
			schemes = append(schemes, card.SecurityScheme{
				Name:         kubernetesScheme,
				Type:         card.SchemeHTTP,
				Description:  "A Kubernetes ServiceAccount token.",
				Scheme:       "bearer",
				BearerFormat: "JWT",
			})
		case AuthenticationJWT:
			schemes = append(schemes, each.JWT.schemes()...)
		case AuthenticationAPIKey:
			schemes = append(schemes, each.APIKey.scheme())
		case AuthenticationMTLS:
			schemes = append(schemes, card.SecurityScheme{
				Name: mtlsScheme, Type: card.SchemeMutualTLS, Description: "A client certificate of an authority that the agent's owner trusts.",
			})
		}
	}
	return schemes
}

// KubernetesIssuers returns the issuers of the authentication type Kubernetes, in the order
// of a.Authentication.
func (a *Access) KubernetesIssuers() []*KubernetesAuthentication {
	var issuers []*KubernetesAuthentication
	for _, each := range a.Authentication {
		if each.Type == AuthenticationKubernetes {
			issuers = append(issuers, each.Kubernetes)
		}
	}
	return issuers
}

func (j *JWTAuthentication) scheme() card.SecurityScheme {
	s := card.SecurityScheme{
		Name:        jwtScheme,
		Description: fmt.Sprintf("A token of %s for the audience %s.", j.Issuer, j.Audiences[0]),
	}
	if j.JWKSURL == "" {
		s.Type = card.SchemeOpenIDConnect
		s.Scopes = j.RequiredScopes
		s.OpenIDConnectURL = strings.TrimSuffix(j.Issuer, "/") + "/.well-known/openid-configuration"
	} else {
		s.Type = card.SchemeHTTP
		s.Scheme = "bearer"
		s.BearerFormat = "JWT"
	}
	return s
}

// schemes returns the scheme of the tokens, and a scheme for each flow, because a scheme of A2A 1.0 has one flow.
func (j *JWTAuthentication) schemes() []card.SecurityScheme {
	all := []card.SecurityScheme{j.scheme()}
	for i := range j.Flows {
		flow := j.Flows[i]
		flow.Scopes = j.Scopes
		all = append(all, card.SecurityScheme{
			Name: oauth2Scheme + strings.ToUpper(string(flow.Type[:1])) + string(flow.Type[1:]), Type: card.SchemeOAuth2,
			Description: all[0].Description, Scopes: j.RequiredScopes, Flow: &flow,
		})
	}
	return all
}

// skillSecurity returns the alternative requirements of a skill, nil if a message to the skill needs no more than the card
// requires. schemes are the schemes of the card.
func (a *Access) skillSecurity(skill string, schemes []card.SecurityScheme) []card.Requirement {
	var j *JWTAuthentication
	for _, each := range a.Authentication {
		if each.JWT != nil {
			j = each.JWT
		}
	}
	if j == nil || len(j.SkillScopes[skill]) == 0 {
		return nil
	}
	var all []card.Requirement
	for i := range schemes {
		s := &schemes[i]
		var scopes []string
		if s.Type == card.SchemeOpenIDConnect || s.Type == card.SchemeOAuth2 {
			scopes = slices.Concat(j.RequiredScopes, j.SkillScopes[skill])
		}
		all = append(all, card.Requirement{s.Name: scopes})
	}
	return all
}

// ProtectedResource returns the JWT authentication whose clients find its flows on the card, nil for none.
func (a *Access) ProtectedResource() *JWTAuthentication {
	for _, each := range a.Authentication {
		if each.JWT != nil && len(each.JWT.Flows) > 0 {
			return each.JWT
		}
	}
	return nil
}

// DefaultAPIKeyHeader is the default header of the API key.
const DefaultAPIKeyHeader = "X-API-Key"

func (k *APIKeyAuthentication) scheme() card.SecurityScheme {
	s := card.SecurityScheme{Name: apiKeyScheme, Type: card.SchemeAPIKey, Description: "A key that the agent's owner gives out.", In: "header", ParameterName: k.Header}
	if k.Query != "" {
		s.In = "query"
		s.ParameterName = k.Query
	}
	return s
}

func (a *Access) validate(refuse func(field, format string, args ...any)) {
	a.CORS.validate(refuse)
	if d := a.Delegation; d != "" && d != DelegationAccept && d != DelegationRequire && d != DelegationIgnore {
		refuse("access.delegation", "is %q, must be %q, %q or %q", d, DelegationAccept, DelegationRequire, DelegationIgnore)
	}
	for i, each := range a.Authentication {
		field := fmt.Sprintf("access.authentication[%d]", i)
		if each.foreign() {
			refuse(field, "has a member of another type than %q", each.Type)
			continue
		}
		switch each.Type {
		case AuthenticationAnonymous:
		case AuthenticationKubernetes:
			if k := each.Kubernetes; k == nil || k.Issuer == "" || len(k.Audiences) == 0 || len(k.Keys) == 0 {
				refuse(field, "needs kubernetes.issuer, kubernetes.audiences and kubernetes.keys")
			}
		case AuthenticationJWT:
			each.JWT.validate(field, refuse)
		case AuthenticationAPIKey:
			each.APIKey.validate(field, refuse)
		case AuthenticationMTLS:
			if each.MTLS == nil || slices.Contains(each.MTLS.Principals, "") {
				refuse(field, "needs mtls, with no empty principal")
			} else if each.MTLS.Subject != (each.MTLS.TrustDomain == "") {
				refuse(field+".mtls.trustDomain", "is required for SPIFFE IDs, and must be empty with subject")
			}
		default:
			refuse(field+".type", "is %q, must be one of %q", each.Type, authenticationTypes)
		}
		second := slices.ContainsFunc(a.Authentication[:i], func(b Authentication) bool { return b.Type == each.Type })
		if second && each.Type != AuthenticationKubernetes && each.Type != AuthenticationAnonymous {
			refuse(field, "is the second of type %q", each.Type)
		}
	}
	if a.Authorization != nil {
		a.Authorization.validate(refuse)
	}
}

func (c *CORS) validate(refuse func(field, format string, args ...any)) {
	for i, each := range c.Origins() {
		if u, err := url.Parse(each); each != "*" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || each != u.Scheme+"://"+u.Host || u.Host == "") {
			refuse(fmt.Sprintf("access.cors.allowedOrigins[%d]", i), "is %q, must be an origin such as https://app.example.com, or *", each)
		}
	}
}

// foreign reports whether a member is set that belongs to another authentication type.
func (a *Authentication) foreign() bool {
	return a.Kubernetes != nil && a.Type != AuthenticationKubernetes ||
		a.JWT != nil && a.Type != AuthenticationJWT ||
		a.APIKey != nil && a.Type != AuthenticationAPIKey ||
		a.MTLS != nil && a.Type != AuthenticationMTLS
}

// keyName reports whether name matches ^([A-Za-z0-9][A-Za-z0-9_-]{0,60})?[Kk][Ee][Yy]$.
// A header or parameter that A2A defines has no such name, so an API key cannot replace it.
// The function does not use a regular expression, because the compiled expression would
// need more memory in each sidecar than the whole configuration.
func keyName(name string) bool {
	const longest, letters = 64, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return len(name) <= longest && strings.HasSuffix(strings.ToLower(name), "key") &&
		strings.Trim(name, letters+"_-") == "" && strings.Contains(letters, name[:1])
}

func (k *APIKeyAuthentication) validate(field string, refuse func(field, format string, args ...any)) {
	switch {
	case k == nil || (k.Header == "") == (k.Query == ""):
		refuse(field, "needs apiKey.header or apiKey.query")
	case !keyName(k.Header + k.Query):
		refuse(field+".apiKey", "is %q, must be letters, digits, '-' and '_' that end in key", k.Header+k.Query)
	}
}

func (j *JWTAuthentication) validate(field string, refuse func(field, format string, args ...any)) {
	if j == nil || j.Issuer == "" || len(j.Audiences) == 0 || slices.Contains(j.Audiences, "") {
		refuse(field, "needs jwt.issuer and jwt.audiences")
		return
	}
	if !trusted(j.Issuer) || strings.Contains(j.Issuer, "?") {
		refuse(field+".jwt.issuer", "is %q, must be an https URL without a query or fragment, or an http one of the cluster", j.Issuer)
	}
	for i := range j.Flows {
		f := &j.Flows[i]
		code := f.Type == card.FlowAuthorizationCode
		device := f.Type == card.FlowDeviceCode
		if !code && !device && f.Type != card.FlowClientCredentials || f.TokenURL == "" || code != (f.AuthorizationURL != "") || device != (f.DeviceAuthorizationURL != "") {
			refuse(fmt.Sprintf("%s.jwt.flows[%d]", field, i), "must be authorizationCode, clientCredentials or deviceCode with the URLs of the flow")
		}
	}
	for _, scope := range slices.Concat(append(slices.Collect(maps.Values(j.SkillScopes)), j.RequiredScopes)...) {
		if scope == "" || strings.ContainsAny(scope, " \"\\") {
			refuse(field+".jwt", "has the scope %q, which must not be empty or have spaces, quotes or backslashes (RFC 6749)", scope)
		}
	}
	if j.JWKSURL != "" && !trusted(j.JWKSURL) {
		refuse(field+".jwt.jwksUrl", "is %q, must be an https URL without a fragment, or an http one of the cluster", j.JWKSURL)
	}
}

// trusted reports whether keys may be fetched from a URL: it must be an https URL, or
// an http URL of the cluster or of this machine.
func trusted(address string) bool {
	u, err := hosturl.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	switch u.Scheme {
	case "https":
		return true
	case "http":
		return isService(host) || host == "localhost" || net.ParseIP(host).IsLoopback()
	default:
		return false
	}
}

// isService reports whether a host is the DNS name of a Service, with or without the domain of the cluster. It does not know
// the domain: the operator refuses another one.
func isService(host string) bool {
	labels := strings.SplitN(host, ".", 4)
	return len(labels) > 2 && labels[0] != "" && labels[1] != "" && labels[2] == "svc"
}
