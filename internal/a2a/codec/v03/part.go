// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03

import (
	"bytes"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

func (d *decoder) parts() []a2a.Part {
	parts := []a2a.Part{}
	for i := range d.Elements() {
		if !d.agent && i >= maxParts {
			d.TooMany(maxParts)
			return nil
		}
		parts = append(parts, d.part())
	}
	return parts
}

// partMembers are the members of every kind of part, before it is known which
// of them count.
type partMembers struct {
	kind     string
	text     *string
	file     *file
	data     a2a.Value
	metadata a2a.Object
}

func (d *decoder) part() a2a.Part {
	var m partMembers
	for name := range d.Members() {
		switch string(name) {
		case "kind", "type":
			kind := d.String()
			if m.kind != "" && m.kind != kind {
				d.Fail("kind and type differ")
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
		}
	}
	if m.kind == "" {
		m.kind = m.inferred()
	}
	return d.resolve(&m)
}

// inferred is the kind of a part that does not say it.
func (m *partMembers) inferred() string {
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

func (d *decoder) resolve(m *partMembers) a2a.Part {
	switch m.kind {
	case "text":
		if m.text == nil {
			d.FailAt("text", "is required")
			return a2a.Part{}
		}
		return a2a.Part{Content: a2a.ContentText, Text: *m.text, Metadata: m.metadata}
	case "file":
		if m.file == nil {
			d.FailAt("file", "is required")
			return a2a.Part{}
		}
		return m.file.part(m.metadata)
	case "data":
		return d.data(m)
	default:
		d.FailAt("kind", "must be text, file or data")
		return a2a.Part{}
	}
}

func (d *decoder) data(m *partMembers) a2a.Part {
	p := a2a.Part{Content: a2a.ContentData, Data: m.data, Metadata: m.metadata}
	switch {
	case len(m.data) == 0:
		d.FailAt("data", "is required")
	case m.data[0] == '{':
		unwrap(&p)
	case !d.agent:
		d.FailAt("data", "must be an object")
	}
	return p
}

type file struct {
	name, mediaType, uri string
	raw                  []byte
}

func (d *decoder) file() file {
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
			// Documents of 0.2 put the bytes there.
			if f.raw == nil && d.Kind() == '"' {
				f.raw = d.Bytes()
			}
		}
	}
	if f.raw == nil && f.uri == "" {
		d.FailAt("bytes", "or uri is required")
	}
	return f
}

// part prefers the bytes to the address.
func (f *file) part(metadata a2a.Object) a2a.Part {
	p := a2a.Part{Filename: f.name, MediaType: f.mediaType, Metadata: metadata}
	if f.raw != nil {
		p.Content, p.Raw = a2a.ContentRaw, f.raw
		return p
	}
	p.Content, p.URL = a2a.ContentURL, f.uri
	return p
}

// compatName marks a data part whose value is wrapped in {"value":...}, since
// this version knows objects only. The official SDKs use the same name.
const compatName = "data_part_compat"

// unwrap undoes what appendWrappedData does.
func unwrap(p *a2a.Part) {
	if !bytes.Contains(p.Metadata, []byte(compatName)) {
		return
	}
	marked, rest := cutCompat(p.Metadata)
	if !marked {
		return
	}
	r := jsonread.New(p.Data)
	var value a2a.Value
	only := true
	for name := range r.AllMembers() {
		if string(name) != "value" {
			only = false
			continue
		}
		value = r.Value()
	}
	if r.Err() == nil && only && value != nil {
		p.Data, p.Metadata = value, rest
	}
}

// cutCompat reports whether the mark is set, and returns the metadata without it.
func cutCompat(metadata a2a.Object) (marked bool, rest a2a.Object) {
	r := jsonread.New(metadata)
	for name := range r.AllMembers() {
		if string(name) == compatName {
			marked = string(r.Raw()) == "true"
			continue
		}
		if rest == nil {
			rest = append(rest, '{')
		} else {
			rest = append(rest, ',')
		}
		rest = appendString(rest, string(name))
		rest = append(rest, ':')
		rest = append(rest, r.Raw()...)
	}
	if rest != nil {
		rest = append(rest, '}')
	}
	return marked, rest
}
