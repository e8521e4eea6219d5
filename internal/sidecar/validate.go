// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// Validate names every flag that is wrong, and what to do about it.
func (o *Options) Validate() error {
	var errs []error
	errs = append(errs, o.validateStandalone()...)
	if o.ClientCA != "" && o.TLS == "" {
		errs = append(errs, errors.New("--client-ca needs --tls: without TLS no client shows a certificate"))
	}
	if (o.JWTIssuer == "") != (len(o.JWTAudiences) == 0) {
		errs = append(errs, errors.New("--jwt-issuer and --jwt-audience need each other: a token for somebody else must not be taken here"))
	}
	errs = append(errs, o.validateProtocol()...)
	errs = append(errs, o.validateAddresses()...)
	for flag, address := range map[string]string{
		"--listen": o.Listen, "--health-listen": o.HealthListen, "--gateway-listen": o.GatewayListen,
	} {
		if address == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			errs = append(errs, fmt.Errorf("%s is %q, must be host:port or :port", flag, address))
		}
	}
	for flag, choice := range map[string]struct {
		value   string
		allowed []string
	}{
		"--card-profile":  {o.CardProfile, []string{string(card.ProfileUnion), string(card.ProfileV1)}},
		"--error-profile": {o.ErrorProfile, []string{sidecarconfig.ErrorProfile101, sidecarconfig.ErrorProfile100}},
		"--context-replies": {o.ContextReplies, []string{
			string(sidecarconfig.ContextRepliesNewTask), string(sidecarconfig.ContextRepliesContinuePaused),
		}},
	} {
		if choice.value != "" && !slices.Contains(choice.allowed, choice.value) {
			errs = append(errs, fmt.Errorf("%s is %q, must be %s", flag, choice.value, strings.Join(choice.allowed, " or ")))
		}
	}
	if _, err := o.deduplication(); err != nil {
		errs = append(errs, err)
	}
	if host, _, err := net.SplitHostPort(o.GatewayListen); err == nil && !serving.IsLoopback(host) {
		errs = append(errs, fmt.Errorf("--gateway-listen is %q, must be a loopback address: who reaches it acts as this agent", o.GatewayListen))
	}
	errs = append(errs, o.validateLimits())
	errs = append(errs, o.validateStore()...)
	return errors.Join(append(errs, o.validatePush()...)...)
}

// validateStandalone is about what a contract would say.
func (o *Options) validateStandalone() []error {
	var errs []error
	if o.ConfigFile != "" {
		return nil
	}
	if o.BackendURL == "" {
		errs = append(errs, errors.New("--backend-url is required without --config: say where the agent listens"))
	}
	if o.CardFile == "" {
		errs = append(errs, errors.New("--card is required without --config: name a YAML file with name, description, version and skills"))
	}
	if !o.Anonymous && o.JWTIssuer == "" && o.APIKeys == "" && o.ClientCA == "" {
		errs = append(errs, errors.New("--jwt-issuer, --api-keys, --client-ca or --anonymous is required without --config: without Kubernetes nothing else says who may call"))
	}
	return errs
}

func (o *Options) validatePush() []error {
	var errs []error
	for _, value := range o.AllowPushTo {
		if _, err := parsePushTarget(value); err != nil {
			errs = append(errs, fmt.Errorf("--allow-push-to is %q, must be a host such as hooks.example.com or *.example.com, or a range such as 10.1.0.0/16", value))
		}
	}
	return errs
}

// validateAddresses is about what the card lists.
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
	// A contract may name the protocol.
	known := p != "" || o.ConfigFile == ""
	chat := o.ChatModel != "" || o.ChatSystemPrompt != "" || o.ChatAPIKeyFile != "" || len(o.ChatHeaders) > 0
	if chat && known && p != sidecarconfig.ProtocolChatCompletions {
		errs = append(errs, fmt.Errorf("--chat-model, --chat-system-prompt, --chat-api-key-file and --chat-header need --backend-protocol %s", sidecarconfig.ProtocolChatCompletions))
	}
	errs = append(errs, o.validateA2A(known && p != sidecarconfig.ProtocolA2A)...)
	for i, text := range o.ChatHeaders {
		// The text is not repeated: it may be a credential in the wrong place.
		if _, err := sidecarconfig.ParseHeader(text); err != nil {
			errs = append(errs, fmt.Errorf("--chat-header number %d %w", i+1, err))
		}
	}
	return errs
}

// validateA2A validates the flags for agents that speak A2A. Other is true when the
// backend speaks something else.
func (o *Options) validateA2A(other bool) []error {
	var errs []error
	if other && (o.A2AVersion != "" || o.A2ACardPath != "" || o.A2AQuery != "") {
		errs = append(errs, fmt.Errorf("--backend-a2a-version, --backend-a2a-card-path and --backend-a2a-query need --backend-protocol %s", sidecarconfig.ProtocolA2A))
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
