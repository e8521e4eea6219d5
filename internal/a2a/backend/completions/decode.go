// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// maxToolCalls bounds the tool calls in one response.
const maxToolCalls = 128

// chunk has the members of a completion, or of a chunk of one, that the backend uses.
type chunk struct {
	text                []byte
	finishReason, model string
	usage               a2a.Object
	toolCalls           []toolCall
	// known is true for an object that has choices, usage, or an error.
	known bool
	// failed is true for an error in place of a completion. errorText is the error.
	failed    bool
	errorText []byte
	// reasoning is true if the model sent reasoning, which is not part of its answer.
	// unrecognized is true if decode does not understand some content of the first choice, or
	// if another choice has content. unsupported names content that the backend cannot pass on
	// to the client, such as audio, "" for none.
	reasoning, unrecognized bool
	unsupported             string
	// streamed is true for a chunk of a stream.
	streamed bool
}

// toolCall is one tool call, or a piece of one.
type toolCall struct {
	index               int
	id, name, arguments string
}

// decode decodes a completion, or a chunk of one if streamed is true.
func decode(text []byte, streamed bool) (chunk, error) {
	c := chunk{streamed: streamed}
	r := jsonread.New(text)
	for name := range r.AllMembers() {
		if r.Kind() == 'n' {
			c.known = c.known || string(name) == "choices"
			continue
		}
		switch string(name) {
		case "error":
			c.error(r)
		case "object":
			if r.String() == "error" {
				// Older servers send the error itself, without a member error.
				c.known = true
				c.failed = true
				c.errorText = text
			}
		case "model":
			c.model = r.String()
		case "usage":
			c.known = true
			c.usage = a2a.Object(r.Value())
		case "choices":
			c.known = true
			for range r.Elements() {
				c.choice(r)
			}
		}
	}
	return c, r.End()
}

// error reads the member error. Some servers send it in every response, with false or an
// empty text if there is no error.
func (c *chunk) error(r *jsonread.Reader) {
	c.known = true
	raw := r.Raw()
	switch string(raw) {
	case `""`, "false", "{}":
	default:
		c.failed = true
		c.errorText = raw
	}
}

// choice reads one choice. Only the choice with the index 0 is part of the answer, because
// the request asks for one choice. Some servers, such as Perplexity, send the same content
// in both members, delta and message. In a chunk of a stream, choice then uses the delta,
// and in a whole completion the message.
func (c *chunk) choice(r *jsonread.Reader) {
	first := true
	var own, delta, message chunk
	for name := range r.AllMembers() {
		if r.Kind() == 'n' {
			own.known = own.known || slices.Contains(choiceMembers, string(name))
			continue
		}
		switch string(name) {
		case "index":
			first = r.Int() == 0
		case "finish_reason":
			own.known = true
			own.finishReason = r.String()
		case "delta":
			delta.known = true
			delta.message(r)
		case "message":
			message.known = true
			message.message(r)
		case "text":
			// A choice with this member is an answer of the older completions API, which this
			// package does not decode.
			own.unrecognized = own.unrecognized || isNonEmpty(r)
		}
	}
	counts := c.authoritative(&delta, &message)
	own.known = own.known || counts.known
	own.unrecognized = own.unrecognized || counts.unrecognized
	if !first {
		c.unrecognized = c.unrecognized || own.unrecognized || counts.hasContent()
		return
	}
	c.text = append(c.text, counts.text...)
	c.toolCalls = append(c.toolCalls, counts.toolCalls...)
	c.finishReason = own.finishReason
	c.reasoning = c.reasoning || counts.reasoning
	c.unrecognized = c.unrecognized || own.unrecognized
	c.unsupported = cmp.Or(c.unsupported, counts.unsupported)
	if !own.known && !own.unrecognized && c.unsupported == "" {
		c.unsupported = "a choice without delta, message and finish_reason"
	}
}

// choiceMembers are the members that identify a choice. A choice has at least one of them.
var choiceMembers = []string{"finish_reason", "delta", "message"}

// authoritative returns delta or message: the one that choice uses. It marks the result as
// unrecognized if only the other one has content: that content is lost unless other chunks
// contain it.
func (c *chunk) authoritative(delta, message *chunk) *chunk {
	counts := delta
	other := message
	if !delta.known || message.known && !c.streamed {
		counts, other = other, counts
	}
	counts.unrecognized = counts.unrecognized || !counts.hasContent() && other.hasContent()
	return counts
}

// hasContent reports whether the chunk has a part of an answer.
func (c *chunk) hasContent() bool {
	return len(c.text) > 0 || len(c.toolCalls) > 0 || c.unsupported != ""
}

// ignoredMembers are members that servers add to messages and that are not part of the
// answer.
var ignoredMembers = []string{
	"annotations", "channel", "citations", "content_filter_results", "context", "executed_tools", "extra_content", "id", "logprobs",
	"name", "obfuscation", "provider_specific_fields", "reasoning_opaque", "reasoning_signature", "search_results", "signature",
	"thinking_blocks", "token_ids", "type",
}

func (c *chunk) message(r *jsonread.Reader) {
	// understood is true if the message has a role, a function call or reasoning. unknown is
	// the name of the first non-empty member that is not known.
	understood := false
	unknown := ""
	for name := range r.Members() {
		switch string(name) {
		case "content", "refusal":
			c.content(r)
		case "tool_calls":
			for i := range r.Elements() {
				c.toolCalls = append(c.toolCalls, c.toolCall(r, i))
			}
		case "function_call":
			// This member is from the time before messages could have several tool calls. Older
			// servers send one call in it.
			one := toolCall{}
			c.function(r, &one)
			c.toolCalls = append(c.toolCalls, one)
			understood = true
		case "reasoning_content", "reasoning", "reasoning_details", "reasoning_text", "thinking":
			c.reasoning = isNonEmpty(r) || c.reasoning
			understood = understood || c.reasoning
		case "audio", "images":
			if kind := string(name); isNonEmpty(r) {
				c.unsupported = kind
			}
		case "role":
			understood = true
		default:
			if member := string(name); !slices.Contains(ignoredMembers, member) && isNonEmpty(r) && unknown == "" {
				unknown = member
			}
		}
	}
	if unknown == "" {
		return
	}
	c.unrecognized = true
	if !understood && len(c.text) == 0 && len(c.toolCalls) == 0 && c.unsupported == "" {
		// The member may be a part of the answer under another name.
		c.unsupported = unknown
	}
}

// isNonEmpty reads a value and reports whether it is a text, or an array or object with
// elements.
func isNonEmpty(r *jsonread.Reader) bool {
	kind := r.Kind()
	raw := r.Raw()
	if len(raw) < 2 {
		return false // a digit, or invalid JSON
	}
	return (kind == '"' || kind == '[' || kind == '{') && len(bytes.TrimSpace(raw[1:len(raw)-1])) > 0
}

// content reads a string or an array of parts.
func (c *chunk) content(r *jsonread.Reader) {
	if r.Kind() != '[' {
		c.text = append(c.text, r.String()...)
		return
	}
	for range r.Elements() {
		c.part(r)
	}
}

// part reads a part of a content array: a text, a refusal or reasoning. It records parts of
// other kinds as unsupported.
func (c *chunk) part(r *jsonread.Reader) {
	kind := ""
	text := ""
	hasText := false
	reasoning := false
	for name := range r.Members() {
		switch string(name) {
		case "type":
			kind = r.String()
		case "text", "refusal":
			text = text + r.String()
			hasText = true
		case "thinking", "reasoning":
			reasoning = true
		}
	}
	switch {
	case reasoning, kind == "thinking", kind == "reasoning":
		c.reasoning = true
	case hasText:
		c.text = append(c.text, text...)
	case kind == "text", kind == "refusal", kind == "output_text":
	default:
		c.unsupported = cmp.Or(kind, "a part without a type")
	}
}

func (c *chunk) toolCall(r *jsonread.Reader, position int) toolCall {
	one := toolCall{index: position}
	for name := range r.Members() {
		switch string(name) {
		case "index":
			one.index = r.Int()
		case "id":
			one.id = r.String()
		case "function":
			c.function(r, &one)
		case "type", "extra_content", "provider_specific_fields":
		default:
			c.unknownInToolCall(r, name)
		}
	}
	return one
}

// function reads the name and the arguments of a tool call.
func (c *chunk) function(r *jsonread.Reader, one *toolCall) {
	for name := range r.Members() {
		switch string(name) {
		case "name":
			one.name = r.String()
		case "arguments":
			one.arguments = arguments(r)
		case "description", "strict":
		default:
			c.unknownInToolCall(r, name)
		}
	}
}

// unknownInToolCall records a non-empty unknown member of a tool call as unsupported,
// because the member may be a part of the call.
func (c *chunk) unknownInToolCall(r *jsonread.Reader, name []byte) {
	if member := string(name); isNonEmpty(r) && c.unsupported == "" {
		c.unsupported = member + " in a tool call"
	}
}

// arguments returns the arguments of a tool call as JSON text. Servers send them as a
// string that contains JSON, or as the JSON itself.
func arguments(r *jsonread.Reader) string {
	if r.Kind() != '"' {
		return string(r.Value())
	}
	return r.String()
}

// toolCalls are the tool calls of a response, joined from their pieces.
type toolCalls []*partialToolCall

type partialToolCall struct {
	index     int
	id, name  string
	arguments []byte
}

// add adds pieces of tool calls. It returns false if there are more than maxToolCalls.
func (c *toolCalls) add(pieces []toolCall) bool {
	for _, piece := range pieces {
		g := c.at(piece)
		if g == nil {
			return false
		}
		g.id = cmp.Or(piece.id, g.id)
		g.name = cmp.Or(piece.name, g.name)
		g.arguments = append(g.arguments, piece.arguments...)
	}
	return true
}

// size returns the size of the tool calls, in bytes.
func (c *toolCalls) size() int {
	n := 0
	for _, g := range *c {
		n += len(g.id) + len(g.name) + len(g.arguments)
	}
	return n
}

// at returns the tool call to which a piece belongs, or adds one. A piece belongs to the
// last tool call with the same index, unless both have an id and the ids differ: some
// servers send the same index for all tool calls. at returns nil if there are too many
// tool calls.
func (c *toolCalls) at(piece toolCall) *partialToolCall {
	for _, g := range slices.Backward(*c) {
		if g.index == piece.index && (piece.id == "" || g.id == "" || piece.id == g.id) {
			return g
		}
	}
	if len(*c) == maxToolCalls {
		return nil
	}
	g := &partialToolCall{index: piece.index}
	*c = append(*c, g)
	return g
}

// joined returns the tool calls without the secret.
func (c *toolCalls) joined(secret string) []ToolCall {
	var all []ToolCall
	for _, g := range *c {
		all = append(all, ToolCall{ID: redact(g.id, secret), Name: redact(g.name, secret), Arguments: redact(string(g.arguments), secret)})
	}
	return all
}
