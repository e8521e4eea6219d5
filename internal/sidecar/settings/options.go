// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package settings computes the configuration of a sidecar from its flags and from
// the sidecar configuration, which the operator writes. In standalone mode, a card file
// takes the place of the sidecar configuration. The package reads files, and creates no
// part of a sidecar.
package settings

import (
	"cmp"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Options are the flags of a sidecar. A flag for a field of an Agent has the name of the
// field, and takes precedence over the sidecar configuration.
type Options struct {
	// ConfigFile is the file of the sidecar configuration, which the operator writes. ""
	// selects standalone mode.
	ConfigFile string

	BackendURL      string
	BackendProtocol string
	// OnInterruption is Fail, Retry or "".
	OnInterruption string
	// A2AVersion, A2ACardPath, A2AQuery and A2ASessionAPI are fields of sidecarconfig.A2A.
	A2AVersion, A2ACardPath, A2AQuery, A2ASessionAPI string
	// ModelName and Instructions are for the backend protocol ChatCompletions.
	ModelName    string
	Instructions string
	// InstructionsFile is the file with the instructions, instead of Instructions.
	InstructionsFile string
	// ModelAPIKeyFile is the file with the API key for the model server. ModelHeaders are
	// headers of requests to the model server, as name=value.
	ModelAPIKeyFile string
	ModelHeaders    []string
	// ModelFileHosts are the hosts from which the model server may fetch files.
	ModelFileHosts []string
	// ModelSecrets is the directory with the files that the sidecar configuration names.
	ModelSecrets string
	// MCPServers are the URLs of MCP servers whose tools the model may call. MCPApproval are patterns of the tools of all of them whose calls
	// need approval. With MCPApproveWrites, all tools need it that are not read-only.
	MCPServers       []string
	MCPApproval      []string
	MCPApproveWrites bool
	// Skills is the directory with the folders of skills, in the Agent Skills format, from which the model loads them. SkillFiles is
	// a directory with the files of skills as the operator renders them, which the sidecar writes to Skills.
	Skills, SkillFiles string
	// CardFile is a file in YAML or JSON with the fields of cardFile.
	CardFile string
	// JWTIssuer and JWTAudiences admit callers with a token of this issuer. Anonymous admits
	// callers without a credential.
	JWTIssuer    string
	JWTAudiences []string
	Anonymous    bool

	// APIKeys is a directory with a file for each caller. The name of the file is the name
	// of the caller, and its content the caller's keys. If there is a sidecar configuration,
	// it determines whether and how the keys are used.
	APIKeys string

	// TLS is a directory with tls.crt and tls.key. If it is "", the endpoint is served
	// without TLS.
	TLS string
	// MTLSCABundle is a file with the certificate authorities that verify clients. In
	// standalone mode, every client with a certificate of these authorities is admitted.
	// Otherwise, the sidecar configuration determines which of these clients are admitted.
	// TrustBundle is a file with the certificate authorities that verify servers.
	MTLSCABundle, TrustBundle string
	// ClientCertificate is a directory with tls.crt and tls.key for agents that ask for a client certificate, "" for none. Of the remote
	// agents, those at ClientCertificateHosts get it.
	ClientCertificate      string
	ClientCertificateHosts []string
	// MTLSFederatedBundles are further files with certificate authorities that verify clients, each as
	// trust-domain=file. They need a sidecar configuration with the first trust domain.
	MTLSFederatedBundles []string

	// AllowedOrigins are the origins of web pages that may call the agent.
	AllowedOrigins []string

	// BaseURLs are the URLs of the endpoint, the primary one first. Without any, the URL is
	// the address of the endpoint itself. Bindings has the values of spec.protocol.bindings.
	BaseURLs []string
	Bindings []string

	// CardSigningKeys are files with private keys. The first key signs the card. During a
	// rotation, the key in the second file signs it, too. The second file may be missing.
	CardSigningKeys []string
	// These are the fields of spec.protocol. "" selects the value in the sidecar
	// configuration.
	CardProfile, ErrorProfile, VersionCheck, FinishedTasks, MessageDeduplication, KeepAlive, ContextReplies string

	// Listen, HealthListen and GatewayListen are addresses. By default (""), they are the
	// ports of a pod if there is a sidecar configuration. In standalone mode, only Listen
	// has a default.
	Listen        string
	HealthListen  string
	GatewayListen string

	// AllowedPushTargets are the allowed targets of push notifications. Without any, push
	// notifications are off.
	AllowedPushTargets []string

	// Store is the URL of a Redis server. If it is "", tasks are stored in the memory of
	// this process. StoreName is part of the prefix of the Redis keys; by default, it is
	// the namespace and name of the Agent. Replica is the name of this process, unique
	// among the processes that share the store.
	Store     string
	StoreName string
	Replica   string
	// These are options of the connections to the store.
	StorePasswordFile  string
	StoreTLSDir        string
	StoreTLSServerName string
	// StoreMaxBytes bounds the bytes of tasks in the store, unless the sidecar configuration
	// does. 0 means the default of the store.
	StoreMaxBytes int64

	// MemoryLimit is the memory limit of the process in bytes, 0 for memoryshare.Default.
	MemoryLimit int64

	// Limits are fields of spec.limits, as name=value.
	Limits []string
	// TrustedProxies are ranges of addresses of proxies whose headers name their clients.
	TrustedProxies []string

	// EgressProxy is the URL of a proxy for connections to public https servers, and NoProxy lists hosts that are called
	// without it. EgressProxyCredentials is a directory with its username and password.
	EgressProxy            string
	NoProxy                []string
	EgressProxyCredentials string

	// HookDir is a directory to which the sidecar copies its program, as sidecar, for preStop hooks of other containers. "" is none.
	HookDir string

	// LogLevel is the level of the log if the sidecar configuration has none. If Level is
	// not nil, it is set to the level in use.
	LogLevel slog.Level
	Level    *slog.LevelVar
	// AccessLog enables the log of requests. Profiling enables the profiles at the health
	// port, for callers at loopback addresses.
	AccessLog, Profiling bool

	Version bool
}

// Flags adds the options to a set.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.ConfigFile, "config", "", "sidecar configuration `file` that the operator writes; it is reloaded when it changes")
	f.StringVar(&o.BackendURL, "backend-url", "", "`URL` to which each turn is posted, such as http://127.0.0.1:9000; for ChatCompletions also the API of an external server, such as https://api.example.com/v1")
	f.StringVar(&o.BackendProtocol, "backend-protocol", "", "protocol of the backend: Events (the default), A2A or ChatCompletions")
	f.StringVar(&o.OnInterruption, "on-interruption", "", "outcome of a turn that was interrupted: Fail (the default), or Retry, which runs it again")
	f.StringVar(&o.A2AVersion, "backend-a2a-version", "", "`version` of A2A that the backend speaks (0.1, 0.2, 0.3 or 1.0), instead of the version on its card; the card is then read only with --backend-a2a-card-path")
	f.StringVar(&o.A2ACardPath, "backend-a2a-card-path", "", "`path` of the backend's card, for A2A (default /.well-known/agent-card.json or agent.json, below the path of --backend-url first)")
	f.StringVar(&o.A2AQuery, "backend-a2a-query", "", "`query` to add to the URL of each request to the backend, including the request for its card, for A2A, such as assistant_id=agent")
	f.StringVar(&o.A2ASessionAPI, "backend-a2a-session-api", "", "API at which the backend stores its sessions at --gateway-listen, for A2A: Kagent serves the SDKs of kagent 0.10 (default none)")
	f.StringVar(&o.ModelName, "model-name", "", "`name` of the model, for ChatCompletions (default the first that the backend lists)")
	f.StringVar(&o.Instructions, "instructions", "", "`text` that opens every conversation, for ChatCompletions")
	f.StringVar(&o.InstructionsFile, "instructions-file", "", "`file` with the text that opens every conversation, for ChatCompletions; it is reloaded when it changes")
	f.StringVar(&o.ModelSecrets, "model-secrets", "", "`directory` with the API keys and headers that the sidecar configuration names, for ChatCompletions")
	f.StringVar(&o.ModelAPIKeyFile, "model-api-key-file", "", "`file` with the API key to send to the backend as a bearer token, for ChatCompletions; it is reloaded when it changes")
	f.StringArrayVar(&o.ModelHeaders, "model-header", nil, "header to send to the backend, as `name=value`, for ChatCompletions; not for secrets; repeatable")
	f.StringArrayVar(&o.MCPServers, "mcp-server", nil, "`URL` of an MCP server whose tools the model may call, for ChatCompletions; repeatable (default none)")
	f.StringArrayVar(&o.MCPApproval, "mcp-approval", nil, "`pattern` of the tools of the MCP servers whose calls a person must approve, such as update_*, or * for all; repeatable (default none)")
	f.BoolVar(&o.MCPApproveWrites, "mcp-approve-writes", false, "a person must also approve the calls of tools that an MCP server does not mark as read-only")
	f.StringArrayVar(&o.ModelFileHosts, "model-file-host", nil, "`host` from which the model server may fetch the images of callers, for ChatCompletions: a name or *.name; repeatable (default none)")
	f.StringVar(&o.Skills, "skills", "", "`directory` with a folder for each skill, named after its id, with SKILL.md and the files to which it refers; the model loads them, for ChatCompletions")
	f.StringVar(&o.SkillFiles, "skill-files", "", "`directory` with the files of skills that the operator writes; the sidecar copies them to --skills")
	f.StringVar(&o.Listen, "listen", "", "`address` of the A2A endpoint (default 127.0.0.1:8080, with --config :8641)")
	f.StringVar(&o.CardFile, "card", "", "YAML or JSON `file` that describes the agent, with fields of the spec of an Agent: displayName, description, version, skills and so on")
	f.StringVar(&o.JWTIssuer, "jwt-issuer", "", "admit callers with a token of this issuer, a `URL` at which OpenID Connect discovery finds its keys")
	f.StringArrayVar(&o.JWTAudiences, "jwt-audience", nil, "`audience` that a token must have; repeatable, one of them is enough")
	f.StringVar(&o.APIKeys, "api-keys", "", "admit callers with an API key of this `directory` in the header X-API-Key: a file for each caller, named after it, with one key or two, one on a line")
	f.StringVar(&o.MTLSCABundle, "mtls-ca-bundle", "", "admit callers with a client certificate of the authorities in this PEM `file`; needs --tls")
	f.StringArrayVar(&o.MTLSFederatedBundles, "mtls-federated-ca-bundle", nil, "authorities of a further SPIFFE trust domain, as `domain=file`; needs --mtls-ca-bundle and --config; repeatable")
	f.BoolVar(&o.Anonymous, "anonymous", false, "admit callers without a credential")
	f.StringVar(&o.TLS, "tls", "", "serve the A2A endpoint with TLS, with tls.crt and tls.key of this `directory`")
	f.StringVar(&o.TrustBundle, "trust-bundle", "", "PEM `file` with further authorities to trust in calls to other agents, issuers and model servers")
	f.StringArrayVar(&o.AllowedOrigins, "allowed-origin", nil, "`origin` of web pages that may call, such as http://localhost:3000, or * for all; repeatable (default none)")
	f.StringArrayVar(&o.BaseURLs, "base-url", nil, "`URL` of the A2A endpoint, such as https://agent.example.com/; repeatable, the card lists that of a request's host, or else the first (default its own address)")
	f.StringArrayVar(&o.Bindings, "binding", nil, "`name` of a binding that the card lists, the preferred one first: JSONRPC, HTTPJSON or GRPC; repeatable, all are served (default JSONRPC and HTTPJSON)")
	f.StringArrayVar(&o.CardSigningKeys, "card-signing-key", nil, "`file` with a private key, PEM or JWK, that signs the card; a second one, which may be missing, signs too during a rotation")
	f.StringVar(&o.CardProfile, "card-profile", "", "form of the card: Union (the default) for clients of every version, or V1 for strict clients of 1.0")
	f.StringVar(&o.ErrorProfile, "error-profile", "", "`release` of A2A whose mapping of errors to HTTP and gRPC is used: 1.0.1 (the default) or 1.0.0")
	f.StringVar(&o.VersionCheck, "version-check", "", "Strict refuses requests whose A2A-Version does not fit their method, Lenient (the default) serves them")
	f.StringVar(&o.FinishedTasks, "finished-tasks", "", "Restart lets a message of A2A 0.1 start a finished task again; Final is the default")
	f.StringVar(&o.MessageDeduplication, "message-deduplication", "", "`duration` for which a repeated message is answered with the task of the first, from 0s, which turns this off, to 10m (default 60s)")
	f.StringVar(&o.KeepAlive, "keep-alive", "", "`duration` without an event after which a stream gets a comment, from 1s to 10m (default 10s)")
	f.StringVar(&o.ContextReplies, "context-replies", "", "effect of a message with a contextId and no task: NewTask (the default), or ContinuePaused, which continues the only paused task of the caller in that context")
	f.StringVar(&o.HealthListen, "health-listen", "", "`address` of probes and metrics (default off, with --config :8642)")
	f.StringVar(&o.GatewayListen, "gateway-listen", "", "loopback `address` of the gateway (default off, with --config 127.0.0.1:8643)")
	f.StringArrayVar(&o.AllowedPushTargets, "allowed-push-target", nil, "`host|cidr` to which clients may request push notifications: a name, *.name, * or a range of addresses; repeatable (default none)")
	f.StringVar(&o.Store, "store", "", "`URL` of a Redis or Valkey that keeps the tasks, redis://[user@]host:port[/database]; rediss:// with TLS, redis+cluster:// and rediss+cluster:// with nodes of a cluster, separated by commas (default in memory)")
	f.StringVar(&o.StoreName, "store-name", "", "`name` that separates the tasks of this agent from others in the same store, such as team/echo (default that of the Agent, with --config)")
	f.StringVar(&o.Replica, "replica", "", "`name` of this process among those that share a store (default host and port)")
	f.StringVar(&o.StorePasswordFile, "store-password-file", "", "`file` with the password of the store; it is read for each connection")
	f.StringVar(&o.StoreTLSDir, "store-tls-dir", "", "`directory` with ca.crt to verify the store, and the client certificate tls.crt and tls.key; each may be missing")
	f.StringVar(&o.StoreTLSServerName, "store-tls-server-name", "", "`name` on the certificate of the store (default the host of its address)")
	f.Int64Var(&o.StoreMaxBytes, "store-max-bytes", 0, "maximum `bytes` of the tasks in the store (default 268435456, which are 256 MiB)")
	f.StringArrayVar(&o.Limits, "limit", nil, "limit for callers, as `name=value` with the name of a field of spec.limits, such as turns.max=64; repeatable")
	f.StringArrayVar(&o.TrustedProxies, "trusted-proxy", nil, "`range` of addresses of proxies, such as 10.8.0.0/24, whose header X-Forwarded-For or Forwarded names the client to which limits by address apply; repeatable (default none)")
	f.StringVar(&o.ClientCertificate, "client-certificate", "", "`directory` with tls.crt and tls.key, the client certificate for agents of the cluster that ask for one; it is read for each connection")
	f.StringArrayVar(&o.ClientCertificateHosts, "client-certificate-host", nil, "`host` of remote agents that get --client-certificate, too: a name, or *.name; repeatable (default none)")
	f.StringVar(&o.EgressProxy, "egress-proxy", "", "`URL` of an HTTP proxy that carries connections to public https servers, such as http://proxy.example:3128 (default none; the variable HTTPS_PROXY is not read)")
	f.StringArrayVar(&o.NoProxy, "no-proxy", nil, "`host` to call without --egress-proxy: a name with those below it, .name, an address, a range of addresses or *; repeatable (default private addresses and names only)")
	f.StringVar(&o.EgressProxyCredentials, "egress-proxy-credentials", "", "`directory` with username and password for --egress-proxy; they are read for each connection")
	f.StringVar(&o.HookDir, "hook-dir", "", "`directory` to which the program is copied as \"sidecar\", so that other containers of the pod run \"sidecar drain\" as their preStop hook (default none)")
	f.TextVar(&o.LogLevel, "log-level", slog.LevelInfo, "DEBUG, INFO, WARN or ERROR; the sidecar configuration takes precedence")
	f.BoolVar(&o.AccessLog, "access-log", false, "log each request to the A2A endpoint: its caller, operation, outcome and duration")
	f.BoolVar(&o.Profiling, "profiling", false, "serve profiles of the process, as of pprof, at /debug/pprof/ of --health-listen, to callers at loopback addresses")
	f.BoolVar(&o.Version, "version", false, "print the version and exit")
}

// The values of spec.protocol.versionCheck and finishedTasks.
const (
	versionCheckLenient  = "Lenient"
	versionCheckStrict   = "Strict"
	finishedTasksFinal   = "Final"
	finishedTasksRestart = "Restart"
)

// bindingsByName maps the names of bindings in spec.protocol.bindings to the bindings of
// a card.
var bindingsByName = map[string]card.Binding{"JSONRPC": card.JSONRPC, "HTTPJSON": card.HTTPJSON, "GRPC": card.GRPC}

// Standalone reports whether the sidecar runs without an operator, outside of a pod.
func (o *Options) Standalone() bool { return o.ConfigFile == "" }

// keepAlive returns the value of --keep-alive, or nil if the flag is not set.
func (o *Options) keepAlive() (*sidecarconfig.Duration, error) {
	if o.KeepAlive == "" {
		return nil, nil // nil: the sidecar configuration sets the value
	}
	d, err := time.ParseDuration(o.KeepAlive)
	if err != nil || d < sidecarconfig.MinKeepAlive || d > sidecarconfig.MaxKeepAlive {
		return nil, fmt.Errorf("--keep-alive is %q, must be a duration from 1s to 10m, such as 10s", o.KeepAlive)
	}
	interval := sidecarconfig.Duration(d)
	return &interval, nil
}

// deduplication returns the value of --message-deduplication, or nil if the flag is not
// set.
func (o *Options) deduplication() (*sidecarconfig.Duration, error) {
	if o.MessageDeduplication == "" {
		return nil, nil // nil: the sidecar configuration sets the value
	}
	d, err := time.ParseDuration(o.MessageDeduplication)
	if err != nil || d < 0 || d > sidecarconfig.MaxMessageDeduplication {
		return nil, fmt.Errorf("--message-deduplication is %q, must be a duration from 0s to 10m, such as 60s or 5m; 0s turns deduplication off", o.MessageDeduplication)
	}
	window := sidecarconfig.Duration(d)
	return &window, nil
}

// Addresses returns the addresses at which the sidecar listens, including the defaults.
func (o *Options) Addresses() serving.Addresses {
	if o.ConfigFile == "" {
		return serving.Addresses{Agent: cmp.Or(o.Listen, "127.0.0.1:8080"), Health: o.HealthListen, Gateway: o.GatewayListen}
	}
	return serving.Addresses{
		Agent:   cmp.Or(o.Listen, ":"+strconv.Itoa(sidecarconfig.AgentPort)),
		Health:  cmp.Or(o.HealthListen, ":"+strconv.Itoa(sidecarconfig.HealthPort)),
		Gateway: cmp.Or(o.GatewayListen, "127.0.0.1:"+strconv.Itoa(sidecarconfig.GatewayPort)),
	}
}
