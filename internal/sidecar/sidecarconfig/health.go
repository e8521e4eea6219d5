// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// TokenPath is the path below the base URL of the registry at which a sidecar exchanges
// its token for a token for one agent (RFC 8693).
const TokenPath = "/v1/token"

// TokenKeysPath is the path below the base URL of the registry of the public keys that verify these
// tokens (a JWK set, RFC 7517).
const TokenKeysPath = "/v1/token/keys"

// TokenIssuer is the issuer of the tokens that the registry issues for calls to an agent.
const TokenIssuer = "a2a-operator.dev/registry"

// RemoteCredentialPath is the path below the base URL of the registry at which a sidecar gets
// the credential for calls of a remote agent.
const RemoteCredentialPath = "/v1/remote-credential"

// AgentAudience is the audience of an agent, a template with {name} and {namespace}.
const AgentAudience = "{name}.{namespace}.a2a-operator.dev"

// HealthPath is the path of health reports below the base URL of the registry. A
// sidecar sends a PUT request with a HealthReport as the body and with its token.
const HealthPath = "/v1/health"

// AlivePath is the path of heartbeats below the base URL of the registry. A heartbeat is
// a POST without a body. It shows that the sidecar reaches the registry.
const AlivePath = "/v1/alive"

// Dependency is the name of something outside of the sidecar's process that the sidecar
// needs. It is the name in a HealthReport, and with a prefix, the type of a pod
// condition.
type Dependency string

// The dependencies.
const (
	// DependencyTaskStore is the Redis or Valkey server that stores the tasks.
	DependencyTaskStore Dependency = "TaskStore"
	// DependencyServingCertificate is the certificate of the A2A endpoint.
	DependencyServingCertificate Dependency = "ServingCertificate"
	// DependencyIssuerKeys are the keys (JWKS) of the issuer of JWTs.
	DependencyIssuerKeys Dependency = "IssuerKeys"
	// DependencyAPIKeys are the API keys of callers.
	DependencyAPIKeys Dependency = "APIKeys"
	// DependencyClientCA are the certificate authorities of clients.
	DependencyClientCA Dependency = "ClientCA"
	// DependencyTrustBundle are the certificate authorities of servers.
	DependencyTrustBundle Dependency = "TrustBundle"
	// DependencyCardSigningKeys are the keys that sign the card.
	DependencyCardSigningKeys Dependency = "CardSigningKeys"
	// DependencyModelServer is the external model server.
	DependencyModelServer Dependency = "ModelServer"
	// DependencyModelServerKey is the API key for the model server.
	DependencyModelServerKey Dependency = "ModelServerKey"
	// DependencyInstructions are the instructions of the model, if they are in a file.
	DependencyInstructions Dependency = "Instructions"
	// DependencyTools are the MCP servers whose tools the model may call.
	DependencyTools Dependency = "Tools"
	// DependencyAgentCard is the card of the agent's container if its backend protocol is
	// A2A.
	DependencyAgentCard Dependency = "AgentCard"
	// DependencyConfiguration is the sidecar configuration.
	DependencyConfiguration Dependency = "Configuration"
	// DependencyRegistry is the registry. It is not in reports, because the registry receives
	// them. The registry sets its pod condition to True with the first report.
	DependencyRegistry Dependency = "Registry"
)

// Dependencies lists the dependencies in reports, the most important first. If several
// dependencies fail, the first one determines the reason of the Agent's condition.
var Dependencies = []Dependency{
	DependencyTaskStore, DependencyModelServer, DependencyAgentCard, DependencyServingCertificate, DependencyIssuerKeys, DependencyAPIKeys, DependencyModelServerKey,
	DependencyInstructions, DependencyTools, DependencyClientCA, DependencyTrustBundle, DependencyCardSigningKeys, DependencyConfiguration,
}

// HealthCause is the cause for which a dependency cannot be used. It is the reason of
// the pod condition.
type HealthCause string

// The causes.
const (
	// CauseHealthy means that the dependency is usable.
	CauseHealthy HealthCause = "Healthy"
	// CauseNameResolution means that DNS has no address for the host.
	CauseNameResolution HealthCause = "NameResolutionFailed"
	// CauseRefused means that nothing listens at the address.
	CauseRefused HealthCause = "ConnectionRefused"
	// CauseTimedOut means that the server does not respond in time.
	CauseTimedOut HealthCause = "ConnectionTimedOut"
	// CauseConnection means that the connection fails for another reason.
	CauseConnection HealthCause = "ConnectionFailed"
	// CauseTLS means that the TLS handshake fails, or that the certificate is not trusted.
	CauseTLS HealthCause = "TLSFailed"
	// CauseAuthentication means that the server rejects the credential.
	CauseAuthentication HealthCause = "AuthenticationFailed"
	// CausePermission means that the user lacks a permission at the server.
	CausePermission HealthCause = "PermissionDenied"
	// CauseMissing means that a file is not mounted, because its Secret, its ConfigMap or
	// the key in it does not exist.
	CauseMissing HealthCause = "Missing"
	// CauseInvalid means that the file or the response has an invalid form.
	CauseInvalid HealthCause = "Invalid"
	// CauseExpired and CauseNotYetValid mean that the certificate is outside of its
	// validity period.
	CauseExpired     HealthCause = "Expired"
	CauseNotYetValid HealthCause = "NotYetValid"
	// CauseHTTPStatus means that the server responds with a status other than 200.
	CauseHTTPStatus HealthCause = "HTTPStatus"
	// CauseNotServing means that the server responds that it cannot serve, for example
	// because it loads its data.
	CauseNotServing HealthCause = "NotServing"
	// CauseProxy means that the proxy for public servers refuses or fails.
	CauseProxy HealthCause = "ProxyFailed"
	// CauseFull means that the server has no room for new data. It serves the data that it
	// has.
	CauseFull HealthCause = "Full"
)

// Causes lists all causes.
var Causes = []HealthCause{
	CauseHealthy, CauseNameResolution, CauseRefused, CauseTimedOut, CauseConnection, CauseTLS, CauseAuthentication,
	CausePermission, CauseMissing, CauseInvalid, CauseExpired, CauseNotYetValid, CauseHTTPStatus, CauseNotServing,
	CauseProxy, CauseFull,
}

// MaxHealthMessage is the maximum length of the message about one dependency, in bytes.
const MaxHealthMessage = 512

// HealthReport contains the failed dependencies of a sidecar. A dependency that is not in
// the report is healthy, was not tried yet, or is not used by this sidecar.
type HealthReport struct {
	Dependencies []DependencyHealth `json:"dependencies"`
	// CardSignatures is nil if the sidecar does not sign its card.
	CardSignatures *CardSignatures `json:"cardSignatures,omitempty"`
}

// MaxCardSignatures is the maximum size of CardSignatures as JSON, in bytes. It has
// room for the signatures of two RSA keys of 4096 bits with the longest jwksURL.
const MaxCardSignatures = 56 << 10

// CardSignatures are the signatures of the public card in the sidecar configuration.
// The sidecar sends them to the registry, because the registry serves the same card and
// has no key to sign it.
type CardSignatures struct {
	// Keys is the JWK set of the public keys.
	Keys       json.RawMessage  `json:"keys"`
	Signatures []card.Signature `json:"signatures"`
}

// DependencyHealth is the health of one failed dependency.
type DependencyHealth struct {
	Dependency Dependency  `json:"dependency"`
	Cause      HealthCause `json:"cause"`
	// Message describes the failure, with addresses, file names and dates. It never
	// contains a credential. It has at most MaxHealthMessage bytes.
	Message string `json:"message"`
}

// OneLine returns a text as one line of valid UTF-8 without control characters. It
// truncates the line to MaxHealthMessage bytes.
func OneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) <= MaxHealthMessage {
		return text
	}
	const ellipsis = "…"
	cut := MaxHealthMessage - len(ellipsis)
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + ellipsis
}
