// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// approvalExtension is the URI of package approval.
const approvalExtension = "https://kagent.dev/extensions/hitl/v1"

// Declare sets the capabilities on the card to those of a sidecar with this
// configuration.
func (c *Config) Declare() {
	declared := &c.Card.Capabilities
	declared.Streaming = true
	declared.PushNotifications = c.PushNotifications != nil
	// Anonymous callers do not get the extended card.
	declared.ExtendedCard = c.Card.HasExtended() && slices.ContainsFunc(c.Access.Authentication, func(a Authentication) bool {
		return a.Type != AuthenticationAnonymous
	})
	if c.Backend.Model.hasTools() && !slices.ContainsFunc(declared.Extensions, func(e card.Extension) bool { return e.URI == approvalExtension }) {
		declared.Extensions = append(slices.Clip(declared.Extensions), card.Extension{
			URI: approvalExtension, Description: "People approve calls of tools, and answer questions of called agents.",
		})
	}
	c.declareOptionalSchemes()
	for i := range c.Card.Skills {
		if s := &c.Card.Skills[i]; s.Security == nil {
			s.Security = c.Access.skillSecurity(s.ID, c.Card.SecuritySchemes)
		}
	}
}

// declareOptionalSchemes lists security schemes on the card of an agent that admits
// callers without a credential and has an extended card. Clients need the schemes to
// authenticate for the extended card (A2A 1.0 section 3.1.11).
func (c *Config) declareOptionalSchemes() {
	anonymous := func(a Authentication) bool { return a.Type == AuthenticationAnonymous }
	if c.Card.SecuritySchemes != nil || !c.Card.Capabilities.ExtendedCard || !slices.ContainsFunc(c.Access.Authentication, anonymous) {
		return
	}
	known := Access{Authentication: slices.DeleteFunc(slices.Clone(c.Access.Authentication), anonymous)}
	c.Card.SecuritySchemes = known.Schemes()
	c.Card.SecurityOptional = true
}
