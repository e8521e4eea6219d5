// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"cmp"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// Options are the flags. Those that are set win over the contract.
type Options struct {
	// ConfigFile is the contract that the operator writes.
	ConfigFile string

	BackendURL      string
	BackendProtocol string
	// OnInterruption is Fail or Retry; "" leaves it to the contract.
	OnInterruption string
	// A2AVersion, A2ACardPath and A2AQuery are those of contract.A2A.
	A2AVersion, A2ACardPath, A2AQuery string
	// ChatModel and ChatSystemPrompt are for ChatCompletions.
	ChatModel        string
	ChatSystemPrompt string
	// ChatAPIKeyFile holds the API key that is sent to the model server, and
	// ChatHeaders are sent with it, as name=value.
	ChatAPIKeyFile string
	ChatHeaders    []string
	// CardFile is YAML or JSON in the form of card.Card.
	CardFile string
	// JWTIssuer and JWTAudiences admit callers with its tokens, and Anonymous
	// those without any.
	JWTIssuer    string
	JWTAudiences []string
	Anonymous    bool

	// APIKeys is a directory with a file for each caller, named after it, that
	// holds its key. In front of a contract it says where they are, and the
	// contract says whether and how they are used.
	APIKeys string

	// TLS is a directory with tls.crt and tls.key; "" serves in the clear.
	TLS string
	// ClientCA and TrustCA are files with certificates of authorities, of
	// clients and of servers. The first admits clients, as APIKeys does.
	ClientCA, TrustCA string

	// AllowOrigins are those of web pages that may call.
	AllowOrigins []string

	// BaseURLs are where the endpoint is reached, the primary one first; none are
	// its own address. Bindings are those of spec.protocol.bindings.
	BaseURLs []string
	Bindings []string

	// CardSigningKeys are files with private keys: one that signs the card, and
	// those that sign it too while verifiers learn of the first.
	CardSigningKeys []string
	// CardProfile, ErrorProfile, StrictVersion, RestartTasks, MessageDeduplication
	// and ContextReplies are those of contract.ProtocolOptions; "" leaves it to the
	// contract.
	CardProfile   string
	ErrorProfile  string
	StrictVersion bool
	RestartTasks  bool

	MessageDeduplication string
	ContextReplies       string

	// Listen, HealthListen and GatewayListen are addresses; "" is the default
	// of the mode: with a contract the ports of a pod, without one nothing but
	// Listen.
	Listen        string
	HealthListen  string
	GatewayListen string

	// AllowPushTo are the targets of push notifications; without any there are
	// none.
	AllowPushTo []string

	// Store is where tasks are kept: "" is the memory of this process, else the
	// URL of a Redis. StoreName begins its keys, by default the names of the Agent
	// in the contract; Replica is this process among those that share them.
	Store     string
	StoreName string
	Replica   string
	// StorePasswordFile, StoreTLSDir and StoreTLSServerName are for connections to
	// it.
	StorePasswordFile  string
	StoreTLSDir        string
	StoreTLSServerName string

	// Limits are those of contract.Limits, as name=value.
	Limits []string

	// limitClock is the clock of the rate limiters in tests, nil for that of the sidecar.
	limitClock func() time.Time

	LogLevel slog.Level
	Version  bool
}

// Flags adds the options to a set.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.ConfigFile, "config", "", "contract `file` that the operator writes; it is read again when it changes")
	f.StringVar(&o.BackendURL, "backend-url", "", "`URL` that each turn is posted to, such as http://127.0.0.1:9000; for ChatCompletions also the API of a server elsewhere, such as https://api.example.com/v1")
	f.StringVar(&o.BackendProtocol, "backend-protocol", "", "what the backend speaks: Events (the default), A2A or ChatCompletions")
	f.StringVar(&o.OnInterruption, "on-interruption", "", "what becomes of a turn whose agent broke off: Fail (the default), or Retry, which runs it again")
	f.StringVar(&o.A2AVersion, "backend-a2a-version", "", "`version` of A2A that the backend speaks (0.1, 0.2, 0.3 or 1.0), whatever its card says; without --backend-a2a-card-path the card is not read then")
	f.StringVar(&o.A2ACardPath, "backend-a2a-card-path", "", "`path` of the backend's card, for A2A (default /.well-known/agent-card.json or agent.json, below the path of --backend-url first)")
	f.StringVar(&o.A2AQuery, "backend-a2a-query", "", "`query` that is added to the URL of each request to the backend and of that for its card, for A2A, such as assistant_id=agent")
	f.StringVar(&o.ChatModel, "chat-model", "", "`name` of the model, for ChatCompletions (default the first that the backend lists)")
	f.StringVar(&o.ChatSystemPrompt, "chat-system-prompt", "", "`text` that opens every conversation, for ChatCompletions")
	f.StringVar(&o.ChatAPIKeyFile, "chat-api-key-file", "", "`file` with the API key that is sent to the backend as a bearer token, for ChatCompletions; it is read again when it changes")
	f.StringArrayVar(&o.ChatHeaders, "chat-header", nil, "send this header to the backend, as `name=value`, for ChatCompletions; not for secrets; repeatable")
	f.StringVar(&o.Listen, "listen", "", "`address` of the A2A endpoint (default 127.0.0.1:8080, with --config :8641)")
	f.StringVar(&o.CardFile, "card", "", "YAML or JSON `file` with the agent's card")
	f.StringVar(&o.JWTIssuer, "jwt-issuer", "", "admit callers with a token of this issuer, a `URL` where OpenID Connect discovery finds its keys")
	f.StringArrayVar(&o.JWTAudiences, "jwt-audience", nil, "`audience` that a token must be for; repeatable, one of them is enough")
	f.StringVar(&o.APIKeys, "api-keys", "", "admit callers with an API key, in the header X-API-Key, of this `directory`: a file for each caller, named after it, with one key or two, one a line")
	f.StringVar(&o.ClientCA, "client-ca", "", "admit callers with a client certificate of the authorities in this PEM `file`; needs --tls")
	f.BoolVar(&o.Anonymous, "anonymous", false, "admit everybody, without a credential")
	f.StringVar(&o.TLS, "tls", "", "serve the A2A endpoint with TLS, with tls.crt and tls.key of this `directory`")
	f.StringVar(&o.TrustCA, "trust-ca", "", "trust the authorities in this PEM `file` too, for calls to other agents and to issuers")
	f.StringArrayVar(&o.AllowOrigins, "allow-origin", nil, "let web pages of this `origin` call, such as http://localhost:3000, or * for all; repeatable (default none)")
	f.StringArrayVar(&o.BaseURLs, "base-url", nil, "`URL` at which the A2A endpoint is reached, such as https://agent.example.com/; repeatable, the card lists that of a request's host, or else the first (default its own address)")
	f.StringArrayVar(&o.Bindings, "binding", nil, "`name` of a binding that the card lists, the preferred one first: JSONRPC, HTTPJSON or GRPC; repeatable, all are served (default JSONRPC and HTTPJSON)")
	f.StringArrayVar(&o.CardSigningKeys, "card-signing-key", nil, "`file` with a private key, PEM or JWK, that signs the card; a second one, which may be missing, signs too while keys are rotated")
	f.StringVar(&o.CardProfile, "card-profile", "", "which card is served: Union (the default) for clients of every version, or V1 for strict ones of 1.0")
	f.StringVar(&o.ErrorProfile, "error-profile", "", "`release` of A2A whose mapping of errors to HTTP and gRPC is used: 1.0.1 (the default) or 1.0.0")
	f.BoolVar(&o.StrictVersion, "strict-version", false, "refuse requests whose A2A-Version does not fit their method")
	f.BoolVar(&o.RestartTasks, "restart-tasks", false, "let a message of A2A 0.1 start a task anew that has ended")
	f.StringVar(&o.MessageDeduplication, "message-deduplication", "", "`duration` for which a message that is sent again is answered with the task that it made, from 0s, which turns this off, to 10m (default 60s)")
	f.StringVar(&o.ContextReplies, "context-replies", "", "what a message does that names a contextId and no task: NewTask (the default), or ContinuePaused, which continues the only task of its caller in that context that waits for its client")
	f.StringVar(&o.HealthListen, "health-listen", "", "`address` of probes and metrics (default off, with --config :8642)")
	f.StringVar(&o.GatewayListen, "gateway-listen", "", "loopback `address` of the gateway (default off, with --config 127.0.0.1:8643)")
	f.StringArrayVar(&o.AllowPushTo, "allow-push-to", nil, "let clients have events posted to this `host|cidr`: a name, *.name, * or a range of addresses; repeatable (default none)")
	f.StringVar(&o.Store, "store", "", "keep tasks in a Redis or Valkey, the `URL` redis://[user@]host:port[/database]; rediss:// with TLS, redis+cluster:// and rediss+cluster:// with nodes of a cluster, between commas (default in memory)")
	f.StringVar(&o.StoreName, "store-name", "", "`name` that tells the tasks of this agent from others in the same store, such as team/echo (default that of the Agent, with --config)")
	f.StringVar(&o.Replica, "replica", "", "`name` of this process among those that share a store (default host and port)")
	f.StringVar(&o.StorePasswordFile, "store-password-file", "", "`file` with the password of the store; it is read for each connection")
	f.StringVar(&o.StoreTLSDir, "store-tls-dir", "", "`directory` with ca.crt to trust the store by, and tls.crt and tls.key to show it; each may be missing")
	f.StringVar(&o.StoreTLSServerName, "store-tls-server-name", "", "`name` on the certificate of the store (default the host of its address)")
	f.StringArrayVar(&o.Limits, "limit", nil, "set a limit on what callers use, as `name=value` with the names of spec.limits of an Agent, such as turns.max=64; repeatable")
	f.TextVar(&o.LogLevel, "log-level", slog.LevelInfo, "DEBUG, INFO, WARN or ERROR")
	f.BoolVar(&o.Version, "version", false, "print the version and exit")
}

// bindingsByName are the bindings of a card by their names in spec.protocol.bindings.
var bindingsByName = map[string]card.Binding{"JSONRPC": card.JSONRPC, "HTTPJSON": card.HTTPJSON, "GRPC": card.GRPC}

// deduplication returns the window of --message-deduplication, nil if the flag is not set.
func (o *Options) deduplication() (*sidecarconfig.Duration, error) {
	if o.MessageDeduplication == "" {
		return nil, nil //nolint:nilnil // nil leaves it to the sidecar configuration
	}
	d, err := time.ParseDuration(o.MessageDeduplication)
	if err != nil || d < 0 || d > sidecarconfig.MaxMessageDeduplication {
		return nil, fmt.Errorf("--message-deduplication is %q, must be a duration from 0s to 10m, such as 60s or 5m; 0s turns deduplication off", o.MessageDeduplication)
	}
	window := sidecarconfig.Duration(d)
	return &window, nil
}

// addresses returns where the sidecar listens, with the defaults.
func (o *Options) addresses() serving.Addresses {
	if o.ConfigFile == "" {
		return serving.Addresses{Agent: cmp.Or(o.Listen, "127.0.0.1:8080"), Health: o.HealthListen, Gateway: o.GatewayListen}
	}
	return serving.Addresses{
		Agent:   cmp.Or(o.Listen, ":"+strconv.Itoa(sidecarconfig.AgentPort)),
		Health:  cmp.Or(o.HealthListen, ":"+strconv.Itoa(sidecarconfig.HealthPort)),
		Gateway: cmp.Or(o.GatewayListen, "127.0.0.1:"+strconv.Itoa(sidecarconfig.GatewayPort)),
	}
}
