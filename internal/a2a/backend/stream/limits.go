// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import "time"

// Limits bounds the duration and the size of a turn. A zero field has its default.
type Limits struct {
	// Connect bounds the time until the agent accepts a connection, 5 s by default.
	Connect time.Duration
	// FirstEvent bounds the wait for the first byte of a response, 2 min by default.
	FirstEvent time.Duration
	// Idle bounds the time between two reads of a response, 5 min by default. It does not
	// run while the agent waits for its client.
	Idle time.Duration
	// Turn bounds the whole turn, 1 h by default.
	Turn time.Duration
	// MaxEvent bounds one event, one JSON response and one file, in bytes; 2.5 MiB by
	// default. The base64 encoding of 2.5 MiB is smaller than 4 MiB, the limit of many
	// clients.
	MaxEvent int
	// MaxAnswer bounds one response, in bytes; 32 MiB by default.
	MaxAnswer int64
}
