// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// Validate returns an error that names every field with which a sidecar could not work.
func (c *Config) Validate() error {
	var errs []error
	refuse := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("sidecar configuration %s: "+format, append([]any{field}, args...)...))
	}
	if c.Version != Version {
		refuse("version", "is %q, this sidecar reads %q", c.Version, Version)
	}
	if c.Card.Name == "" {
		refuse("card.name", "is required")
	}
	if err := c.Card.CheckBindings(); err != nil {
		refuse("card", "has wrong bindings: %w", err)
	}
	for i, b := range c.Bases {
		if len(b.Hosts()) == 0 {
			refuse(fmt.Sprintf("bases[%d].url", i), "is %q, must be an absolute URL", b.URL)
		}
	}
	c.validateOptions(refuse)
	if !slices.Contains(Protocols, c.Backend.Protocol) {
		refuse("backend.protocol", "is %q, must be one of %q", c.Backend.Protocol, Protocols)
	}
	if i := c.Backend.OnInterruption; i != "" && !slices.Contains(Interruptions, i) {
		refuse("backend.onInterruption", "is %q, must be one of %q", i, Interruptions)
	}
	c.Backend.validate(refuse)
	c.Backend.A2A.validate(c.Backend.Protocol, refuse)
	c.Access.validate(refuse)
	if c.Decisions != nil {
		c.Decisions.validate(refuse)
	}
	c.Limits.validate(refuse)
	if c.Gateway != nil {
		c.Gateway.validate(refuse)
	}
	if l := c.Observability.LogLevel; l != "" && !slices.Contains(LogLevels, l) {
		refuse("observability.logLevel", "is %q, must be one of %q", l, LogLevels)
	}
	if p := c.PushNotifications; p != nil {
		p.validate(refuse)
	}
	if c.Tracing != nil {
		c.Tracing.validate(refuse)
	}
	return errors.Join(errs...)
}

func (g *Gateway) validate(refuse func(field, format string, args ...any)) {
	if g.RegistryURL == "" || g.AgentURL == "" {
		refuse("gateway", "needs registryUrl and agentUrl")
	}
	for i, text := range g.RemoteAllow {
		if _, err := netip.ParsePrefix(text); err != nil {
			refuse(fmt.Sprintf("gateway.remoteAllow[%d]", i), "is %q, must be a range such as 203.0.113.0/24", text)
		}
	}
}

// validateOptions validates the fields that have defaults.
func (c *Config) validateOptions(refuse func(field, format string, args ...any)) {
	if p := c.ProtocolOptions.CardProfile; p != "" && p != card.ProfileUnion && p != card.ProfileV1 {
		refuse("protocolOptions.cardProfile", "is %q, must be %q or %q", p, card.ProfileUnion, card.ProfileV1)
	}
	if p := c.ProtocolOptions.ErrorProfile; p != "" && p != ErrorProfile101 && p != ErrorProfile100 {
		refuse("protocolOptions.errorProfile", "is %q, must be %q or %q", p, ErrorProfile101, ErrorProfile100)
	}
	if d := c.ProtocolOptions.Deduplication(); d < 0 || d > MaxMessageDeduplication {
		refuse("protocolOptions.messageDeduplication", "is %s, must be from 0s to %s", d, MaxMessageDeduplication)
	}
	if d := c.ProtocolOptions.StreamKeepAlive(); d < MinKeepAlive || d > MaxKeepAlive {
		refuse("protocolOptions.keepAlive", "is %s, must be from %s to %s", d, MinKeepAlive, MaxKeepAlive)
	}
	if r := c.ProtocolOptions.ContextReplies; r != "" && r != ContextRepliesNewTask && r != ContextRepliesContinuePaused {
		refuse("protocolOptions.contextReplies", "is %q, must be %q or %q", r, ContextRepliesNewTask, ContextRepliesContinuePaused)
	}
	if u, err := url.Parse(c.CardSigning.JWKSURL); err != nil || c.CardSigning.JWKSURL != "" && (u.Scheme != "https" || u.Host == "") {
		refuse("cardSigning.jwksUrl", "is %q, must be an absolute https URL", c.CardSigning.JWKSURL)
	}
}
