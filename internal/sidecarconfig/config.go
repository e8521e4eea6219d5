// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sidecarconfig is the file that the operator writes and the sidecar reads:
// the only thing, beside the pure card code, that both know.
//
// It imports no Kubernetes package and nothing of the engine. A change that an
// older sidecar would misread needs a new Version.
package sidecarconfig

import (
	"encoding/json"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// Version is the one that this build writes and reads.
const Version = "v1"

// FileName is the key in the ConfigMap and the name of the mounted file.
const FileName = "config.json"

// CardFileName is the key in the ConfigMap of an agent that runs elsewhere, and
// has no sidecar: a card.Card as JSON, for the registry.
const CardFileName = "card.json"

// MaxSize bounds the encoded contract, in bytes. It leaves room below the
// 1 MiB limit of a ConfigMap.
const MaxSize = 900 << 10

// The ports of a sidecar in a pod.
const (
	// AgentPort serves the A2A protocol.
	AgentPort = 8641
	// HealthPort serves probes, metrics and the drain hooks.
	HealthPort = 8642
	// GatewayPort is bound to loopback and is the agent's way out.
	GatewayPort = 8643
)

// Paths on the health port.
const (
	LivezPath   = "/livez"
	ReadyzPath  = "/readyz"
	StartedPath = "/startedz"
	MetricsPath = "/metrics"
	// DrainPath starts the drain. It answers callers inside the pod only:
	// others could put the agent out of service.
	DrainPath = "/drain"
	// DrainedPath answers when all turns have ended; it is the preStop hook of
	// the agent's container.
	DrainedPath = "/drained"
)

// ReadyHoldParameter is a query parameter of ReadyzPath: for how long the answer of
// a sidecar that was never ready is held back, such as "9s".
const ReadyHoldParameter = "hold"

// Exit codes of a sidecar that lacks something which was to be mounted. The
// operator tells them from other ends.
const (
	// ExitCardKey: there is no key to sign the card with.
	ExitCardKey = 3
	// ExitAPIKeys: there is no API key to know a caller by.
	ExitAPIKeys = 4
	// ExitTLS: there is no certificate to serve with.
	ExitTLS = 5
	// ExitClientCA and ExitTrust: there is no authority to verify clients, or
	// servers, by.
	ExitClientCA = 6
	ExitTrust    = 7
	// ExitChatKey: there is no API key to show the model server.
	ExitChatKey = 8
)

// TerminationLog is where a container leaves its last words (the default
// terminationMessagePath). The kubelet puts at most 4 KiB of it into the
// status of the pod.
const TerminationLog = "/dev/termination-log"

// Config is everything a sidecar needs to know.
type Config struct {
	// Version is the contract's, "v1".
	Version string `json:"version"`
	// Agent says whose sidecar this is.
	Agent Agent `json:"agent"`
	// Card is served at the well-known paths. Its interfaces are those of the
	// agent's Service.
	Card card.Card `json:"card"`
	// Bases are where the agent is served, the primary one first. The card of a
	// request lists the interfaces of one: of that whose host the request names,
	// or else of the primary one. Without any the card is served as it is.
	Bases []card.Base `json:"bases,omitempty"`
	// CardSigning belongs to the key that the sidecar is given, if it is.
	CardSigning CardSigning `json:"cardSigning,omitzero"`
	// ProtocolOptions are choices that the protocol leaves open.
	ProtocolOptions ProtocolOptions `json:"protocolOptions,omitzero"`
	// Backend is the agent's container.
	Backend Backend `json:"backend"`
	// Tasks bounds what is kept.
	Tasks Tasks `json:"tasks"`
	// Access says who may call.
	Access Access `json:"access"`
	// Limits bound what callers use.
	Limits Limits `json:"limits,omitzero"`
	// Gateway is the agent's way to the registry and to other agents. Nil
	// turns it off.
	Gateway *Gateway `json:"gateway,omitempty"`
	// PushNotifications says where events may be posted to. Nil turns them off.
	PushNotifications *PushNotifications `json:"pushNotifications,omitempty"`
	// Drain is how long a shutdown may take.
	Drain Drain `json:"drain"`
}

// Agent names the custom resource.
type Agent struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// CardSigning says how the card is signed. The key is none of the contract's
// business: it is mounted from a Secret.
type CardSigning struct {
	// JWKSURL is where verifiers find the public keys; "" leaves it unsaid.
	JWKSURL string `json:"jwksUrl,omitempty"`
}

// ProtocolOptions are choices that the protocol leaves open, or that its
// versions see differently. The zero value is the default.
type ProtocolOptions struct {
	// CardProfile says which form of the card is served where; "" is Union.
	CardProfile card.Profile `json:"cardProfile,omitempty"`
	// ErrorProfile is the release of 1.0 whose mapping of errors to HTTP and
	// gRPC is used, "1.0.1" or "1.0.0"; "" is "1.0.1".
	ErrorProfile string `json:"errorProfile,omitempty"`
	// StrictVersion refuses requests whose A2A-Version does not fit their method.
	StrictVersion bool `json:"strictVersion,omitempty"`
	// RestartTasks lets a message of 0.1 start a task anew that has ended.
	RestartTasks bool `json:"restartTasks,omitempty"`
	// MessageDeduplication is how long a message is known, at most
	// MaxMessageDeduplication; zero turns deduplication off, and nil is
	// DefaultMessageDeduplication.
	MessageDeduplication *Duration `json:"messageDeduplication,omitempty"`
	// ContextReplies says what a message does that names a context and no task; ""
	// is NewTask.
	ContextReplies ContextReplies `json:"contextReplies,omitempty"`
}

// How long a message is known, by default and at most.
const (
	DefaultMessageDeduplication = time.Minute
	MaxMessageDeduplication     = 10 * time.Minute
)

// Deduplication returns how long a message is known; 0 turns deduplication off.
func (o *ProtocolOptions) Deduplication() time.Duration {
	if o.MessageDeduplication == nil {
		return DefaultMessageDeduplication
	}
	return time.Duration(*o.MessageDeduplication)
}

// ContextReplies says what a message does that names a context and no task.
type ContextReplies string

// What such a message does.
const (
	// ContextRepliesNewTask begins a task.
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

// Protocol is what the agent's container speaks.
type Protocol string

// The protocols.
const (
	// ProtocolEvents is one POST a turn, answered by text, JSON or a stream of
	// A2A events.
	ProtocolEvents Protocol = "Events"
	// ProtocolA2A is A2A itself, in the version that the agent's card tells.
	ProtocolA2A Protocol = "A2A"
	// ProtocolChatCompletions is the API of language model servers.
	ProtocolChatCompletions Protocol = "ChatCompletions"
)

// Protocols are all of them.
var Protocols = []Protocol{ProtocolEvents, ProtocolA2A, ProtocolChatCompletions}

// Backend says how to reach the agent's container.
type Backend struct {
	Protocol Protocol `json:"protocol"`
	// URL is where a turn is posted, such as http://127.0.0.1:8080/. For A2A it
	// may have no path: then that is the one on the agent's card. For
	// ProtocolChatCompletions it is the base of the server's API or the address
	// of its completions, of the pod's own container on loopback or of a server
	// elsewhere.
	URL      string   `json:"url"`
	Timeouts Timeouts `json:"timeouts"`
	// A2A is for ProtocolA2A only.
	A2A A2A `json:"a2a,omitzero"`
	// Chat is for ProtocolChatCompletions only.
	Chat Chat `json:"chat,omitzero"`
	// OnInterruption says what becomes of a turn whose agent did not get to say
	// how it ends; "" is Fail.
	OnInterruption Interruption `json:"onInterruption,omitempty"`
}

// Interruption says what becomes of a turn that was interrupted.
type Interruption string

// The interruptions.
const (
	// InterruptionFail ends the task as failed.
	InterruptionFail Interruption = "Fail"
	// InterruptionRetry runs the turn again.
	InterruptionRetry Interruption = "Retry"
)

// Interruptions are all of them.
var Interruptions = []Interruption{InterruptionFail, InterruptionRetry}

// Chat says how to talk to a language model.
type Chat struct {
	// Model is the name of the model; "" asks the server for its first.
	Model string `json:"model,omitempty"`
	// SystemPrompt opens every conversation; "" for none.
	SystemPrompt string `json:"systemPrompt,omitempty"`
	// Headers are sent to the server with each request. They are not secret: its
	// API key is mounted.
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
	// Retention is how long a finished task can be read, 1 h by default.
	Retention Duration `json:"retention,omitempty"`
	// MaxTasks bounds the number of tasks, 10,000 by default.
	MaxTasks int64 `json:"maxTasks,omitempty"`
	// MaxBytes bounds the memory of their events, 64 MiB by default.
	MaxBytes int64 `json:"maxBytes,omitempty"`
}

// Access says who may call. An empty Authentication refuses everybody.
type Access struct {
	// Authentication is tried in order; the first that knows the credential
	// decides. Anonymous comes last wherever it stands, and only for requests
	// that show no credential.
	Authentication []Authentication `json:"authentication"`
	// Namespaces lists those whose ServiceAccounts may call; "*" admits all.
	// It does not apply to anonymous callers, to those of a JWT without a claim
	// for it, nor to those with an API key or a certificate.
	Namespaces []string `json:"namespaces,omitempty"`
	// Authorization judges the calls of those who are admitted. Nil allows them
	// everything.
	Authorization *Authorization `json:"authorization,omitempty"`
	// CORS says which web pages may call. Nil allows none of another origin.
	CORS *CORS `json:"cors,omitempty"`
}

// CORS says which web pages may call.
type CORS struct {
	// AllowedOrigins are such as https://app.example.com; "*" is all.
	AllowedOrigins []string `json:"allowedOrigins"`
}

// Origins are those that are allowed.
func (c *CORS) Origins() []string {
	if c == nil {
		return nil
	}
	return c.AllowedOrigins
}

// AuthenticationType names an authenticator.
type AuthenticationType string

// The authenticators.
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

// Authentication is one way to prove who is calling.
type Authentication struct {
	Type AuthenticationType `json:"type"`
	// Kubernetes is set for that type only.
	Kubernetes *KubernetesAuthentication `json:"kubernetes,omitempty"`
	// JWT is set for that type only, and there is one.
	JWT *JWTAuthentication `json:"jwt,omitempty"`
	// APIKey is set for that type only, and there is one.
	APIKey *APIKeyAuthentication `json:"apiKey,omitempty"`
	// MTLS is set for that type only, and there is one.
	MTLS *MTLSAuthentication `json:"mtls,omitempty"`
}

// KubernetesAuthentication verifies ServiceAccount tokens (OIDC, KEP-1393)
// against keys that the operator keeps fresh.
type KubernetesAuthentication struct {
	// Issuer must equal the token's iss.
	Issuer string `json:"issuer"`
	// Audiences: the token's aud must hold one of them.
	Audiences []string `json:"audiences"`
	// Keys is the issuer's JWK set (RFC 7517).
	Keys json.RawMessage `json:"keys"`
}

// JWTAuthentication verifies tokens (RFC 7519) against keys that the sidecar
// fetches.
type JWTAuthentication struct {
	// Issuer must equal the token's iss.
	Issuer string `json:"issuer"`
	// Audiences: the token's aud must hold one of them.
	Audiences []string `json:"audiences"`
	// JWKSURL is where the keys are; "" asks the issuer (OpenID Connect Discovery).
	JWKSURL string `json:"jwksUrl,omitempty"`
	// PrincipalClaim says who is calling; "" is sub.
	PrincipalClaim string `json:"principalClaim,omitempty"`
	// NamespaceClaim holds the caller's namespace; "" admits callers of none.
	NamespaceClaim string `json:"namespaceClaim,omitempty"`
	// OwnerClaim holds whom tasks belong to; "" is the principal.
	OwnerClaim string `json:"ownerClaim,omitempty"`
}

// APIKeyAuthentication says where a request has its key. The keys themselves
// are none of the contract's business: they are mounted from a Secret.
type APIKeyAuthentication struct {
	// Header or Query names it; one of them is set.
	Header string `json:"header,omitempty"`
	Query  string `json:"query,omitempty"`
}

// MTLSAuthentication says who a client certificate is of. The authorities are
// mounted.
type MTLSAuthentication struct {
	// Subject makes the subject the principal; else it is the SPIFFE ID.
	Subject bool `json:"subject,omitempty"`
	// Principals lists who is admitted, as in the Agent; none admits all.
	Principals []string `json:"principals,omitempty"`
}

// Gateway tells the sidecar where the agent may go through it.
type Gateway struct {
	// RegistryURL is the base of the registry's API.
	RegistryURL string `json:"registryUrl"`
	// AgentURL is the base of an agent, with {name} and {namespace} in it.
	AgentURL string `json:"agentUrl"`
	// TokenFile holds the sidecar's own ServiceAccount token for audience
	// a2a-operator.dev. It is read again for every use and never handed on to
	// the agent.
	TokenFile string `json:"tokenFile"`
	// RemoteAllow lists the ranges of addresses in which agents that run
	// elsewhere may be, beside public ones over https.
	RemoteAllow []string `json:"remoteAllow,omitempty"`
}

// Drain is how long a shutdown may take.
type Drain struct {
	// GracePeriod is the pod's terminationGracePeriodSeconds.
	GracePeriod Duration `json:"gracePeriod"`
}
