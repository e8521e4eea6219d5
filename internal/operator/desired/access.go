// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"slices"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// configAccess returns the access settings of an Agent, without its authorization rules.
// The settings admit callers of the Agent's own namespace, and callers without a namespace.
// If there are rules, sidecarConfiguration replaces the namespaces by allNamespaces, because
// the rules then decide which callers are admitted.
func configAccess(in state.Agent) sidecarconfig.Access {
	agent := in.Agent
	access := sidecarconfig.Access{
		Namespaces: []string{agent.Namespace}, Delegation: sidecarconfig.Delegation(cmp.Or(agent.Spec.Access.Delegation, a2av1alpha1.DelegationAccept)),
	}
	if cors := agent.Spec.Access.CORS; cors != nil {
		access.CORS = &sidecarconfig.CORS{AllowedOrigins: cors.AllowedOrigins}
	}
	for _, authentication := range authentications(agent) {
		entry := sidecarconfig.Authentication{Type: sidecarconfig.AuthenticationType(authentication.Type), JWT: configJWT(in, authentication.JWT), APIKey: configAPIKey(authentication.APIKey), MTLS: configMTLS(authentication.MTLS)}
		if authentication.Type != a2av1alpha1.AuthenticationKubernetes {
			access.Authentication = append(access.Authentication, entry)
			continue
		}
		for _, issuer := range []*state.Issuer{in.Issuer, in.TokenIssuer} {
			if issuer == nil {
				continue // in.TokenIssuer is nil if the manager issues no tokens
			}
			for _, url := range append([]string{issuer.URL}, issuer.Others...) {
				entry.Kubernetes = &sidecarconfig.KubernetesAuthentication{
					Issuer:    url,
					Audiences: []string{names.Audience(agent.Name, agent.Namespace)},
					Keys:      issuer.Keys,
				}
				access.Authentication = append(access.Authentication, entry)
			}
		}
	}
	return access
}

// authentications returns the authentication types of an Agent, by default Kubernetes.
func authentications(agent *a2av1alpha1.Agent) []a2av1alpha1.Authentication {
	if len(agent.Spec.Access.Authentication) == 0 {
		return []a2av1alpha1.Authentication{{Type: a2av1alpha1.AuthenticationKubernetes}}
	}
	return agent.Spec.Access.Authentication
}

func configJWT(in state.Agent, j *a2av1alpha1.JWTAuthentication) *sidecarconfig.JWTAuthentication {
	if j == nil {
		return nil
	}
	c := &sidecarconfig.JWTAuthentication{
		Issuer: j.Issuer, Audiences: j.Audiences, JWKSURL: j.JWKSURL,
		PrincipalClaim: j.Claims.Principal, NamespaceClaim: j.Claims.Namespace, OwnerClaim: j.Claims.Owner,
		RequiredScopes: j.RequiredScopes,
	}
	for _, each := range j.SkillScopes {
		if c.SkillScopes == nil {
			c.SkillScopes = map[string][]string{}
		}
		c.SkillScopes[each.Skill] = each.Scopes
	}
	if j.OAuth2 != nil {
		c.Flows = configFlows(in, j.OAuth2)
		c.Scopes = map[string]string{}
		for _, scope := range j.OAuth2.Scopes {
			c.Scopes[scope.Name] = scope.Description
		}
	}
	return c
}

// configFlows returns the OAuth 2 flows on the card.
func configFlows(in state.Agent, o *a2av1alpha1.OAuth2SignIn) []card.OAuthFlow {
	var flows []card.OAuthFlow
	for _, name := range o.Flows {
		flow := card.OAuthFlow{TokenURL: o.TokenURL}
		switch name {
		case a2av1alpha1.OAuth2AuthorizationCode:
			flow.Type = card.FlowAuthorizationCode
			flow.AuthorizationURL = o.AuthorizationURL
			flow.PKCERequired = true
		case a2av1alpha1.OAuth2DeviceCode:
			flow.Type = card.FlowDeviceCode
			flow.DeviceAuthorizationURL = o.DeviceAuthorizationURL
		case a2av1alpha1.OAuth2ClientCredentials:
			flow.Type = card.FlowClientCredentials
		case a2av1alpha1.OAuth2Discover:
			return discoveredFlows(in) // the CRD allows no others beside it
		}
		flows = append(flows, flow)
	}
	return flows
}

// discoveredFlows returns the flows in the discovery document of the issuer. While the operator has not read it, such as after a
// restart, they are the published flows of the same issuer.
func discoveredFlows(in state.Agent) []card.OAuthFlow {
	if in.Remote != nil && in.Remote.Flows != nil {
		return in.Remote.Flows
	}
	if last := lastPublished(in); last != nil && last.FlowsOf == state.DiscoveredIssuer(in.Agent) {
		return last.Flows
	}
	return nil
}

// signInRemarks returns a remark if the operator cannot read how clients sign in.
func signInRemarks(in state.Agent) []state.Problem {
	if state.DiscoveredIssuer(in.Agent) == "" || in.Remote == nil || in.Remote.Failure == nil {
		return nil
	}
	remark := *in.Remote.Failure
	remark.Message += ". The card names no flow until then"
	if len(discoveredFlows(in)) > 0 {
		remark.Message = in.Remote.Failure.Message + ". The card keeps the flows that the operator read last"
	}
	return []state.Problem{remark}
}

func configAPIKey(k *a2av1alpha1.APIKeyAuthentication) *sidecarconfig.APIKeyAuthentication {
	switch {
	case k == nil:
		return nil
	case k.Query != "":
		return &sidecarconfig.APIKeyAuthentication{Query: k.Query}
	default:
		return &sidecarconfig.APIKeyAuthentication{Header: cmp.Or(k.Header, sidecarconfig.DefaultAPIKeyHeader)}
	}
}

func configMTLS(m *a2av1alpha1.MTLSAuthentication) *sidecarconfig.MTLSAuthentication {
	if m == nil {
		return nil
	}
	return &sidecarconfig.MTLSAuthentication{
		Subject: m.Principal == a2av1alpha1.CertificatePrincipalSubject, TrustDomain: m.TrustDomain, Principals: m.Principals,
	}
}

// needsIssuer reports whether the sidecar configuration of an Agent has the keys of the
// ServiceAccount issuer.
func needsIssuer(agent *a2av1alpha1.Agent) bool {
	return slices.ContainsFunc(authentications(agent), func(a a2av1alpha1.Authentication) bool {
		return a.Type == a2av1alpha1.AuthenticationKubernetes
	})
}

func issuerUnknown() state.Problem {
	return state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonWaitingForIssuerKeys,
		"The operator has not yet read the keys that verify ServiceAccount tokens from the API server "+
			"(/.well-known/openid-configuration and /openid/v1/jwks); if this persists, ask the administrator of the operator for the error in the manager's log")
}

func tokenKeysUnknown() state.Problem {
	return state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonWaitingForTokenKeys,
		"The operator has not yet read or created the keys that sign tokens for calls of agents, in the Secret "+
			"a2a-operator-token-keys of its namespace; if this persists, ask the administrator of the operator for the error in the manager's log")
}
