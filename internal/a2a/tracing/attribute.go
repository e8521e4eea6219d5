// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// The attributes of spans. Releases keep their names and meanings.
const (
	keyOperation = attribute.Key("a2a.operation")
	keyBinding   = attribute.Key("a2a.binding")
	keyVersion   = attribute.Key("a2a.version")
	keyOutcome   = attribute.Key("a2a.outcome")
	keyTask      = attribute.Key("a2a.task.id")
	keyState     = attribute.Key("a2a.task.state")
	keyAttempt   = attribute.Key("a2a.turn.attempt")
	keyProtocol  = attribute.Key("a2a.backend.protocol")

	keyConversation = attribute.Key("gen_ai.conversation.id")
	keyGenAI        = attribute.Key("gen_ai.operation.name")
	keyAgent        = attribute.Key("gen_ai.agent.name")
	keyAgentVersion = attribute.Key("gen_ai.agent.version")
	keyErrorType    = attribute.Key("error.type")
	keyStatusCode   = attribute.Key("http.response.status_code")
)

// The attributes of the draft that differ from those above (semantic-conventions-genai, pull
// request 195).
const (
	draftMethod     = attribute.Key("a2a.method.name")
	draftMessage    = attribute.Key("a2a.message.id")
	draftReferences = attribute.Key("a2a.message.reference_task_ids")
	draftVersion    = attribute.Key("a2a.protocol.version")
	draftTenant     = attribute.Key("a2a.tenant")
)

// invokeAgent is the name of calls of agents in the conventions of OpenTelemetry.
const invokeAgent = "invoke_agent"

// maxText bounds a text that a client or an agent chose, in bytes.
const maxText = 256

// text returns an attribute with the value as bounded returns it.
func text(key attribute.Key, value string) attribute.KeyValue { return key.String(bounded(value)) }

// bounded returns the first maxText bytes of a text as valid UTF-8, because OTLP cannot encode
// other texts. The result is a copy: a span in the queue must not keep the body of a request in
// memory.
func bounded(value string) string {
	return strings.Clone(strings.ToValidUTF8(value[:min(len(value), maxText)], ""))
}
