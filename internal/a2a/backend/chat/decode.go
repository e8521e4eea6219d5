// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// maxCalls bounds the calls of tools in one answer.
const maxCalls = 128

// chunk is what counts of a completion, or of a chunk of one.
type chunk struct {
	text          []byte
	finish, model string
	usage         a2a.Object
	calls         []call
	// failed is true for an error in place of a completion.
	failed bool
}

// call is one call of a tool, or a piece of one.
type call struct {
	index               int
	id, name, arguments string
}

func decode(text []byte) (chunk, error) {
	var c chunk
	r := jsonread.New(text)
	for name := range r.Members() {
		switch string(name) {
		case "error":
			c.failed = true
		case "model":
			c.model = r.String()
		case "usage":
			c.usage = r.Object()
		case "choices":
			for range r.Elements() {
				c.choice(r)
			}
		}
	}
	return c, r.End()
}

// choice reads the first choice; no other was asked for.
func (c *chunk) choice(r *jsonread.Reader) {
	first := true
	var said chunk
	for name := range r.Members() {
		switch string(name) {
		case "index":
			first = r.Int() == 0
		case "finish_reason":
			said.finish = r.String()
		case "delta", "message":
			said.message(r)
		}
	}
	if first {
		c.text, c.finish, c.calls = append(c.text, said.text...), said.finish, append(c.calls, said.calls...)
	}
}

func (c *chunk) message(r *jsonread.Reader) {
	for name := range r.Members() {
		switch string(name) {
		case "content", "refusal":
			c.content(r)
		case "tool_calls":
			for i := range r.Elements() {
				c.calls = append(c.calls, toolCall(r, i))
			}
		}
	}
}

// content is a string, or an array of parts of which the text counts.
func (c *chunk) content(r *jsonread.Reader) {
	if r.Kind() != '[' {
		c.text = append(c.text, r.String()...)
		return
	}
	for range r.Elements() {
		for name := range r.Members() {
			if string(name) == "text" {
				c.text = append(c.text, r.String()...)
			}
		}
	}
}

func toolCall(r *jsonread.Reader, position int) call {
	one := call{index: position}
	for name := range r.Members() {
		switch string(name) {
		case "index":
			one.index = r.Int()
		case "id":
			one.id = r.String()
		case "function":
			for name := range r.Members() {
				switch string(name) {
				case "name":
					one.name = r.String()
				case "arguments":
					one.arguments = arguments(r)
				}
			}
		}
	}
	return one
}

// arguments are JSON in a string, or the JSON itself.
func arguments(r *jsonread.Reader) string {
	if r.Kind() != '"' {
		return string(r.Value())
	}
	return r.String()
}

// calls are those of an answer, put together from their pieces.
type calls []*growingCall

type growingCall struct {
	index     int
	id, name  string
	arguments []byte
}

func (c *calls) add(pieces []call) {
	for _, piece := range pieces {
		g := c.at(piece.index)
		if g == nil {
			return
		}
		if piece.id != "" {
			g.id = piece.id
		}
		if piece.name != "" {
			g.name = piece.name
		}
		g.arguments = append(g.arguments, piece.arguments...)
	}
}

// size is what the calls hold, in bytes.
func (c *calls) size() int {
	n := 0
	for _, g := range *c {
		n += len(g.id) + len(g.name) + len(g.arguments)
	}
	return n
}

func (c *calls) at(index int) *growingCall {
	for _, g := range *c {
		if g.index == index {
			return g
		}
	}
	if len(*c) == maxCalls {
		return nil
	}
	g := &growingCall{index: index}
	*c = append(*c, g)
	return g
}

// data returns the calls as one value, and nil for none. Arguments are the text
// that the model wrote: it may be no JSON.
func (c *calls) data() a2a.Value {
	if len(*c) == 0 {
		return nil
	}
	dst := []byte(`{"toolCalls":[`)
	for i, g := range *c {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(append(dst, `{"id":`...), g.id)
		dst = appendString(append(dst, `,"name":`...), g.name)
		dst = appendString(append(dst, `,"arguments":`...), string(g.arguments))
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}
