// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package legacyjson decodes and encodes the elements that the JSON of A2A 0.1 shares with
// the JSON of 0.2 and 0.3: scalars, requests that name a task, and push configurations.
// Package typedpart has the parts. The package is pure.
package legacyjson

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
)

// Limits of a request.
const (
	maxID = 256
	// MaxStrings bounds an array of strings.
	MaxStrings = 256
)

// Decoder reads the objects that occur in both requests and events. It reads a request
// strictly, and an event of an agent or a server leniently.
type Decoder struct {
	jsonread.Reader
	// Agent is true for an event of an agent or a server. StartEvent sets it.
	Agent bool
}

// StartRequest starts reading a request. variantOf is the argument of
// jsonread.Reader.Spell.
func (d *Decoder) StartRequest(text []byte, variantOf func(name []byte) string) {
	d.Start(text)
	d.Spell(variantOf)
}

// StartEvent starts reading an event of an agent or a server.
func (d *Decoder) StartEvent(text []byte) {
	d.Agent = true
	d.Start(text)
}

// ID reads the id of a task, a context, a message or a push configuration.
func (d *Decoder) ID() string {
	id := d.String()
	if len(id) > maxID {
		d.Fail("is longer than 256 bytes")
	}
	return id
}

// State reads a task state, in any spelling.
func (d *Decoder) State() a2a.State {
	state, ok := scalar.ParseState(d.String())
	if !ok {
		d.Fail("must be a task state")
	}
	return state
}

// Role reads a role, in any spelling.
func (d *Decoder) Role() a2a.Role {
	role, ok := scalar.ParseRole(d.String())
	if !ok {
		d.Fail(`must be "user" or "agent"`)
	}
	return role
}

// Time reads a time. It returns the zero time for an invalid time of an agent.
func (d *Decoder) Time() time.Time {
	t, ok := scalar.ParseTime(d.String())
	if !ok && !d.Agent {
		d.Fail("must be an RFC 3339 time")
	}
	return t
}

// HistoryLength reads a number of messages, which must not be negative.
func (d *Decoder) HistoryLength() *int {
	n := d.Int()
	if n < 0 {
		d.Fail("must not be negative")
	}
	return &n
}

// CheckMessage fails for a message of a client without parts. It sets a missing role to the
// sender of the message: user for a client, agent for an agent.
func (d *Decoder) CheckMessage(m *a2a.Message) {
	if !d.Agent && len(m.Parts) == 0 {
		d.FailAt("parts", "must have at least one element")
	}
	switch {
	case m.Role != a2a.RoleUnspecified:
	case d.Agent:
		m.Role = a2a.RoleAgent
	default:
		m.Role = a2a.RoleUser
	}
}
