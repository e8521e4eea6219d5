// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

// PushConfig asks for a task's events to be posted to a URL.
type PushConfig struct {
	ID     string
	TaskID string
	URL    string
	// Token is sent along, so that the receiver knows who asked for it.
	Token string
	// Scheme and Credentials make the Authorization header; "" for none.
	Scheme      string
	Credentials string
}
