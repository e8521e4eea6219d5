// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sidecarconfig has the format of the sidecar configuration, the file that the
// operator writes and the sidecar reads. Both programs import it, and the pure card
// code.
//
// It imports no Kubernetes package and nothing of the engine. A change that an older
// sidecar would misread requires a new Version.
package sidecarconfig

import (
	"encoding/json"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// Version is the version of the format that this build writes and reads.
const Version = "v1"

// FileName is the key in the ConfigMap and the name of the mounted file.
const FileName = "config.json"

// CardFileName is the key in the ConfigMap of a remote agent, which has no sidecar. The
// value is a card.Card as JSON, for the registry.
const CardFileName = "card.json"

// MaxSize bounds the encoded configuration, in bytes. It leaves room below the 1 MiB
// limit of a ConfigMap.
const MaxSize = 900 << 10

// The ports of a sidecar in a pod.
const (
	// AgentPort serves the A2A protocol.
	AgentPort = 8641
	// HealthPort serves probes, metrics and the drain hooks.
	HealthPort = 8642
	// GatewayPort serves the gateway, at loopback only.
	GatewayPort = 8643
)

// Paths on the health port.
const (
	LivezPath   = "/livez"
	ReadyzPath  = "/readyz"
	StartedPath = "/startedz"
	MetricsPath = "/metrics"
	// ProfilesPath is followed by the name of a profile. It accepts callers inside the pod
	// only, and only if profiling is on.
	ProfilesPath = "/debug/pprof/"
	// DrainPath starts the drain. It accepts callers inside the pod only, because
	// others could take the agent out of service.
	DrainPath = "/drain"
	// DrainedPath responds once all turns have ended. It is the preStop hook of the
	// agent's container.
	DrainedPath = "/drained"
)

// ReadyHoldParameter is a query parameter of ReadyzPath: how long a sidecar that was
// never ready delays its response, such as "9s".
const ReadyHoldParameter = "hold"

// Exit codes of a sidecar whose mounted credentials are missing or not usable. The
// operator makes conditions of them.
const (
	// ExitCardKey: there is no usable card signing key.
	ExitCardKey = 3
	// ExitAPIKeys: there is no usable API key of a caller.
	ExitAPIKeys = 4
	// ExitTLS: there is no usable serving certificate.
	ExitTLS = 5
	// ExitClientCA and ExitTrust: there is no usable certificate authority of clients, or
	// of servers.
	ExitClientCA = 6
	ExitTrust    = 7
	// ExitChatKey: there is no usable API key for the model server.
	ExitChatKey = 8
)

// TerminationLog is the file of a container's termination message (the default
// terminationMessagePath). The kubelet copies at most 4 KiB of it into the status of the
// pod.
const TerminationLog = "/dev/termination-log"

// Config is the sidecar configuration.
type Config struct {
	// Version is the version of the format, "v1".
	Version string `json:"version"`
	// Agent names the Agent of the sidecar.
	Agent Agent `json:"agent"`
	// Card is served at the well-known paths. Its interfaces are those of the
	// agent's Service.
	Card card.Card `json:"card"`
	// Bases are the base URLs of the agent, the primary one first. The card of a response
	// lists the interfaces of the base whose host the request names, or else of the
	// primary one. Without bases the card is served unchanged.
	Bases []card.Base `json:"bases,omitempty"`
	// CardSigning configures signatures if the sidecar has a signing key.
	CardSigning CardSigning `json:"cardSigning,omitzero"`
	// ProtocolOptions configures behavior that the protocol leaves open.
	ProtocolOptions ProtocolOptions `json:"protocolOptions,omitzero"`
	// Backend is the agent's container.
	Backend Backend `json:"backend"`
	// Tasks bounds the task store.
	Tasks Tasks `json:"tasks"`
	// Access configures which callers are admitted.
	Access Access `json:"access"`
	// Limits bounds the resources that callers use.
	Limits Limits `json:"limits,omitzero"`
	// Gateway configures the gateway to the registry and to other agents. Nil turns it
	// off.
	Gateway *Gateway `json:"gateway,omitempty"`
	// PushNotifications has the allowed targets of webhooks. Nil turns them off.
	PushNotifications *PushNotifications `json:"pushNotifications,omitempty"`
	// Tracing configures the export of traces. Nil exports none.
	Tracing *Tracing `json:"tracing,omitempty"`
	// Drain bounds the graceful shutdown.
	Drain Drain `json:"drain"`
	// Observability configures what the sidecar reports about itself.
	Observability Observability `json:"observability,omitzero"`
}

// Observability configures what the sidecar reports about itself. The zero value is the
// default.
type Observability struct {
	// LogLevel is the least severe level that is logged; "" is that of the flags.
	LogLevel LogLevel `json:"logLevel,omitempty"`
	// AccessLog logs each request to the A2A endpoint.
	AccessLog bool `json:"accessLog,omitempty"`
	// Profiling serves profiles of the process at the health port to callers inside the pod.
	Profiling bool `json:"profiling,omitempty"`
}

// LogLevel is the least severe level of the events that a log has.
type LogLevel string

// LogLevels lists the levels of a log.
var LogLevels = []LogLevel{"Debug", "Info", "Warn", "Error"}

// Agent names the custom resource.
type Agent struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// CardSigning configures the signature of the card. The key is mounted from a Secret.
type CardSigning struct {
	// JWKSURL is the URL of the public keys in the signatures; "" omits it.
	JWKSURL string `json:"jwksUrl,omitempty"`
}

// ProtocolOptions configures behavior that the protocol leaves open, or that differs
// between its versions. The zero value is the default.
type ProtocolOptions struct {
	// CardProfile selects the forms of the card and their paths; "" is Union.
	CardProfile card.Profile `json:"cardProfile,omitempty"`
	// ErrorProfile is the release of 1.0 whose mapping of errors to HTTP and
	// gRPC is used, "1.0.1" or "1.0.0"; "" is "1.0.1".
	ErrorProfile string `json:"errorProfile,omitempty"`
	// StrictVersion rejects requests whose A2A-Version does not match their method.
	StrictVersion bool `json:"strictVersion,omitempty"`
	// RestartTasks lets a message of 0.1 restart a finished task.
	RestartTasks bool `json:"restartTasks,omitempty"`
	// MessageDeduplication is how long a repeated message is recognized, at most
	// MaxMessageDeduplication. Zero turns deduplication off, and nil is
	// DefaultMessageDeduplication.
	MessageDeduplication *Duration `json:"messageDeduplication,omitempty"`
	// ContextReplies is the effect of a message with a context and no task; "" is
	// NewTask.
	ContextReplies ContextReplies `json:"contextReplies,omitempty"`
}

// The default and the maximum of ProtocolOptions.MessageDeduplication.
const (
	DefaultMessageDeduplication = time.Minute
	MaxMessageDeduplication     = 10 * time.Minute
)

// Deduplication returns how long a repeated message is recognized; 0 means that
// deduplication is off.
func (o *ProtocolOptions) Deduplication() time.Duration {
	if o.MessageDeduplication == nil {
		return DefaultMessageDeduplication
	}
	return time.Duration(*o.MessageDeduplication)
}

// ContextReplies is the effect of a message with a context and no task.
type ContextReplies string

// The effects of such a message.
const (
	// ContextRepliesNewTask starts a task.
	ContextRepliesNewTask ContextReplies = "NewTask"
	// ContextRepliesContinuePaused continues the only paused task of the same
	// owner in that context, if there is one.
	ContextRepliesContinuePaused ContextReplies = "ContinuePaused"
)

// The error profiles.
const (
	ErrorProfile101 = "1.0.1"
	ErrorProfile100 = "1.0.0"
)

// Backend configures calls to the agent's container or to a model server.
type Backend struct {
	Protocol Protocol `json:"protocol"`
	// URL is the URL to which a turn is posted, such as http://127.0.0.1:8080/. For A2A
	// without a path, the path is that of the agent's card. For ProtocolChatCompletions
	// it is the base URL of the server's API or the URL of its completions: of a
	// container in the pod, at loopback, or of an external server.
	URL      string   `json:"url"`
	Timeouts Timeouts `json:"timeouts"`
	// A2A is for ProtocolA2A only.
	A2A A2A `json:"a2a,omitzero"`
	// Chat is for ProtocolChatCompletions only.
	Chat Chat `json:"chat,omitzero"`
	// OnInterruption selects what happens to an interrupted turn; "" is Fail.
	OnInterruption Interruption `json:"onInterruption,omitempty"`
}

// Interruption selects what happens to an interrupted turn.
type Interruption string

// The interruptions.
const (
	// InterruptionFail ends the task as failed.
	InterruptionFail Interruption = "Fail"
	// InterruptionRetry re-runs the turn.
	InterruptionRetry Interruption = "Retry"
)

// Interruptions lists all of them.
var Interruptions = []Interruption{InterruptionFail, InterruptionRetry}

// Chat configures calls to a language model.
type Chat struct {
	// Model is the name of the model; "" is the first one that the server lists.
	Model string `json:"model,omitempty"`
	// SystemPrompt is the first message of every conversation; "" for none.
	SystemPrompt string `json:"systemPrompt,omitempty"`
	// Headers are sent to the server with each request. They are not secret; the API key
	// is mounted.
	Headers []Header `json:"headers,omitempty"`
}

// Header is a header of HTTP requests.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Timeouts bound a turn. Zero means the default.
type Timeouts struct {
	// Connect bounds the TCP connect, 5 s by default.
	Connect Duration `json:"connect,omitempty"`
	// FirstEvent bounds the wait for the first byte of an answer, 2 min by default.
	FirstEvent Duration `json:"firstEvent,omitempty"`
	// Idle bounds the silence between two events, 5 min by default.
	Idle Duration `json:"idle,omitempty"`
	// Turn bounds the whole turn, 1 h by default.
	Turn Duration `json:"turn,omitempty"`
}

// Tasks bounds the task store. Zero means the default.
type Tasks struct {
	// Retention is how long a finished task is kept, 1 h by default.
	Retention Duration `json:"retention,omitempty"`
	// MaxTasks bounds the number of tasks, 10,000 by default.
	MaxTasks int64 `json:"maxTasks,omitempty"`
	// MaxBytes bounds the memory of their events, 64 MiB by default.
	MaxBytes int64 `json:"maxBytes,omitempty"`
}

// Access configures which callers are admitted. An empty Authentication rejects all.
type Access struct {
	// Authentication is tried in order; the first type that recognizes the credential
	// decides. Anonymous is tried last, and only for requests without a credential.
	Authentication []Authentication `json:"authentication"`
	// Namespaces lists the namespaces of admitted callers; "*" admits all. It does not
	// apply to anonymous callers, to JWTs without a namespace claim, and to API keys and
	// certificates.
	Namespaces []string `json:"namespaces,omitempty"`
	// Authorization has the rules for admitted callers. Nil allows every call.
	Authorization *Authorization `json:"authorization,omitempty"`
	// CORS lists the web pages that may call. Nil allows none of another origin.
	CORS *CORS `json:"cors,omitempty"`
}

// CORS lists the web pages that may call.
type CORS struct {
	// AllowedOrigins are such as https://app.example.com; "*" is all.
	AllowedOrigins []string `json:"allowedOrigins"`
}

// Origins returns the allowed origins.
func (c *CORS) Origins() []string {
	if c == nil {
		return nil
	}
	return c.AllowedOrigins
}

// AuthenticationType is a way to authenticate callers.
type AuthenticationType string

// The authentication types.
const (
	// AuthenticationKubernetes verifies ServiceAccount tokens offline.
	AuthenticationKubernetes AuthenticationType = "Kubernetes"
	// AuthenticationJWT verifies the tokens of any issuer.
	AuthenticationJWT AuthenticationType = "JWT"
	// AuthenticationAPIKey admits callers with a key of a mounted Secret.
	AuthenticationAPIKey AuthenticationType = "APIKey"
	// AuthenticationMTLS admits callers with a client certificate.
	AuthenticationMTLS AuthenticationType = "MTLS"
	// AuthenticationAnonymous admits calls without a credential.
	AuthenticationAnonymous AuthenticationType = "Anonymous"
)

var authenticationTypes = []AuthenticationType{
	AuthenticationKubernetes, AuthenticationJWT, AuthenticationAPIKey, AuthenticationMTLS, AuthenticationAnonymous,
}

// Authentication is one accepted authentication type.
type Authentication struct {
	Type AuthenticationType `json:"type"`
	// Kubernetes is set for that type only.
	Kubernetes *KubernetesAuthentication `json:"kubernetes,omitempty"`
	// JWT is set for that type only, of which there is at most one.
	JWT *JWTAuthentication `json:"jwt,omitempty"`
	// APIKey is set for that type only, of which there is at most one.
	APIKey *APIKeyAuthentication `json:"apiKey,omitempty"`
	// MTLS is set for that type only, of which there is at most one.
	MTLS *MTLSAuthentication `json:"mtls,omitempty"`
}

// KubernetesAuthentication verifies tokens that name a ServiceAccount against keys that the
// operator keeps fresh: those of the cluster (OIDC, KEP-1393), and those that the registry
// issues for calls of agents.
type KubernetesAuthentication struct {
	// Issuer must equal the token's iss.
	Issuer string `json:"issuer"`
	// Audiences are the accepted audiences: the token's aud must contain one of them.
	Audiences []string `json:"audiences"`
	// Keys is the issuer's JWK set (RFC 7517).
	Keys json.RawMessage `json:"keys"`
}

// JWTAuthentication verifies tokens (RFC 7519) against keys that the sidecar
// fetches.
type JWTAuthentication struct {
	// Issuer must equal the token's iss.
	Issuer string `json:"issuer"`
	// Audiences are the accepted audiences: the token's aud must contain one of them.
	Audiences []string `json:"audiences"`
	// JWKSURL is the URL of the keys; "" uses OpenID Connect Discovery of the issuer.
	JWKSURL string `json:"jwksUrl,omitempty"`
	// PrincipalClaim is the claim with the caller's principal; "" is sub.
	PrincipalClaim string `json:"principalClaim,omitempty"`
	// NamespaceClaim is the claim with the caller's namespace; "" means that callers have
	// none.
	NamespaceClaim string `json:"namespaceClaim,omitempty"`
	// OwnerClaim is the claim with the owner of tasks; "" is the principal.
	OwnerClaim string `json:"ownerClaim,omitempty"`
}

// APIKeyAuthentication names the header or query parameter of the API key. The keys are
// mounted from a Secret.
type APIKeyAuthentication struct {
	// Exactly one of Header and Query is set.
	Header string `json:"header,omitempty"`
	Query  string `json:"query,omitempty"`
}

// MTLSAuthentication configures the principal of a client certificate. The certificate
// authorities are mounted.
type MTLSAuthentication struct {
	// Subject selects the subject of the certificate as the principal. The default is
	// its SPIFFE ID.
	Subject bool `json:"subject,omitempty"`
	// Principals lists the admitted callers, as in the Agent; empty admits all.
	Principals []string `json:"principals,omitempty"`
}

// Gateway configures the gateway.
type Gateway struct {
	// RegistryURL is the base of the registry's API.
	RegistryURL string `json:"registryUrl"`
	// RegistryCA has the certificates of the authorities that verify the registry, in
	// PEM. If it is empty, the authorities of the sidecar verify it.
	RegistryCA string `json:"registryCa,omitempty"`
	// RegistryCAAdditional is true if the authorities of the sidecar verify the registry beside
	// RegistryCA: for an hour after the first authority of the registry was added or the last
	// one was removed.
	RegistryCAAdditional bool `json:"registryCaAdditional,omitempty"`
	// AgentURL is the base URL of an agent, a template with {name} and {namespace}.
	AgentURL string `json:"agentUrl"`
	// TokenFile holds the sidecar's own ServiceAccount token for audience
	// a2a-operator.dev. It is read again for every use and never sent to the agent.
	TokenFile string `json:"tokenFile"`
	// RemoteAllow lists the ranges of addresses at which remote agents are allowed, in
	// addition to public addresses over https.
	RemoteAllow []string `json:"remoteAllow,omitempty"`
}

// Drain bounds the graceful shutdown.
type Drain struct {
	// GracePeriod is the pod's terminationGracePeriodSeconds.
	GracePeriod Duration `json:"gracePeriod"`
}
