// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package typedpart

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// Reader reads parts of any Form.
type Reader struct {
	*jsonread.Reader
	// Agent is true for the parts of an agent, which the Reader reads leniently.
	Agent bool
	// V01 is true for 0.1: a file has bytes or a URI and never both, and there are
	// no tools.
	V01 bool
}

// Names are the names of the members of parts.
var Names = []string{"bytes", "data", "file", "kind", "metadata", "mimeType", "name", "text", "toolUseId", "type", "uri"}

// members has the members of a part of any kind. Reader.Part reads all members before it
// evaluates them: the kind determines which members apply, and may be the last one.
type members struct {
	kind     string
	text     *string
	file     *file
	data     a2a.Value
	metadata a2a.Object
	// tool is the beginning of a JSON object with the other members, without its closing
	// brace.
	tool a2a.Object
	// toolUse is true if tool has the member toolUseId, which a tool result requires.
	toolUse bool
}

// Part reads a part.
func (d Reader) Part() a2a.Part {
	var m members
	for name := range d.Members() {
		switch string(name) {
		case "kind", "type":
			kind := d.String()
			if m.kind != "" && m.kind != kind {
				d.Fail("kind and type must be equal")
			}
			m.kind = kind
		case "text":
			text := d.String()
			m.text = &text
		case "file":
			f := d.file()
			m.file = &f
		case "data":
			m.data = d.Value()
		case "metadata":
			m.metadata = d.Object()
		default:
			d.other(&m, string(name))
		}
	}
	if m.kind != "" {
		return d.resolve(&m)
	}
	if m.tool != nil {
		return d.bare(&m)
	}
	m.kind = m.inferred()
	return d.resolve(&m)
}

// bare reads a part without a kind that has other members than parts of the Forms: a part of 1.0.
// m.tool has these members. Unknown ones are ignored.
func (d Reader) bare(m *members) a2a.Part {
	p := a2a.Part{Metadata: m.metadata}
	r := jsonread.New(append(m.tool, '}'))
	for name := range r.Members() {
		switch string(name) {
		case "raw":
			p.Content = a2a.ContentRaw
			p.Raw = r.Bytes()
		case "url":
			p.Content = a2a.ContentURL
			p.URL = r.String()
		case "filename":
			p.Filename = r.String()
		case "mediaType":
			p.MediaType = r.String()
		}
	}
	if r.End() != nil {
		d.Fail("raw must be base64, and url, filename and mediaType must be strings")
		return a2a.Part{}
	}
	switch {
	case m.text != nil:
		p.Content = a2a.ContentText
		p.Text = *m.text
	case m.file != nil:
		return m.file.part(m.metadata)
	case len(m.data) > 0:
		p.Content = a2a.ContentData
		p.Data = m.data
	case p.Content == 0:
		d.FailAt("kind", "must be text, file or data")
	}
	return p
}

// other stores a member that may belong to a tool.
func (d Reader) other(m *members, name string) {
	if d.V01 {
		return
	}
	var value []byte
	if name == "toolUseId" {
		m.toolUse = true
		value = jsonwrite.String(nil, d.String())
	} else {
		value = d.Value()
	}
	m.tool = jsonread.AppendMember(m.tool, name, value)
}

// inferred returns the kind of a part without a kind, from its members; "" if none fits.
func (m *members) inferred() string {
	switch {
	case m.text != nil:
		return "text"
	case m.file != nil:
		return "file"
	case m.data != nil:
		return "data"
	default:
		return ""
	}
}

func (d Reader) resolve(m *members) a2a.Part {
	switch {
	case m.kind == "text":
		if m.text == nil {
			d.FailAt("text", "is required")
			return a2a.Part{}
		}
		return a2a.Part{Content: a2a.ContentText, Text: *m.text, Metadata: m.metadata}
	case m.kind == "file":
		if m.file == nil {
			d.FailAt("file", "is required")
			return a2a.Part{}
		}
		return m.file.part(m.metadata)
	case m.kind == "data":
		return d.data(m)
	case !d.V01 && slices.Contains(tools, m.kind):
		if !m.toolUse && m.kind == tools[0] {
			d.FailAt("toolUseId", "is required")
			return a2a.Part{}
		}
		if m.tool != nil {
			m.tool = append(m.tool, '}')
		}
		return fromTool(m.kind, m.tool, m.metadata)
	case d.V01:
		d.FailAt("type", "must be text, file or data")
	default:
		d.FailAt("kind", "must be text, file or data")
	}
	return a2a.Part{}
}

func (d Reader) data(m *members) a2a.Part {
	p := a2a.Part{Content: a2a.ContentData, Data: m.data, Metadata: m.metadata}
	switch {
	case len(m.data) == 0:
		d.FailAt("data", "is required")
	case m.data[0] == '{':
		Unwrap(&p)
	case !d.Agent:
		d.FailAt("data", "must be an object")
	}
	return p
}

type file struct {
	name, mediaType, uri string
	raw                  []byte
}

func (d Reader) file() file {
	var f file
	for name := range d.Members() {
		switch string(name) {
		case "name":
			f.name = d.String()
		case "mimeType":
			f.mediaType = d.String()
		case "uri":
			f.uri = d.String()
		case "bytes":
			f.raw = d.Bytes()
		case "data":
			// Documents of 0.2 have the bytes in this member.
			if f.raw == nil && d.Kind() == '"' {
				f.raw = d.Bytes()
			}
		}
	}
	switch {
	case f.raw == nil && f.uri == "":
		d.FailAt("bytes", "is required unless uri is set")
	case d.V01 && f.raw != nil && f.uri != "":
		d.FailAt("uri", "must not be set beside bytes")
	}
	return f
}

// part returns the file as a part. If the file has both bytes and a URI, the bytes take
// precedence.
func (f *file) part(metadata a2a.Object) a2a.Part {
	p := a2a.Part{Filename: f.name, MediaType: f.mediaType, Metadata: metadata}
	if f.raw != nil {
		p.Content = a2a.ContentRaw
		p.Raw = f.raw
		return p
	}
	p.Content = a2a.ContentURL
	p.URL = f.uri
	return p
}
