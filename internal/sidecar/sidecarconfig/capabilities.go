// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import "slices"

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
	c.declareOptionalSchemes()
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
