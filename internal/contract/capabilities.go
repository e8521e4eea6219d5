// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import "slices"

// Declare puts on the card what a sidecar with this contract can do.
func (c *Config) Declare() {
	declared := &c.Card.Capabilities
	declared.Streaming = true
	declared.PushNotifications = c.PushNotifications != nil
	// Who does not say who they are is not shown more than everybody.
	declared.ExtendedCard = c.Card.HasExtended() && slices.ContainsFunc(c.Access.Authentication, func(a Authentication) bool {
		return a.Type != AuthenticationAnonymous
	})
}
