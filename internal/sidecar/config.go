// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/contract"
)

// standaloneGrace is how long Ctrl-C waits for turns.
const standaloneGrace = 10 * time.Second

// loaded is a configuration and what it was made of.
type loaded struct {
	*contract.Config
	// digest names the contract; "" without one.
	digest string
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
		l.digest = contract.Digest(text)
		if l.Config, err = contract.Decode(text); err != nil {
			return l, fmt.Errorf("read contract %s: %w", o.ConfigFile, err)
		}
	}
	if err := o.override(l.Config, address); err != nil {
		return l, err
	}
	return l, l.Validate()
}

// standalone is what a sidecar without an operator starts from.
func (o *Options) standalone() *contract.Config {
	return &contract.Config{
		Version: contract.Version,
		Backend: contract.Backend{Protocol: contract.ProtocolEvents},
		Drain:   contract.Drain{GracePeriod: contract.Duration(standaloneGrace)},
	}
}

func (o *Options) override(c *contract.Config, address net.Addr) error {
	if o.BackendURL != "" {
		c.Backend.URL = o.BackendURL
	}
	if o.BackendProtocol != "" {
		c.Backend.Protocol = contract.Protocol(o.BackendProtocol)
		if c.Backend.Protocol != contract.ProtocolChatCompletions {
			// The contract may be ahead of the pod.
			c.Backend.Chat = contract.Chat{}
		}
		if c.Backend.Protocol != contract.ProtocolA2A {
			c.Backend.A2A = contract.A2A{}
		}
	}
	if o.OnInterruption != "" {
		c.Backend.OnInterruption = contract.Interruption(o.OnInterruption)
	}
	o.overrideA2A(&c.Backend.A2A)
	if err := o.overrideChat(&c.Backend.Chat); err != nil {
		return err
	}
	if access := o.access(); access.Authentication != nil {
		c.Access = access
		c.Card.SecuritySchemes = access.Schemes()
	}
	if len(o.AllowOrigins) > 0 {
		c.Access.CORS = &contract.CORS{AllowedOrigins: o.AllowOrigins}
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
	if len(c.Card.Interfaces) == 0 {
		c.Card.Interfaces = card.Interfaces(o.base(address))
	}
	return nil
}

func (o *Options) overrideProtocol(p *contract.ProtocolOptions) error {
	if o.CardProfile != "" {
		p.CardProfile = card.Profile(o.CardProfile)
	}
	if o.ErrorProfile != "" {
		p.ErrorProfile = o.ErrorProfile
	}
	p.StrictVersion = p.StrictVersion || o.StrictVersion
	p.RestartTasks = p.RestartTasks || o.RestartTasks
	if o.ContextReplies != "" {
		p.ContextReplies = contract.ContextReplies(o.ContextReplies)
	}
	window, err := o.deduplication()
	if window != nil {
		p.MessageDeduplication = window
	}
	return err
}

func (o *Options) overrideA2A(a *contract.A2A) {
	a.Version = cmp.Or(o.A2AVersion, a.Version)
	a.CardPath = cmp.Or(o.A2ACardPath, a.CardPath)
	a.Query = cmp.Or(o.A2AQuery, a.Query)
}

func (o *Options) overrideChat(c *contract.Chat) error {
	c.Model = cmp.Or(o.ChatModel, c.Model)
	c.SystemPrompt = cmp.Or(o.ChatSystemPrompt, c.SystemPrompt)
	if len(o.ChatHeaders) == 0 {
		return nil
	}
	c.Headers = nil
	for i, text := range o.ChatHeaders {
		header, err := contract.ParseHeader(text)
		if err != nil {
			return fmt.Errorf("--chat-header number %d %w", i+1, err)
		}
		c.Headers = append(c.Headers, header)
	}
	return nil
}

// access is what the flags say of who may call; without any, nothing.
func (o *Options) access() (a contract.Access) {
	if o.JWTIssuer != "" {
		a.Authentication = append(a.Authentication, contract.Authentication{
			Type: contract.AuthenticationJWT,
			JWT:  &contract.JWTAuthentication{Issuer: o.JWTIssuer, Audiences: o.JWTAudiences},
		})
	}
	if o.APIKeys != "" && o.ConfigFile == "" {
		a.Authentication = append(a.Authentication, contract.Authentication{
			Type:   contract.AuthenticationAPIKey,
			APIKey: &contract.APIKeyAuthentication{Header: contract.DefaultAPIKeyHeader},
		})
	}
	if o.ClientCA != "" && o.ConfigFile == "" {
		a.Authentication = append(a.Authentication, contract.Authentication{
			Type: contract.AuthenticationMTLS, MTLS: &contract.MTLSAuthentication{Subject: true},
		})
	}
	if o.Anonymous {
		a.Authentication = append(a.Authentication, contract.Authentication{Type: contract.AuthenticationAnonymous})
	}
	return a
}

func (o *Options) overrideLimits(c *contract.Config) error {
	for _, flag := range o.Limits {
		if err := setLimit(&c.Limits, flag); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) overridePush(c *contract.Config) error {
	if len(o.AllowPushTo) == 0 {
		return nil
	}
	c.PushNotifications = &contract.PushNotifications{}
	for _, value := range o.AllowPushTo {
		target, err := pushTarget(value)
		if err != nil {
			return fmt.Errorf("--allow-push-to: %w", err)
		}
		c.PushNotifications.AllowedTargets = append(c.PushNotifications.AllowedTargets, target)
	}
	return nil
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

// backendAddress is what a readiness probe dials.
func backendAddress(url string) string {
	host := strings.TrimPrefix(url, "http://")
	host, _, _ = strings.Cut(host, "/")
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "80")
	}
	return host
}
