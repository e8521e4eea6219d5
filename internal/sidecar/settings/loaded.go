// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/sourceaddress"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// standaloneGracePeriod is the grace period for the shutdown in standalone mode.
const standaloneGracePeriod = 10 * time.Second

// Loaded is a valid configuration.
type Loaded struct {
	*sidecarconfig.Config
	// Digest identifies the file of the configuration. It is "" in standalone mode.
	Digest string
	// Configured is the card in the sidecar configuration, with the interfaces at the
	// agent's Service. The registry renders this card.
	Configured card.Card
	// Proxies are the trusted proxies.
	Proxies sourceaddress.Proxies
	// Hosts are the hosts of the URLs at which the agent is served, as ConfiguredHosts
	// returns them.
	Hosts map[string]bool
}

// ReadFile reads the file of the sidecar configuration. It must not be called in standalone
// mode, which has no such file.
func (o *Options) ReadFile() (reload.Files, error) {
	dir, name := filepath.Split(o.ConfigFile)
	return reload.ReadFiles(filepath.Clean(dir), []string{name})
}

// Load returns the configuration that results from the sidecar configuration and the
// flags. The flags take precedence. address is the address of the A2A endpoint. A card
// without interfaces and base URLs gets interfaces at this address.
func (o *Options) Load(files reload.Files, address net.Addr) (*Loaded, error) {
	l := &Loaded{Config: &sidecarconfig.Config{
		Version: sidecarconfig.Version,
		Backend: sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolEvents},
		Drain:   sidecarconfig.Drain{GracePeriod: sidecarconfig.Duration(standaloneGracePeriod)},
	}}
	if o.ConfigFile != "" {
		text := files[filepath.Base(o.ConfigFile)]
		l.Digest = sidecarconfig.Digest(text)
		var err error
		if l.Config, err = sidecarconfig.Decode(text); err != nil {
			return nil, err
		}
	}
	if err := o.override(l.Config); err != nil {
		return nil, err
	}
	l.Configured = l.Card
	if err := o.overrideBases(l.Config, address); err != nil {
		return nil, err
	}
	l.Hosts = serving.ConfiguredHosts(l.Config)
	for i, text := range l.TrustedProxies {
		proxy, err := sourceaddress.ParseProxy(text)
		if err != nil {
			return nil, fmt.Errorf("trustedProxies[%d] (--trusted-proxy): %w", i, err)
		}
		l.Proxies = append(l.Proxies, proxy)
	}
	return l, l.Validate()
}

func (o *Options) override(c *sidecarconfig.Config) error {
	o.overrideBackend(&c.Backend)
	if err := o.overrideModel(&c.Backend.Model); err != nil {
		return err
	}
	if access := o.access(); access.Authentication != nil {
		c.Access = access
		c.Card.SecuritySchemes = access.Schemes()
		c.Card.SecurityOptional = false
	}
	if len(o.AllowedOrigins) > 0 {
		c.Access.CORS = &sidecarconfig.CORS{AllowedOrigins: o.AllowedOrigins}
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
	if err := errors.Join(o.overrideProtocol(&c.ProtocolOptions), o.setLimits(&c.Limits), o.overridePush(c)); err != nil {
		return err
	}
	if len(o.TrustedProxies) > 0 {
		c.TrustedProxies = o.TrustedProxies
	}
	if o.EgressProxy != "" {
		c.EgressProxy = &sidecarconfig.EgressProxy{URL: o.EgressProxy, NoProxy: o.NoProxy}
	}
	c.Declare()
	c.Observability.AccessLog = c.Observability.AccessLog || o.AccessLog
	c.Observability.Profiling = c.Observability.Profiling || o.Profiling
	return nil
}

func (o *Options) overrideProtocol(p *sidecarconfig.ProtocolOptions) error {
	p.CardProfile = cmp.Or(card.Profile(o.CardProfile), p.CardProfile)
	p.ErrorProfile = cmp.Or(o.ErrorProfile, p.ErrorProfile)
	if o.VersionCheck != "" {
		p.StrictVersion = o.VersionCheck == versionCheckStrict
	}
	if o.FinishedTasks != "" {
		p.RestartTasks = o.FinishedTasks == finishedTasksRestart
	}
	p.ContextReplies = cmp.Or(sidecarconfig.ContextReplies(o.ContextReplies), p.ContextReplies)
	interval, err := o.keepAlive()
	if interval != nil {
		p.KeepAlive = interval
	}
	window, windowErr := o.deduplication()
	if window != nil {
		p.MessageDeduplication = window
	}
	return cmp.Or(err, windowErr)
}

func (o *Options) overrideBackend(b *sidecarconfig.Backend) {
	b.URL = cmp.Or(o.BackendURL, b.URL)
	b.OnInterruption = cmp.Or(sidecarconfig.Interruption(o.OnInterruption), b.OnInterruption)
	if o.BackendProtocol != "" {
		b.Protocol = sidecarconfig.Protocol(o.BackendProtocol)
		// The sidecar configuration may be newer than the pod and have settings of another
		// protocol. They do not apply to this pod.
		if b.Protocol != sidecarconfig.ProtocolChatCompletions {
			b.Model = sidecarconfig.Model{}
		}
		if b.Protocol != sidecarconfig.ProtocolA2A {
			b.A2A = sidecarconfig.A2A{}
		}
	}
	b.A2A.Version = cmp.Or(o.A2AVersion, b.A2A.Version)
	b.A2A.CardPath = cmp.Or(o.A2ACardPath, b.A2A.CardPath)
	b.A2A.Query = cmp.Or(o.A2AQuery, b.A2A.Query)
	b.A2A.SessionAPI = cmp.Or(sidecarconfig.SessionAPI(o.A2ASessionAPI), b.A2A.SessionAPI)
}

func (o *Options) overrideModel(c *sidecarconfig.Model) error {
	c.Name = cmp.Or(o.ModelName, c.Name)
	c.Instructions = cmp.Or(o.Instructions, c.Instructions)
	if len(o.ModelFileHosts) > 0 {
		c.FileHosts = o.ModelFileHosts
	}
	if len(o.MCPServers) > 0 {
		c.MCP = o.mcpServers()
	}
	if len(o.ModelHeaders) == 0 {
		return nil
	}
	c.Headers = nil
	for i, text := range o.ModelHeaders {
		header, err := sidecarconfig.ParseHeader(text)
		if err != nil {
			return fmt.Errorf("--model-header number %d %w", i+1, err)
		}
		c.Headers = append(c.Headers, header)
	}
	return nil
}

// access returns the authentication methods that the flags configure. If there is a
// sidecar configuration, API keys and client certificates are not among them, because the
// sidecar configuration determines how they are used.
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
	if o.MTLSCABundle != "" && o.ConfigFile == "" {
		a.Authentication = append(a.Authentication, sidecarconfig.Authentication{
			Type: sidecarconfig.AuthenticationMTLS, MTLS: &sidecarconfig.MTLSAuthentication{Subject: true},
		})
	}
	if o.Anonymous {
		a.Authentication = append(a.Authentication, sidecarconfig.Authentication{Type: sidecarconfig.AuthenticationAnonymous})
	}
	return a
}

func (o *Options) overridePush(c *sidecarconfig.Config) error {
	if len(o.AllowedPushTargets) == 0 {
		return nil
	}
	c.PushNotifications = &sidecarconfig.PushNotifications{}
	for _, value := range o.AllowedPushTargets {
		target, err := parsePushTarget(value)
		if err != nil {
			return fmt.Errorf("--allowed-push-target: %w", err)
		}
		c.PushNotifications.AllowedTargets = append(c.PushNotifications.AllowedTargets, target)
	}
	return nil
}

// Written returns the modification time of the newest file on which the card depends. It
// returns the zero time if no file can be read.
func (o *Options) Written() time.Time {
	var newest time.Time
	for _, name := range append([]string{o.ConfigFile, o.CardFile}, o.CardSigningKeys...) {
		if file, err := os.Stat(name); err == nil && file.ModTime().After(newest) {
			newest = file.ModTime()
		}
	}
	return newest
}

// overrideBases sets the base URLs of the card. The URLs of the flags come first, and then
// the URLs of the sidecar configuration, which do not apply to a card file. If neither
// applies, the base URLs are the endpoint's own addresses, and a card that lists its
// interfaces has no base URLs.
func (o *Options) overrideBases(c *sidecarconfig.Config, address net.Addr) error {
	listed := len(c.Card.Interfaces) > 0
	if o.CardFile != "" && listed && (len(o.BaseURLs) > 0 || len(o.Bindings) > 0 || len(c.Card.Bindings) > 0) {
		return fmt.Errorf("read card %s: interfaces are listed, which --base-url, --binding and protocol.bindings cannot change: remove either", o.CardFile)
	}
	if len(o.Bindings) > 0 {
		c.Card.Bindings = nil
		for _, name := range o.Bindings {
			c.Card.Bindings = append(c.Card.Bindings, bindingsByName[name])
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

// ownBases returns the base at the endpoint's own address. If this is a loopback address,
// it also returns the base at the name localhost.
func (o *Options) ownBases(address net.Addr) []card.Base {
	own := o.OwnBase(address)
	bases := []card.Base{card.NewBase(own)}
	if u, err := url.Parse(own); err == nil && card.IsLoopback(u.Hostname()) && u.Hostname() != "localhost" {
		bases = append(bases, card.NewBase(u.Scheme+"://"+net.JoinHostPort("localhost", u.Port())))
	}
	return bases
}

// OwnBase returns the URL of the endpoint for programs on this machine. If the endpoint
// listens at all addresses, the host of the URL is 127.0.0.1, and ::1 if --listen names those of IPv6.
func (o *Options) OwnBase(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		host = address.String()
		port = "80"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() || host == "" {
		host = "127.0.0.1"
		if strings.HasPrefix(o.Listen, "[::]:") {
			host = "::1"
		}
	}
	scheme := "http://"
	if o.TLS != "" {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port)
}

// mcpServers returns the MCP servers that the flags name.
func (o *Options) mcpServers() []sidecarconfig.MCPServer {
	servers := make([]sidecarconfig.MCPServer, len(o.MCPServers))
	for i, url := range o.MCPServers {
		servers[i] = sidecarconfig.MCPServer{URL: url, Approval: o.MCPApproval, ApproveWrites: o.MCPApproveWrites}
	}
	return servers
}
