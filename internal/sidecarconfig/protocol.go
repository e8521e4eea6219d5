// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

// Protocol is the protocol between the sidecar and the backend.
type Protocol string

// The protocols.
const (
	// ProtocolEvents sends one POST request per turn. The response is text, JSON or a
	// stream of A2A events.
	ProtocolEvents Protocol = "Events"
	// ProtocolA2A is A2A, in the version on the agent's card.
	ProtocolA2A Protocol = "A2A"
	// ProtocolChatCompletions is the chat completions API of language model servers.
	ProtocolChatCompletions Protocol = "ChatCompletions"
)

// Protocols lists all protocols.
var Protocols = []Protocol{ProtocolEvents, ProtocolA2A, ProtocolChatCompletions}
