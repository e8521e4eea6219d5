// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sidecarconfig defines the format of the sidecar configuration, the file that
// the operator writes and the sidecar reads. Both programs import the package.
//
// The package imports the pure card package, no Kubernetes package and nothing of the
// engine. A change that an older sidecar would misinterpret requires a new Version.
package sidecarconfig

import (
	"encoding/json"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// Version is the version of the format that this build writes and reads.
const Version = "v1"

// FileName is the key of the configuration in the ConfigMap, and the name of the
// mounted file.
const FileName = "config.json"

// CardFileName is the key in the ConfigMap of a remote agent. A remote agent has no
// sidecar. The value is a card.Card as JSON, which the registry reads.
const CardFileName = "card.json"

// MaxSize is the maximum size of the encoded configuration, in bytes. Each replica of the
// manager holds the configurations of all Agents in memory, so it is below the limit of a
// ConfigMap, 1 MiB.
const MaxSize = 256 << 10

// The ports of a sidecar in a pod.
const (
	// AgentPort serves the A2A protocol.
	AgentPort = 8641
	// HealthPort serves probes, metrics and the drain hooks.
	HealthPort = 8642
	// GatewayPort serves the gateway. It listens at loopback only.
	GatewayPort = 8643
)

// Paths on the health port.
const (
	LivezPath   = "/livez"
	ReadyzPath  = "/readyz"
	StartedPath = "/startedz"
	MetricsPath = "/metrics"
	// ProfilesPath is the prefix of the paths of profiles. The name of a profile follows.
	// It accepts only callers inside the pod, and only if profiling is on.
	ProfilesPath = "/debug/pprof/"
	// DrainPath starts the drain. It accepts only callers inside the pod, because a drain
	// takes the agent out of service.
	DrainPath = "/drain"
	// DrainedPath responds when all turns have ended. The preStop hook of the agent's
	// container calls it.
	DrainedPath = "/drained"
)

// Environment variables of a process in a pod. They tell which addresses no request may reach.
const (
	// HostAddressesVariable has the addresses of the node, separated by commas. The operator sets
	// it to status.hostIPs of the pod.
	HostAddressesVariable = "HOST_IPS"
	// APIServerVariable has the address of the API server, or its name. The kubelet sets it in
	// every container.
	APIServerVariable = "KUBERNETES_SERVICE_HOST"
)

// ReadyHoldParameter is a query parameter of ReadyzPath. Its value, such as "9s", is
// how long a sidecar that was never ready may delay its response.
const ReadyHoldParameter = "hold"

// Exit codes of a sidecar whose mounted credentials are missing or unusable. The
// operator converts them to conditions.
const (
	// ExitCardKey means that there is no usable card signing key.
	ExitCardKey = 3
	// ExitAPIKeys means that there is no usable API key of a caller.
	ExitAPIKeys = 4
	// ExitTLS means that there is no usable serving certificate.
	ExitTLS = 5
	// ExitClientCA means that there is no usable certificate authority for clients.
	// ExitTrust means that there is no usable certificate authority for servers.
	ExitClientCA = 6
	ExitTrust    = 7
	// ExitModelKey means that there is no usable API key for the model server.
	ExitModelKey = 8
	// ExitInstructions means that the file with the instructions of the model cannot be used.
	ExitInstructions = 9
)

// TerminationLog is the path of a container's termination message file (the default of
// terminationMessagePath). The kubelet copies at most 4 KiB of the file into the status
// of the pod.
const TerminationLog = "/dev/termination-log"

// Config is the sidecar configuration.
type Config struct {
	// Version is the version of the format, "v1".
	Version string `json:"version"`
	// Agent names the Agent of the sidecar.
	Agent Agent `json:"agent"`
	// Card is the card that is served at the well-known paths. Its interfaces are those of
	// the agent's Service.
	Card card.Card `json:"card"`
	// Bases are the base URLs of the agent, the primary one first. The card in a response
	// lists the interfaces of the base whose host is the Host of the request. For any
	// other Host, it lists those of the primary base. Without bases, the card is served
	// unchanged.
	Bases []card.Base `json:"bases,omitempty"`
	// CardSigning configures the signatures of the card. The card is signed only if a
	// signing key is mounted.
	CardSigning CardSigning `json:"cardSigning,omitzero"`
	// ProtocolOptions configures behavior that the protocol leaves open.
	ProtocolOptions ProtocolOptions `json:"protocolOptions,omitzero"`
	// Backend configures calls to the agent's container or to a model server.
	Backend Backend `json:"backend"`
	// Tasks limits the task store.
	Tasks Tasks `json:"tasks"`
	// Access configures which callers are admitted.
	Access Access `json:"access"`
	// Decisions configures who decides about the calls of an agent without code. If it is nil (null in a file), the owner of a task
	// decides. A file without the member is refused, so that a rule cannot get lost.
	Decisions *Decisions `json:"decisions"`
	// Limits limits the resources that callers use.
	Limits Limits `json:"limits"`
	// TrustedProxies are ranges of addresses of proxies whose headers Forwarded and X-Forwarded-For
	// name the clients to which limits by address apply.
	TrustedProxies []string `json:"trustedProxies,omitempty"`
	// Gateway configures the gateway to the registry and to other agents. If it is nil,
	// the gateway is off.
	Gateway *Gateway `json:"gateway,omitempty"`
	// PushNotifications contains the allowed targets of push notifications. If it is nil,
	// push notifications are off.
	PushNotifications *PushNotifications `json:"pushNotifications,omitempty"`
	// EgressProxy is the proxy for connections to public https servers. If it is nil, there is none.
	EgressProxy *EgressProxy `json:"egressProxy,omitempty"`
	// Tracing configures the export of traces. If it is nil, no traces are exported.
	Tracing *Tracing `json:"tracing,omitempty"`
	// SkillFiles is a digest of the files of the skills, which are in another ConfigMap. The sidecar does not read it: it
	// changes the configuration when the files change, so that the operator makes the kubelet refresh both.
	SkillFiles string `json:"skillFiles,omitempty"`
	// Drain configures the graceful shutdown.
	Drain Drain `json:"drain"`
	// Observability configures what the sidecar reports about itself.
	Observability Observability `json:"observability,omitzero"`
}

// Observability configures what the sidecar reports about itself. The zero value has
// the defaults.
type Observability struct {
	// LogLevel is the least severe level of the events in the log. If it is "", the level
	// of the flags applies.
	LogLevel LogLevel `json:"logLevel,omitempty"`
	// AccessLog enables the log of requests to the A2A endpoint.
	AccessLog bool `json:"accessLog,omitempty"`
	// Profiling enables the profiles of the process at the health port, for callers inside
	// the pod.
	Profiling bool `json:"profiling,omitempty"`
}

// LogLevel is the least severe level of the events in a log.
type LogLevel string

// LogLevels lists all values of LogLevel.
var LogLevels = []LogLevel{"Debug", "Info", "Warn", "Error"}

// Agent is the name of an Agent with its namespace.
type Agent struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// CardSigning configures the signature of the card. The key is mounted from a Secret.
type CardSigning struct {
	// JWKSURL is the URL of the public keys, which each signature contains (jku). If it is
	// "", signatures contain no URL.
	JWKSURL string `json:"jwksUrl,omitempty"`
}

// ProtocolOptions configures behavior that the protocol leaves open, or that differs
// between its versions. The zero value has the defaults.
type ProtocolOptions struct {
	// CardProfile selects the forms of the card and their paths. "" means Union.
	CardProfile card.Profile `json:"cardProfile,omitempty"`
	// ErrorProfile is the release of A2A 1.0 whose mapping of errors to HTTP and gRPC is
	// used, "1.0.1" or "1.0.0". "" means "1.0.1".
	ErrorProfile string `json:"errorProfile,omitempty"`
	// StrictVersion rejects requests whose header A2A-Version does not match their method.
	StrictVersion bool `json:"strictVersion,omitempty"`
	// RestartTasks allows a message of 0.1 to restart a finished task.
	RestartTasks bool `json:"restartTasks,omitempty"`
	// MessageDeduplication is how long a repeated message is recognized, at most
	// MaxMessageDeduplication. Zero turns deduplication off. Nil means
	// DefaultMessageDeduplication.
	MessageDeduplication *Duration `json:"messageDeduplication,omitempty"`
	// KeepAlive is the time without an event after which a comment is sent in a stream of
	// server-sent events, from MinKeepAlive to MaxKeepAlive. Nil means DefaultKeepAlive.
	KeepAlive *Duration `json:"keepAlive,omitempty"`
	// ContextReplies is the effect of a message with a context and without a task. ""
	// means NewTask.
	ContextReplies ContextReplies `json:"contextReplies,omitempty"`
}

// The default and the maximum of ProtocolOptions.MessageDeduplication.
const (
	DefaultMessageDeduplication = time.Minute
	MaxMessageDeduplication     = 10 * time.Minute
)

// The default and the bounds of ProtocolOptions.KeepAlive.
const (
	DefaultKeepAlive = 10 * time.Second
	MinKeepAlive     = time.Second
	MaxKeepAlive     = 10 * time.Minute
)

// StreamKeepAlive returns the time without an event after which a stream gets a comment.
func (o *ProtocolOptions) StreamKeepAlive() time.Duration {
	if o.KeepAlive == nil {
		return DefaultKeepAlive
	}
	return time.Duration(*o.KeepAlive)
}

// Deduplication returns how long a repeated message is recognized. It returns 0 if
// deduplication is off.
func (o *ProtocolOptions) Deduplication() time.Duration {
	if o.MessageDeduplication == nil {
		return DefaultMessageDeduplication
	}
	return time.Duration(*o.MessageDeduplication)
}

// ContextReplies is the effect of a message with a context and without a task.
type ContextReplies string

// The effects of a message with a context and without a task.
const (
	// ContextRepliesNewTask starts a new task.
	ContextRepliesNewTask ContextReplies = "NewTask"
	// ContextRepliesContinuePaused continues the paused task of the same owner in the
	// context, if there is exactly one. Otherwise it starts a new task.
	ContextRepliesContinuePaused ContextReplies = "ContinuePaused"
)

// The values of ProtocolOptions.ErrorProfile.
const (
	ErrorProfile101 = "1.0.1"
	ErrorProfile100 = "1.0.0"
)

// Backend configures calls to the agent's container or to a model server.
type Backend struct {
	Protocol Protocol `json:"protocol"`
	// URL is the URL to which a turn is posted, such as http://127.0.0.1:8080/. For A2A,
	// if the URL has no path, the path in the agent's card is used. For
	// ProtocolChatCompletions, it is the base URL of the server's API or the URL of its
	// completions. The server is a container in the pod at a loopback address, or an
	// external server.
	URL      string   `json:"url"`
	Timeouts Timeouts `json:"timeouts"`
	// A2A is for ProtocolA2A only.
	A2A A2A `json:"a2a,omitzero"`
	// Model is for ProtocolChatCompletions only.
	Model Model `json:"model,omitzero"`
	// OnInterruption selects what happens to an interrupted turn. "" means Fail.
	OnInterruption Interruption `json:"onInterruption,omitempty"`
}

// Interruption selects what happens to an interrupted turn.
type Interruption string

// The values of Interruption.
const (
	// InterruptionFail ends the task as failed.
	InterruptionFail Interruption = "Fail"
	// InterruptionRetry runs the turn again.
	InterruptionRetry Interruption = "Retry"
)

// Interruptions lists all values of Interruption.
var Interruptions = []Interruption{InterruptionFail, InterruptionRetry}

// Timeouts limit the duration of a turn and its phases. Zero means the default.
type Timeouts struct {
	// Connect bounds the attempts to connect to the agent, 5 s by default.
	Connect Duration `json:"connect"`
	// FirstEvent bounds the wait for the first byte of a response, 2 min by default.
	FirstEvent Duration `json:"firstEvent"`
	// Idle bounds the time between two events, 5 min by default.
	Idle Duration `json:"idle"`
	// Turn bounds the whole turn, 1 h by default.
	Turn Duration `json:"turn"`
}

// Tasks limits the task store. Zero means the default.
type Tasks struct {
	// Retention is how long a finished task is stored, 1 h by default.
	Retention Duration `json:"retention"`
	// MaxTasks bounds the number of tasks, 10,000 by default.
	MaxTasks int64 `json:"maxTasks"`
	// MaxBytes bounds the bytes of the tasks: in Redis 256 MiB by default, in memory a share of
	// the memory of the sidecar.
	MaxBytes int64 `json:"maxBytes"`
}

// Access configures which callers are admitted. If Authentication is empty, no caller
// is admitted.
type Access struct {
	// Authentication lists the accepted types of authentication. The sidecar tries them in
	// order. The first type for which the request has a credential decides. In two cases,
	// the sidecar tries the next type instead: if it rejects the client certificate, and if
	// another issuer issued the token. It tries Anonymous last, and only for requests
	// without a credential.
	Authentication []Authentication `json:"authentication"`
	// Namespaces lists the namespaces of admitted callers. "*" admits all namespaces. The
	// list does not apply to anonymous callers, to callers with an API key or a
	// certificate, and to JWTs if NamespaceClaim is "".
	Namespaces []string `json:"namespaces"`
	// Authorization contains the rules for admitted callers. If it is nil, every call is
	// allowed.
	Authorization *Authorization `json:"authorization"`
	// Delegation says what happens to calls of ServiceAccounts on behalf of a subject. "" is DelegationAccept.
	Delegation Delegation `json:"delegation"`
	// CORS lists the origins of web pages that may call. If it is nil, pages of other
	// origins may not call.
	CORS *CORS `json:"cors,omitempty"`
}

// Delegation says what happens to calls of ServiceAccounts on behalf of a subject.
type Delegation string

// The values of Delegation.
const (
	// DelegationAccept passes the subject to rules, the owner of tasks, the log and the agent.
	DelegationAccept Delegation = "Accept"
	// DelegationRequire does the same, and refuses a ServiceAccount that acts for itself.
	DelegationRequire Delegation = "Require"
	// DelegationIgnore drops the subject.
	DelegationIgnore Delegation = "Ignore"
)

// CORS lists the origins of web pages that may call.
type CORS struct {
	// AllowedOrigins are origins such as https://app.example.com. "*" allows all origins.
	AllowedOrigins []string `json:"allowedOrigins"`
}

// Origins returns the allowed origins. c may be nil.
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
	// AuthenticationKubernetes verifies ServiceAccount tokens without a request to the API
	// server.
	AuthenticationKubernetes AuthenticationType = "Kubernetes"
	// AuthenticationJWT verifies the tokens of a configured issuer.
	AuthenticationJWT AuthenticationType = "JWT"
	// AuthenticationAPIKey admits callers with an API key that a mounted Secret contains.
	AuthenticationAPIKey AuthenticationType = "APIKey"
	// AuthenticationMTLS admits callers with a client certificate.
	AuthenticationMTLS AuthenticationType = "MTLS"
	// AuthenticationAnonymous admits callers without a credential.
	AuthenticationAnonymous AuthenticationType = "Anonymous"
)

var authenticationTypes = []AuthenticationType{
	AuthenticationKubernetes, AuthenticationJWT, AuthenticationAPIKey, AuthenticationMTLS, AuthenticationAnonymous,
}

// Authentication is one accepted authentication type.
type Authentication struct {
	Type AuthenticationType `json:"type"`
	// Kubernetes is set for the type Kubernetes only.
	Kubernetes *KubernetesAuthentication `json:"kubernetes,omitempty"`
	// JWT is set for the type JWT only. There is at most one Authentication of this type.
	JWT *JWTAuthentication `json:"jwt,omitempty"`
	// APIKey is set for the type APIKey only. There is at most one Authentication of this
	// type.
	APIKey *APIKeyAuthentication `json:"apiKey,omitempty"`
	// MTLS is set for the type MTLS only. There is at most one Authentication of this
	// type.
	MTLS *MTLSAuthentication `json:"mtls,omitempty"`
}

// KubernetesAuthentication verifies tokens that name a ServiceAccount. The issuer is
// the cluster (OIDC, KEP-1393), or the registry, which issues tokens for calls of
// agents. The operator updates the keys.
type KubernetesAuthentication struct {
	// Issuer must equal the token's iss.
	Issuer string `json:"issuer"`
	// Audiences are the accepted audiences. The token's aud must contain one of them.
	Audiences []string `json:"audiences"`
	// Keys is the issuer's JWK set (RFC 7517).
	Keys json.RawMessage `json:"keys"`
}

// JWTAuthentication verifies tokens (RFC 7519) with keys that the sidecar fetches.
type JWTAuthentication struct {
	// Issuer must equal the token's iss.
	Issuer string `json:"issuer"`
	// Audiences are the accepted audiences. The token's aud must contain one of them.
	Audiences []string `json:"audiences"`
	// JWKSURL is the URL of the keys. If it is "", the sidecar finds the keys by the
	// OpenID Connect Discovery of the issuer.
	JWKSURL string `json:"jwksUrl,omitempty"`
	// PrincipalClaim is the claim with the caller's principal. "" means sub.
	PrincipalClaim string `json:"principalClaim"`
	// NamespaceClaim is the claim with the caller's namespace. If it is "", callers have
	// no namespace.
	NamespaceClaim string `json:"namespaceClaim"`
	// OwnerClaim is the claim with the owner of tasks. If it is "", the principal is the
	// owner.
	OwnerClaim string `json:"ownerClaim"`
	// RequiredScopes are the scopes that a token needs for every call. SkillScopes are further scopes for messages to a
	// skill, by its id.
	RequiredScopes []string            `json:"requiredScopes"`
	SkillScopes    map[string][]string `json:"skillScopes"`
	// Flows are the OAuth 2 flows by which a client gets a token. If there are any, the sidecar serves protected resource
	// metadata (RFC 9728), with the names of Scopes, whose values are descriptions.
	Flows  []card.OAuthFlow  `json:"flows,omitempty"`
	Scopes map[string]string `json:"scopes,omitempty"`
}

// APIKeyAuthentication names the header or query parameter of the API key. The keys are
// mounted from a Secret.
type APIKeyAuthentication struct {
	// Exactly one of Header and Query is set.
	Header string `json:"header,omitempty"`
	Query  string `json:"query,omitempty"`
}

// MTLSAuthentication configures the principal of a client certificate. The certificate
// authorities are in a mounted file.
type MTLSAuthentication struct {
	// Subject selects the subject of the certificate as the principal. By default, the
	// principal is the SPIFFE ID.
	Subject bool `json:"subject,omitempty"`
	// TrustDomain is the trust domain of the authorities. It is required for SPIFFE IDs, and
	// empty with Subject.
	TrustDomain string `json:"trustDomain,omitempty"`
	// Principals lists the admitted callers, in the form of the field principals of an
	// Agent. If it is empty, all callers are admitted.
	Principals []string `json:"principals"`
}

// Gateway configures the gateway.
type Gateway struct {
	// RegistryURL is the base URL of the registry's API.
	RegistryURL string `json:"registryUrl"`
	// RegistryCA contains the certificates of the authorities that verify the registry, in
	// PEM. If it is "", the authorities of the sidecar verify the registry.
	RegistryCA string `json:"registryCa"`
	// RegistryCAAdditional is true if the authorities of the sidecar verify the registry
	// in addition to RegistryCA. It is true for an hour after the first authority of the
	// registry was added or the last one was removed.
	RegistryCAAdditional bool `json:"registryCaAdditional,omitempty"`
	// AgentURL is the base URL of an agent, a template with {name} and {namespace}.
	AgentURL string `json:"agentUrl"`
	// TokenFile is the file with the sidecar's own ServiceAccount token for the audience
	// a2a-operator.dev. It is read again for every use. The token is never sent to the
	// agent.
	TokenFile string `json:"tokenFile"`
	// RemoteAllow lists ranges of addresses at which remote agents are allowed. Public
	// addresses over https are always allowed.
	RemoteAllow []string `json:"remoteAllow,omitempty"`
}

// Drain configures the graceful shutdown.
type Drain struct {
	// GracePeriod is the pod's terminationGracePeriodSeconds.
	GracePeriod Duration `json:"gracePeriod"`
}
