// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// maxCalls bounds the calls of tools in one answer.
const maxToolCalls = 128

// chunk is what counts of a completion, or of a chunk of one.
type chunk struct {
	text                []byte
	finishReason, model string
	usage               a2a.Object
	toolCalls           []toolCall
	// known is true for an object that has choices, usage or an error.
	known bool
	// failed is true for an error in place of a completion, and problem is what
	// the server says of it.
	failed    bool
	errorText []byte
	// reasoning is true when the model thinks aloud, which is no part of its
	// answer. odd is true for content of the first choice that is not understood,
	// or for content of another choice. lost names content that is understood and
	// cannot be passed on.
	reasoning, unrecognized bool
	unsupported             string
	// streamed is true for a chunk of a stream.
	streamed bool
}

// call is one call of a tool, or a piece of one.
type toolCall struct {
	index               int
	id, name, arguments string
}

// decode reads a completion, or with streamed a chunk of one.
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
				// The form of older servers, without a member of that name.
				c.known, c.failed, c.errorText = true, true, text
			}
		case "model":
			c.model = r.String()
		case "usage":
			c.known, c.usage = true, r.Object()
		case "choices":
			c.known = true
			for range r.Elements() {
				c.choice(r)
			}
		}
	}
	return c, r.End()
}

// error reads the member of that name. Some servers always send it: false and
// an empty text are no error.
func (c *chunk) error(r *jsonread.Reader) {
	c.known = true
	raw := r.Raw()
	switch string(raw) {
	case `""`, "false", "{}":
	default:
		c.failed, c.errorText = true, raw
	}
}

// choice reads the first choice; no other was asked for. A choice with delta and
// message says the same twice, as Perplexity's do: of a chunk the delta counts, of
// a completion the message.
func (c *chunk) choice(r *jsonread.Reader) {
	first := true
	var said, delta, message chunk
	for name := range r.AllMembers() {
		if r.Kind() == 'n' {
			said.known = said.known || slices.Contains(choiceMembers, string(name))
			continue
		}
		switch string(name) {
		case "index":
			first = r.Int() == 0
		case "finish_reason":
			said.known, said.finishReason = true, r.String()
		case "delta":
			delta.known = true
			delta.message(r)
		case "message":
			message.known = true
			message.message(r)
		case "text":
			// The older API, of which no answer was asked for.
			said.unrecognized = said.unrecognized || isNonEmpty(r)
		}
	}
	counts := c.authoritative(&delta, &message)
	said.known, said.unrecognized = said.known || counts.known, said.unrecognized || counts.unrecognized
	if !first {
		c.unrecognized = c.unrecognized || said.unrecognized || counts.hasContent()
		return
	}
	c.text, c.toolCalls = append(c.text, counts.text...), append(c.toolCalls, counts.toolCalls...)
	c.finishReason = said.finishReason
	c.reasoning, c.unrecognized = c.reasoning || counts.reasoning, c.unrecognized || said.unrecognized
	if c.unsupported == "" {
		c.unsupported = counts.unsupported
	}
	if !said.known && !said.unrecognized && c.unsupported == "" {
		c.unsupported = "a choice without delta, message and finish_reason"
	}
}

// ofChoice are the members of which a choice has at least one.
var choiceMembers = []string{"finish_reason", "delta", "message"}

// counting returns the one of delta and message that counts. It is odd when only
// the other one says anything: that would be lost, unless other chunks say it.
func (c *chunk) authoritative(delta, message *chunk) *chunk {
	counts, other := delta, message
	if !delta.known || message.known && !c.streamed {
		counts, other = other, counts
	}
	counts.unrecognized = counts.unrecognized || !counts.hasContent() && other.hasContent()
	return counts
}

// says reports whether there is a part of an answer.
func (c *chunk) hasContent() bool {
	return len(c.text) > 0 || len(c.toolCalls) > 0 || c.unsupported != ""
}

// additions are members of messages that servers add to an answer and that are
// no part of it.
var ignoredMembers = []string{
	"annotations", "channel", "citations", "content_filter_results", "context", "executed_tools", "extra_content", "id", "logprobs",
	"name", "obfuscation", "provider_specific_fields", "reasoning_opaque", "reasoning_signature", "search_results", "signature",
	"thinking_blocks", "token_ids", "type",
}

func (c *chunk) message(r *jsonread.Reader) {
	// said is true for a message with a member that is understood and filled, and
	// unknown is the first one that is filled and not understood.
	said, unknown := false, ""
	for name := range r.Members() {
		switch string(name) {
		case "content", "refusal":
			c.content(r)
		case "tool_calls":
			for i := range r.Elements() {
				c.toolCalls = append(c.toolCalls, c.toolCall(r, i))
			}
		case "function_call":
			// The form of calls before there could be several.
			one := toolCall{}
			c.function(r, &one)
			c.toolCalls = append(c.toolCalls, one)
			said = true
		case "reasoning_content", "reasoning", "reasoning_details", "reasoning_text", "thinking":
			c.reasoning = isNonEmpty(r) || c.reasoning
			said = said || c.reasoning
		case "audio", "images":
			if kind := string(name); isNonEmpty(r) {
				c.unsupported = kind
			}
		case "role":
			said = true
		default:
			if member := string(name); !slices.Contains(ignoredMembers, member) && isNonEmpty(r) && unknown == "" {
				unknown = member
			}
		}
	}
	if unknown == "" {
		return
	}
	if c.unrecognized = true; !said && len(c.text) == 0 && len(c.toolCalls) == 0 && c.unsupported == "" {
		// A part of the answer under another name, for all that is known.
		c.unsupported = unknown
	}
}

// filled reads a value and reports whether it holds anything: text, or an array
// or object with elements.
func isNonEmpty(r *jsonread.Reader) bool {
	kind := r.Kind()
	raw := r.Raw()
	if len(raw) < 2 {
		return false // a digit, or no JSON
	}
	return (kind == '"' || kind == '[' || kind == '{') && len(bytes.TrimSpace(raw[1:len(raw)-1])) > 0
}

// content is a string, or an array of parts.
func (c *chunk) content(r *jsonread.Reader) {
	if r.Kind() != '[' {
		c.text = append(c.text, r.String()...)
		return
	}
	for range r.Elements() {
		c.part(r)
	}
}

// part is text, a refusal or reasoning; other kinds cannot be passed on.
func (c *chunk) part(r *jsonread.Reader) {
	kind, text, said, reasoning := "", "", false, false
	for name := range r.Members() {
		switch string(name) {
		case "type":
			kind = r.String()
		case "text", "refusal":
			text, said = text+r.String(), true
		case "thinking", "reasoning":
			reasoning = true
		}
	}
	switch {
	case reasoning, kind == "thinking", kind == "reasoning":
		c.reasoning = true
	case said:
		c.text = append(c.text, text...)
	case kind == "text", kind == "refusal", kind == "output_text":
	default:
		if c.unsupported = kind; kind == "" {
			c.unsupported = "a part without a type"
		}
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
			c.unknownInCall(r, name)
		}
	}
	return one
}

// function reads the name and the arguments of a call.
func (c *chunk) function(r *jsonread.Reader, one *toolCall) {
	for name := range r.Members() {
		switch string(name) {
		case "name":
			one.name = r.String()
		case "arguments":
			one.arguments = arguments(r)
		case "description", "strict":
		default:
			c.unknownInCall(r, name)
		}
	}
}

// unknownInCall is for a member of a call that may be a part of it.
func (c *chunk) unknownInCall(r *jsonread.Reader, name []byte) {
	if member := string(name); isNonEmpty(r) && c.unsupported == "" {
		c.unsupported = member + " in a call of a tool"
	}
}

// arguments are JSON in a string, or the JSON itself.
func arguments(r *jsonread.Reader) string {
	if r.Kind() != '"' {
		return string(r.Value())
	}
	return r.String()
}

// calls are those of an answer, put together from their pieces.
type toolCalls []*partialToolCall

type partialToolCall struct {
	index     int
	id, name  string
	arguments []byte
}

// add adds pieces of calls. It returns false when there are more than maxCalls.
func (c *toolCalls) add(pieces []toolCall) bool {
	for _, piece := range pieces {
		g := c.at(piece)
		if g == nil {
			return false
		}
		if piece.id != "" {
			g.id = piece.id
		}
		if piece.name != "" {
			g.name = piece.name
		}
		g.arguments = append(g.arguments, piece.arguments...)
	}
	return true
}

// size is what the calls hold, in bytes.
func (c *toolCalls) size() int {
	n := 0
	for _, g := range *c {
		n += len(g.id) + len(g.name) + len(g.arguments)
	}
	return n
}

// at returns the call that a piece belongs to: the last one of its index. Some
// servers give all calls one index, and each an id of its own.
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

// data returns the calls as one value, and nil for none. Arguments are the text
// that the model wrote: it may be no JSON.
func (c *toolCalls) data(secret string) a2a.Value {
	if len(*c) == 0 {
		return nil
	}
	dst := []byte(`{"toolCalls":[`)
	for i, g := range *c {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(append(dst, `{"id":`...), redact(g.id, secret))
		dst = appendString(append(dst, `,"name":`...), redact(g.name, secret))
		dst = appendString(append(dst, `,"arguments":`...), redact(string(g.arguments), secret))
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}
