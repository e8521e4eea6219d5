// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// Request is a request for an answer.
type Request struct {
	Messages []Message
	Tools    []Tool
	// Choice is how the model uses the tools: "auto", "required", or "" to send nothing.
	Choice string
	// Schema is the JSON Schema that the text of the answer must meet, nil for none.
	Schema a2a.Object
}

// Role is the role of a message.
type Role string

// The roles.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a conversation.
type Message struct {
	Role Role
	// Text has the texts of the message, and Images the URLs of its images.
	Text, Images []string
	// ToolCalls are calls that an assistant asked for.
	ToolCalls []ToolCall
	// ToolCallID is the call whose result the message of a tool has.
	ToolCallID string
}

// Tool is a tool that the model may call.
type Tool struct {
	Name, Description string
	// Parameters is the JSON Schema of the arguments.
	Parameters a2a.Object
}

// size returns the estimated size of the request, in bytes, so that its buffer does not
// grow.
func (r *Request) size() int {
	size := 512 + len(r.Schema)
	for i := range r.Messages {
		m := &r.Messages[i]
		for _, text := range slices.Concat(m.Text, m.Images) {
			part := a2a.TextPart(text)
			size += part.Size()
		}
		for _, call := range m.ToolCalls {
			size += 96 + len(call.Name) + 2*len(call.Arguments)
		}
	}
	for _, tool := range r.Tools {
		size += 96 + len(tool.Name) + len(tool.Description) + len(tool.Parameters)
	}
	return size
}

func (r *Request) append(dst []byte, model string) []byte {
	dst = jsonwrite.Member(dst, `{"model":`, model)
	dst = append(dst, `,"stream":true,"stream_options":{"include_usage":true},"messages":`...)
	dst = jsonwrite.ArrayOf(dst, r.Messages, appendMessage)
	if len(r.Tools) > 0 {
		dst = append(dst, `,"tools":`...)
		dst = jsonwrite.ArrayOf(dst, r.Tools, appendTool)
		if r.Choice != "" {
			dst = jsonwrite.Member(dst, `,"tool_choice":`, r.Choice)
		}
	}
	if r.Schema != nil {
		dst = append(dst, `,"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":`...)
		dst = append(append(dst, r.Schema...), "}}"...)
	}
	return append(dst, '}')
}

func appendTool(dst []byte, t *Tool) []byte {
	dst = jsonwrite.Member(dst, `{"type":"function","function":{"name":`, t.Name)
	dst = jsonwrite.Member(dst, `,"description":`, t.Description)
	dst = append(dst, `,"parameters":`...)
	return append(append(dst, t.Parameters...), "}}"...)
}

// appendMessage encodes a message. Without images, its content is a string, which every server
// accepts. With images, its content is an array of parts.
func appendMessage(dst []byte, m *Message) []byte {
	dst = jsonwrite.Member(dst, `{"role":`, string(m.Role))
	if m.ToolCallID != "" {
		dst = jsonwrite.Member(dst, `,"tool_call_id":`, m.ToolCallID)
	}
	if len(m.ToolCalls) > 0 {
		dst = append(dst, `,"tool_calls":`...)
		dst = jsonwrite.ArrayOf(dst, m.ToolCalls, appendToolCall)
	}
	dst = append(dst, `,"content":`...)
	text := strings.Join(m.Text, "\n")
	if len(m.Images) == 0 {
		return append(jsonwrite.String(dst, text), '}')
	}
	dst = append(dst, '[')
	if len(m.Text) > 0 {
		dst = append(jsonwrite.Member(dst, `{"type":"text","text":`, text), "},"...)
	}
	for i, url := range m.Images {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonwrite.Member(dst, `{"type":"image_url","image_url":{"url":`, url), "}}"...)
	}
	return append(dst, "]}"...)
}

func appendToolCall(dst []byte, c *ToolCall) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, c.ID)
	dst = jsonwrite.Member(dst, `,"type":"function","function":{"name":`, c.Name)
	return append(jsonwrite.Member(dst, `,"arguments":`, c.Arguments), "}}"...)
}
