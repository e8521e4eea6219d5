// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Validate returns an error that names every invalid flag and what to change.
func (o *Options) Validate() error {
	var errs []error
	errs = append(errs, o.validateStandalone()...)
	errs = append(errs, o.validateMTLS()...)
	if (o.JWTIssuer == "") != (len(o.JWTAudiences) == 0) {
		errs = append(errs, errors.New("--jwt-issuer and --jwt-audience need each other: a token must be for this agent"))
	}
	errs = append(errs, o.validateProtocol()...)
	errs = append(errs, o.validateAddresses()...)
	for _, each := range []struct{ flag, address string }{
		{"--listen", o.Listen}, {"--health-listen", o.HealthListen}, {"--gateway-listen", o.GatewayListen},
	} {
		if _, _, err := net.SplitHostPort(each.address); err != nil && each.address != "" {
			errs = append(errs, fmt.Errorf("%s is %q, must be host:port or :port", each.flag, each.address))
		}
	}
	for _, each := range []struct{ flag, value, first, second string }{
		{"--card-profile", o.CardProfile, string(card.ProfileUnion), string(card.ProfileV1)},
		{"--error-profile", o.ErrorProfile, sidecarconfig.ErrorProfile101, sidecarconfig.ErrorProfile100},
		{"--version-check", o.VersionCheck, versionCheckLenient, versionCheckStrict},
		{"--finished-tasks", o.FinishedTasks, finishedTasksFinal, finishedTasksRestart},
		{"--context-replies", o.ContextReplies, string(sidecarconfig.ContextRepliesNewTask), string(sidecarconfig.ContextRepliesContinuePaused)},
	} {
		if each.value != "" && each.value != each.first && each.value != each.second {
			errs = append(errs, fmt.Errorf("%s is %q, must be %s or %s", each.flag, each.value, each.first, each.second))
		}
	}
	if _, err := o.keepAlive(); err != nil {
		return err
	}
	if _, err := o.deduplication(); err != nil {
		errs = append(errs, err)
	}
	if host, _, err := net.SplitHostPort(o.GatewayListen); err == nil && !card.IsLoopback(host) {
		errs = append(errs, fmt.Errorf("--gateway-listen is %q, must be a loopback address: every client of the gateway acts as this agent", o.GatewayListen))
	}
	var limits sidecarconfig.Limits
	errs = append(errs, o.setLimits(&limits), limits.Validate())
	errs = append(errs, o.validateStore()...)
	errs = append(errs, o.validateProxy()...)
	errs = append(errs, o.validateClientCertificate()...)
	return errors.Join(append(errs, o.validatePush()...)...)
}

func (o *Options) validateMTLS() []error {
	var errs []error
	if o.MTLSCABundle != "" && o.TLS == "" {
		errs = append(errs, errors.New("--mtls-ca-bundle needs --tls: clients show certificates over TLS only"))
	}
	if len(o.MTLSFederatedBundles) > 0 && (o.MTLSCABundle == "" || o.ConfigFile == "") {
		errs = append(errs, errors.New("--mtls-federated-ca-bundle needs --mtls-ca-bundle and --config, which names the first trust domain"))
	}
	for _, each := range o.MTLSFederatedBundles {
		domain, file := FederatedBundle(each)
		if domain == "" || file == "" {
			errs = append(errs, fmt.Errorf("--mtls-federated-ca-bundle is %q, must be trust-domain=file", each))
		}
	}
	return errs
}

// FederatedBundle returns the trust domain and the file in a value of Options.MTLSFederatedBundles.
func FederatedBundle(value string) (trustDomain, file string) {
	trustDomain, file, _ = strings.Cut(value, "=")
	return trustDomain, file
}

// validateStandalone checks the flags of a sidecar without a sidecar configuration: they
// must provide the values that the sidecar configuration would provide.
func (o *Options) validateStandalone() []error {
	var errs []error
	if o.ConfigFile != "" {
		return nil
	}
	if o.BackendURL == "" {
		errs = append(errs, errors.New("--backend-url is required without --config: name the URL of the agent"))
	}
	if o.CardFile == "" {
		errs = append(errs, errors.New("--card is required without --config: name a YAML file with displayName, description, version and skills"))
	}
	if !o.Anonymous && o.JWTIssuer == "" && o.APIKeys == "" && o.MTLSCABundle == "" {
		errs = append(errs, errors.New("--jwt-issuer, --api-keys, --mtls-ca-bundle or --anonymous is required without --config: set at least one, to name the callers that are admitted"))
	}
	if o.Profiling && o.HealthListen == "" {
		errs = append(errs, errors.New("--profiling needs --health-listen without --config: name the address that serves the profiles"))
	}
	return errs
}

func (o *Options) validatePush() []error {
	var errs []error
	for _, value := range o.AllowedPushTargets {
		if _, err := parsePushTarget(value); err != nil {
			errs = append(errs, fmt.Errorf("--allowed-push-target is %q, must be a host such as hooks.example.com or *.example.com, or a range such as 10.1.0.0/16", value))
		}
	}
	return errs
}

// validateClientCertificate checks the hosts that get the client certificate.
func (o *Options) validateClientCertificate() []error {
	errs := sidecarconfig.CertificateHosts(o.ClientCertificateHosts).Validate()
	for i, err := range errs {
		errs[i] = fmt.Errorf("--client-certificate-host %w", err)
	}
	if len(o.ClientCertificateHosts) > 0 && o.ClientCertificate == "" {
		errs = append(errs, errors.New("--client-certificate-host needs --client-certificate: set it, or remove the host"))
	}
	return errs
}

// validateProxy checks the flags of the proxy. In a pod, the sidecar configuration may have the proxy to which a credential belongs.
func (o *Options) validateProxy() []error {
	if o.EgressProxy == "" {
		if len(o.NoProxy) > 0 || o.EgressProxyCredentials != "" && o.Standalone() {
			return []error{errors.New("--no-proxy and --egress-proxy-credentials need --egress-proxy: set it, or remove them")}
		}
		return nil
	}
	if err := egress.CheckProxy(o.EgressProxy, o.NoProxy, o.Standalone()); err != nil {
		return []error{fmt.Errorf("--egress-proxy and --no-proxy: %w", err)}
	}
	return nil
}

// validateAddresses checks the addresses and bindings of the card.
func (o *Options) validateAddresses() []error {
	var errs []error
	for _, each := range o.BaseURLs {
		if u, err := url.Parse(each); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsAny(each, "?#") {
			errs = append(errs, fmt.Errorf("--base-url is %q, must be an http or https URL without a user, a query and a fragment", each))
		}
	}
	for i, name := range o.Bindings {
		if _, known := bindingsByName[name]; !known {
			errs = append(errs, fmt.Errorf("--binding is %q, must be JSONRPC, HTTPJSON or GRPC", name))
		} else if slices.Contains(o.Bindings[:i], name) {
			errs = append(errs, fmt.Errorf("--binding names %s twice: name each binding once", name))
		}
	}
	return errs
}

func (o *Options) validateProtocol() []error {
	var errs []error
	p := sidecarconfig.Protocol(o.BackendProtocol)
	if p != "" && !slices.Contains(sidecarconfig.Protocols, p) {
		errs = append(errs, fmt.Errorf("--backend-protocol is %q, must be one of %q", p, sidecarconfig.Protocols))
	}
	if i := sidecarconfig.Interruption(o.OnInterruption); i != "" && !slices.Contains(sidecarconfig.Interruptions, i) {
		errs = append(errs, fmt.Errorf("--on-interruption is %q, must be one of %q", i, sidecarconfig.Interruptions))
	}
	// Without the flag, the protocol may be set in the sidecar configuration.
	known := p != "" || o.ConfigFile == ""
	if o.SkillFiles != "" && o.Skills == "" {
		errs = append(errs, errors.New("--skill-files needs --skills, the directory to which the files are copied"))
	}
	isModel := o.ModelName != "" || o.Instructions != "" || o.InstructionsFile != "" || o.ModelAPIKeyFile != "" || o.ModelSecrets != "" ||
		len(o.ModelHeaders) > 0 || len(o.ModelFileHosts) > 0 || len(o.MCPServers) > 0
	if isModel && known && p != sidecarconfig.ProtocolChatCompletions {
		errs = append(errs, fmt.Errorf("--model-name, --model-api-key-file, --model-secrets, --model-header, --model-file-host, --instructions, --instructions-file and --mcp-server need --backend-protocol %s", sidecarconfig.ProtocolChatCompletions))
	}
	if o.Instructions != "" && o.InstructionsFile != "" {
		errs = append(errs, errors.New("--instructions and --instructions-file are one setting; remove one of them"))
	}
	if (len(o.MCPApproval) > 0 || o.MCPApproveWrites) && len(o.MCPServers) == 0 {
		errs = append(errs, errors.New("--mcp-approval and --mcp-approve-writes need --mcp-server"))
	}
	errs = append(errs, o.validateA2A(known && p != sidecarconfig.ProtocolA2A)...)
	for i, text := range o.ModelHeaders {
		// The error does not repeat the text, because the text may contain a credential.
		if _, err := sidecarconfig.ParseHeader(text); err != nil {
			errs = append(errs, fmt.Errorf("--model-header number %d %w", i+1, err))
		}
	}
	return errs
}

// validateA2A checks the flags for the backend protocol A2A. other is true if the backend
// has another protocol.
func (o *Options) validateA2A(other bool) []error {
	var errs []error
	if other && (o.A2AVersion != "" || o.A2ACardPath != "" || o.A2AQuery != "" || o.A2ASessionAPI != "") {
		errs = append(errs, fmt.Errorf("--backend-a2a-version, --backend-a2a-card-path, --backend-a2a-query and --backend-a2a-session-api need --backend-protocol %s", sidecarconfig.ProtocolA2A))
	}
	if api := o.A2ASessionAPI; api != "" && api != string(sidecarconfig.SessionAPIKagent) {
		errs = append(errs, fmt.Errorf("--backend-a2a-session-api is %q, must be %q", api, sidecarconfig.SessionAPIKagent))
	}
	if o.A2ASessionAPI != "" && o.Addresses().Gateway == "" {
		errs = append(errs, errors.New("--backend-a2a-session-api needs --gateway-listen, at which the backend calls it"))
	}
	if v := o.A2AVersion; v != "" && !slices.Contains(sidecarconfig.A2AVersions, v) {
		errs = append(errs, fmt.Errorf("--backend-a2a-version is %q, must be one of %q", v, sidecarconfig.A2AVersions))
	}
	if path := o.A2ACardPath; path != "" && !sidecarconfig.PathOfURL(path) {
		errs = append(errs, fmt.Errorf("--backend-a2a-card-path is %q, must be the path of a URL, such as /agent-card.json", path))
	}
	if query := o.A2AQuery; query != "" && !sidecarconfig.QueryOfURL(query) {
		errs = append(errs, fmt.Errorf("--backend-a2a-query is %q, must be the query of a URL without its question mark, such as assistant_id=agent", query))
	}
	return errs
}
