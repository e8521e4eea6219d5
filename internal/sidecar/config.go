// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// standaloneGrace is how long Ctrl-C waits for turns.
const standaloneGrace = 10 * time.Second

// loaded is a configuration and what it was made of.
type loaded struct {
	*sidecarconfig.Config
	// digest names the contract; "" without one.
	digest string
	// hosts are those of the URLs at which the agent is served.
	hosts map[string]bool
}

// load reads the contract, when there is one, and puts the flags over it.
// address is where the A2A endpoint listens; a card without interfaces gets
// them from it.
func (o *Options) load(address net.Addr) (loaded, error) {
	l := loaded{Config: o.standalone()}
	if o.ConfigFile != "" {
		text, err := os.ReadFile(o.ConfigFile)
		if err != nil {
			return l, fmt.Errorf("read contract: %w", err)
		}
		l.digest = sidecarconfig.Digest(text)
		if l.Config, err = sidecarconfig.Decode(text); err != nil {
			return l, fmt.Errorf("read contract %s: %w", o.ConfigFile, err)
		}
	}
	if err := o.override(l.Config, address); err != nil {
		return l, err
	}
	l.hosts = configuredHosts(l.Config)
	return l, l.Validate()
}

// standalone is what a sidecar without an operator starts from.
func (o *Options) standalone() *sidecarconfig.Config {
	return &sidecarconfig.Config{
		Version: sidecarconfig.Version,
		Backend: sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolEvents},
		Drain:   sidecarconfig.Drain{GracePeriod: sidecarconfig.Duration(standaloneGrace)},
	}
}

func (o *Options) override(c *sidecarconfig.Config, address net.Addr) error {
	if o.BackendURL != "" {
		c.Backend.URL = o.BackendURL
	}
	if o.BackendProtocol != "" {
		c.Backend.Protocol = sidecarconfig.Protocol(o.BackendProtocol)
		if c.Backend.Protocol != sidecarconfig.ProtocolChatCompletions {
			// The contract may be ahead of the pod.
			c.Backend.Chat = sidecarconfig.Chat{}
		}
		if c.Backend.Protocol != sidecarconfig.ProtocolA2A {
			c.Backend.A2A = sidecarconfig.A2A{}
		}
	}
	if o.OnInterruption != "" {
		c.Backend.OnInterruption = sidecarconfig.Interruption(o.OnInterruption)
	}
	o.overrideA2A(&c.Backend.A2A)
	if err := o.overrideChat(&c.Backend.Chat); err != nil {
		return err
	}
	if access := o.access(); access.Authentication != nil {
		c.Access = access
		c.Card.SecuritySchemes, c.Card.SecurityOptional = access.Schemes(), false
	}
	if len(o.AllowOrigins) > 0 {
		c.Access.CORS = &sidecarconfig.CORS{AllowedOrigins: o.AllowOrigins}
	}
	if o.CardFile != "" {
		file, err := readCard(o.CardFile)
		if err != nil {
			return err
		}
		if file.SecuritySchemes == nil {
			file.SecuritySchemes = c.Card.SecuritySchemes
		}
		c.Card = *file
	}
	if err := errors.Join(o.overrideProtocol(&c.ProtocolOptions), o.overrideLimits(c), o.overridePush(c)); err != nil {
		return err
	}
	// What is served is known here better than in a file.
	c.Declare()
	return o.locate(c, address)
}

// locate decides which bases a card has: those of the flags or of the contract,
// or else the endpoint's own. A card file that lists its interfaces says all of
// them itself.
func (o *Options) locate(c *sidecarconfig.Config, address net.Addr) error {
	listed := len(c.Card.Interfaces) > 0
	if o.CardFile != "" && listed && (len(o.BaseURLs) > 0 || len(o.Bindings) > 0 || len(c.Card.Bindings) > 0) {
		return fmt.Errorf("read card %s: interfaces are listed, which --base-url, --binding and bindings cannot change: remove either", o.CardFile)
	}
	if len(o.Bindings) > 0 {
		c.Card.Bindings = nil
		for _, name := range o.Bindings {
			c.Card.Bindings = append(c.Card.Bindings, bindingNames[name])
		}
	}
	switch {
	case len(o.BaseURLs) > 0:
		c.Bases = nil
		for _, each := range o.BaseURLs {
			c.Bases = append(c.Bases, card.NewBase(each))
		}
	case len(c.Bases) > 0 && o.CardFile == "":
	case listed:
		c.Bases = nil
	default:
		c.Bases = o.ownBases(address)
	}
	if len(c.Bases) > 0 {
		c.Card = *c.Card.At(c.Bases[0])
	}
	return nil
}

func (o *Options) overrideProtocol(p *sidecarconfig.ProtocolOptions) error {
	if o.CardProfile != "" {
		p.CardProfile = card.Profile(o.CardProfile)
	}
	if o.ErrorProfile != "" {
		p.ErrorProfile = o.ErrorProfile
	}
	p.StrictVersion = p.StrictVersion || o.StrictVersion
	p.RestartTasks = p.RestartTasks || o.RestartTasks
	if o.ContextReplies != "" {
		p.ContextReplies = sidecarconfig.ContextReplies(o.ContextReplies)
	}
	window, err := o.deduplication()
	if window != nil {
		p.MessageDeduplication = window
	}
	return err
}

func (o *Options) overrideA2A(a *sidecarconfig.A2A) {
	a.Version = cmp.Or(o.A2AVersion, a.Version)
	a.CardPath = cmp.Or(o.A2ACardPath, a.CardPath)
	a.Query = cmp.Or(o.A2AQuery, a.Query)
}

func (o *Options) overrideChat(c *sidecarconfig.Chat) error {
	c.Model = cmp.Or(o.ChatModel, c.Model)
	c.SystemPrompt = cmp.Or(o.ChatSystemPrompt, c.SystemPrompt)
	if len(o.ChatHeaders) == 0 {
		return nil
	}
	c.Headers = nil
	for i, text := range o.ChatHeaders {
		header, err := sidecarconfig.ParseHeader(text)
		if err != nil {
			return fmt.Errorf("--chat-header number %d %w", i+1, err)
		}
		c.Headers = append(c.Headers, header)
	}
	return nil
}

// access is what the flags say of who may call; without any, nothing.
func (o *Options) access() (a sidecarconfig.Access) {
	if o.JWTIssuer != "" {
		a.Authentication = append(a.Authentication, sidecarconfig.Authentication{
			Type: sidecarconfig.AuthenticationJWT,
			JWT:  &sidecarconfig.JWTAuthentication{Issuer: o.JWTIssuer, Audiences: o.JWTAudiences},
		})
	}
	if o.APIKeys != "" && o.ConfigFile == "" {
		a.Authentication = append(a.Authentication, sidecarconfig.Authentication{
			Type:   sidecarconfig.AuthenticationAPIKey,
			APIKey: &sidecarconfig.APIKeyAuthentication{Header: sidecarconfig.DefaultAPIKeyHeader},
		})
	}
	if o.ClientCA != "" && o.ConfigFile == "" {
		a.Authentication = append(a.Authentication, sidecarconfig.Authentication{
			Type: sidecarconfig.AuthenticationMTLS, MTLS: &sidecarconfig.MTLSAuthentication{Subject: true},
		})
	}
	if o.Anonymous {
		a.Authentication = append(a.Authentication, sidecarconfig.Authentication{Type: sidecarconfig.AuthenticationAnonymous})
	}
	return a
}

func (o *Options) overrideLimits(c *sidecarconfig.Config) error {
	for _, flag := range o.Limits {
		if err := setLimit(&c.Limits, flag); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) overridePush(c *sidecarconfig.Config) error {
	if len(o.AllowPushTo) == 0 {
		return nil
	}
	c.PushNotifications = &sidecarconfig.PushNotifications{}
	for _, value := range o.AllowPushTo {
		target, err := pushTarget(value)
		if err != nil {
			return fmt.Errorf("--allow-push-to: %w", err)
		}
		c.PushNotifications.AllowedTargets = append(c.PushNotifications.AllowedTargets, target)
	}
	return nil
}

// bindingNames are those of spec.protocol.bindings, and what a card calls them.
var bindingNames = map[string]card.Binding{"JSONRPC": card.JSONRPC, "HTTPJSON": card.HTTPJSON, "GRPC": card.GRPC}

// ownBases are those of the endpoint: its address, and the name localhost where
// that is one of loopback.
func (o *Options) ownBases(address net.Addr) []card.Base {
	own := o.base(address)
	bases := []card.Base{card.NewBase(own)}
	if u, err := url.Parse(own); err == nil && loopback(u.Hostname()) && u.Hostname() != "localhost" {
		bases = append(bases, card.NewBase(u.Scheme+"://"+net.JoinHostPort("localhost", u.Port())))
	}
	return bases
}

// base is the URL of the endpoint, at an address that this machine can dial.
func (o *Options) base(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		host, port = address.String(), "80"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() || host == "" {
		host = "127.0.0.1"
	}
	scheme := "http://"
	if o.TLS != "" {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port)
}

// written returns when the last of the files was written that the card is made
// of. It is zero when none can be read.
func (o *Options) written() time.Time {
	var last time.Time
	for _, name := range append([]string{o.ConfigFile, o.CardFile}, o.CardSigningKeys...) {
		if file, err := os.Stat(name); err == nil && file.ModTime().After(last) {
			last = file.ModTime()
		}
	}
	return last
}

// backendAddress is what a readiness probe dials.
func backendAddress(address string) string {
	host := strings.TrimPrefix(address, "http://")
	host, _, _ = strings.Cut(host, "/")
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "80")
	}
	return host
}
