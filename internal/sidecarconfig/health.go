// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"strings"
	"unicode"
)

// HealthPath is where a sidecar reports the health of its dependencies, below
// the base URL of the registry: PUT with a HealthReport and the sidecar's token.
const HealthPath = "/v1/health"

// Dependency is something outside of its process that a sidecar needs to serve.
// It is the name in a HealthReport, and the type of a pod condition behind a
// prefix.
type Dependency string

// The dependencies.
const (
	// DependencyTaskStore is the Redis or Valkey that keeps the tasks.
	DependencyTaskStore Dependency = "TaskStore"
	// DependencyServingCertificate is the certificate of the A2A endpoint.
	DependencyServingCertificate Dependency = "ServingCertificate"
	// DependencyIssuerKeys are the keys (JWKS) of the issuer of JWTs.
	DependencyIssuerKeys Dependency = "IssuerKeys"
	// DependencyAPIKeys are the API keys of callers.
	DependencyAPIKeys Dependency = "APIKeys"
	// DependencyClientCA are the authorities of client certificates.
	DependencyClientCA Dependency = "ClientCA"
	// DependencyTrustBundle are the authorities of servers that are called.
	DependencyTrustBundle Dependency = "TrustBundle"
	// DependencyCardSigningKeys are the keys that sign the card.
	DependencyCardSigningKeys Dependency = "CardSigningKeys"
	// DependencyModelServer is the model server elsewhere that turns are sent to.
	DependencyModelServer Dependency = "ModelServer"
	// DependencyModelServerKey is the API key that the model server is shown.
	DependencyModelServerKey Dependency = "ModelServerKey"
	// DependencyAgentCard is the card of an agent's container that speaks A2A.
	DependencyAgentCard Dependency = "AgentCard"
	// DependencyConfiguration is the contract itself.
	DependencyConfiguration Dependency = "Configuration"
)

// Dependencies lists all dependencies, the most important first: where several
// fail, the first is the reason that the Agent shows.
var Dependencies = []Dependency{
	DependencyTaskStore, DependencyModelServer, DependencyAgentCard, DependencyServingCertificate, DependencyIssuerKeys, DependencyAPIKeys, DependencyModelServerKey,
	DependencyClientCA, DependencyTrustBundle, DependencyCardSigningKeys, DependencyConfiguration,
}

// HealthCause says why a dependency cannot be used. It is the reason of the pod
// condition.
type HealthCause string

// The causes.
const (
	// CauseHealthy is that of a dependency that can be used.
	CauseHealthy HealthCause = "Healthy"
	// CauseNameResolution: DNS has no address for the host.
	CauseNameResolution HealthCause = "NameResolutionFailed"
	// CauseRefused: nothing listens at the address.
	CauseRefused HealthCause = "ConnectionRefused"
	// CauseTimedOut: the address, or the server behind it, does not answer.
	CauseTimedOut HealthCause = "ConnectionTimedOut"
	// CauseConnection: the connection fails in another way.
	CauseConnection HealthCause = "ConnectionFailed"
	// CauseTLS: the TLS handshake fails, or the certificate is not trusted.
	CauseTLS HealthCause = "TLSFailed"
	// CauseAuthentication: the server does not accept the credential.
	CauseAuthentication HealthCause = "AuthenticationFailed"
	// CausePermission: the server knows the user, and does not allow what is needed.
	CausePermission HealthCause = "PermissionDenied"
	// CauseMissing: a file is not mounted, because the Secret or ConfigMap, or the
	// key in it, does not exist.
	CauseMissing HealthCause = "Missing"
	// CauseInvalid: what is mounted or answered is not of the form that is needed.
	CauseInvalid HealthCause = "Invalid"
	// CauseExpired and CauseNotYetValid are those of a certificate.
	CauseExpired     HealthCause = "Expired"
	CauseNotYetValid HealthCause = "NotYetValid"
	// CauseHTTPStatus: the server answers with another status than 200.
	CauseHTTPStatus HealthCause = "HTTPStatus"
	// CauseNotServing: the server answers that it cannot serve, such as while it
	// loads its data, or that it is full.
	CauseNotServing HealthCause = "NotServing"
)

// Causes lists all causes.
var Causes = []HealthCause{
	CauseHealthy, CauseNameResolution, CauseRefused, CauseTimedOut, CauseConnection, CauseTLS, CauseAuthentication,
	CausePermission, CauseMissing, CauseInvalid, CauseExpired, CauseNotYetValid, CauseHTTPStatus, CauseNotServing,
}

// MaxHealthMessage bounds the message about one dependency, in bytes.
const MaxHealthMessage = 512

// HealthReport is what a sidecar knows of its dependencies. It is whole: a
// dependency that is not in it is healthy, or not one of this sidecar's.
type HealthReport struct {
	Dependencies []DependencyHealth `json:"dependencies"`
}

// DependencyHealth is the health of one dependency that cannot be used as it
// is configured.
type DependencyHealth struct {
	Dependency Dependency  `json:"dependency"`
	Cause      HealthCause `json:"cause"`
	// Message says what failed, with addresses, file names and dates, and never
	// with a credential. It has at most MaxHealthMessage bytes.
	Message string `json:"message"`
}

// OneLine returns a text on one line that has at most MaxHealthMessage bytes, is
// valid UTF-8 and holds no control character.
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
