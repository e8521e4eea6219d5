// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03proto

import (
	"bytes"
	"encoding/base64"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonobject"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// compatName marks a data part whose value is wrapped in {"value":...}, since
// this version knows objects only. The official SDKs use the same name.
const compatName = "data_part_compat"

func appendParts(dst []byte, name string, parts []a2a.Part) []byte {
	if len(parts) == 0 {
		return dst
	}
	dst = append(dst, name...)
	for i := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendPart(dst, &parts[i])
	}
	return append(dst, ']')
}

func appendPart(dst []byte, p *a2a.Part) []byte {
	switch p.Content {
	case a2a.ContentRaw, a2a.ContentURL:
		dst = appendFile(dst, p)
	case a2a.ContentData:
		return appendData(dst, p)
	default:
		dst = jsonwrite.Member(dst, `{"text":`, p.Text)
	}
	dst = jsonwrite.Metadata(dst, p.Metadata)
	return append(dst, '}')
}

// appendFile writes bytes as the SDKs of 0.3 do and expect: what stands in the
// field of bytes is the text of their base64, so that they are encoded twice.
func appendFile(dst []byte, p *a2a.Part) []byte {
	if p.Content == a2a.ContentURL {
		dst = jsonwrite.Member(dst, `{"file":{"fileWithUri":`, p.URL)
	} else {
		dst = append(dst, `{"file":{"fileWithBytes":"`...)
		dst = appendTwice(dst, p.Raw)
		dst = append(dst, '"')
	}
	dst = jsonwrite.Optional(dst, `,"mimeType":`, p.MediaType)
	dst = jsonwrite.Optional(dst, `,"name":`, p.Filename)
	return append(dst, '}')
}

// appendTwice appends base64 of base64. A block of the inner one is a whole
// number of blocks of the outer one, so that neither is padded before its end.
func appendTwice(dst, raw []byte) []byte {
	const block = 9 * 64
	var once [block / 3 * 4]byte
	for len(raw) > 0 {
		n := min(len(raw), block)
		dst = base64.StdEncoding.AppendEncode(dst, base64.StdEncoding.AppendEncode(once[:0], raw[:n]))
		raw = raw[n:]
	}
	return dst
}

func appendData(dst []byte, p *a2a.Part) []byte {
	if len(p.Data) > 0 && p.Data[0] == '{' {
		dst = append(dst, `{"data":{"data":`...)
		dst = append(dst, p.Data...)
		dst = jsonwrite.Metadata(append(dst, '}'), p.Metadata)
		return append(dst, '}')
	}
	dst = append(dst, `{"data":{"data":{"value":`...)
	if len(p.Data) == 0 {
		dst = append(dst, "null"...)
	}
	dst = append(dst, p.Data...)
	dst = append(dst, `}},"metadata":{"`+compatName+`":true`...)
	metadata := p.Metadata
	if jsonobject.MayHave(metadata, compatName) {
		_, metadata = jsonobject.Cut(metadata, compatName)
	}
	// What follows the brace of an object that is not empty.
	if len(metadata) > len("{}") {
		dst = append(dst, ',')
		dst = append(dst, metadata[1:]...)
		return append(dst, '}')
	}
	return append(dst, "}}"...)
}

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

func (d *decoder) part() a2a.Part {
	var p a2a.Part
	count := 0
	for f := range d.members() {
		switch f {
		case fieldText:
			p.Content, p.Text = a2a.ContentText, d.String()
			count++
		case fieldFile:
			d.file(&p)
			count++
		case fieldData:
			p.Content, p.Data = a2a.ContentData, d.data()
			count++
		case fieldMetadata:
			p.Metadata = d.Object()
		}
	}
	if count != 1 {
		d.Fail("must have exactly one of text, file, data")
	}
	unwrap(&p)
	return p
}

// file prefers the bytes to the address.
func (d *decoder) file(p *a2a.Part) {
	for f := range d.members() {
		switch f {
		case fieldFileWithBytes:
			p.Content, p.Raw, p.URL = a2a.ContentRaw, once(d.Bytes()), ""
		case fieldFileWithURI:
			if uri := d.String(); uri != "" && p.Content != a2a.ContentRaw {
				p.Content, p.URL = a2a.ContentURL, uri
			}
		case fieldMimeType:
			p.MediaType = d.String()
		case fieldName:
			p.Filename = d.String()
		}
	}
	if p.Content == 0 {
		d.FailAt("fileWithBytes", "or fileWithUri is required")
	}
}

// once undoes the inner encoding of bytes that were encoded twice. Whether they
// were can only be seen from their form.
func once(raw []byte) []byte {
	if len(raw) == 0 || len(raw)%4 != 0 {
		return raw
	}
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(raw)))
	n, err := base64.StdEncoding.Strict().Decode(decoded, raw)
	// The decoder skips the ends of lines, which are in no text of base64.
	if err != nil || bytes.ContainsAny(raw, "\r\n") {
		return raw
	}
	return decoded[:n]
}

// data reads a DataPart. Without its member it holds an empty Struct.
func (d *decoder) data() a2a.Value {
	value := a2a.Value("{}")
	for f := range d.members() {
		if f == fieldData {
			value = a2a.Value(d.Object())
		}
	}
	return value
}

// unwrap undoes what appendData does to a value that is no object.
func unwrap(p *a2a.Part) {
	mark, rest := jsonobject.Cut(p.Metadata, compatName)
	if p.Content != a2a.ContentData || string(mark) != "true" {
		return
	}
	if value, others := jsonobject.Cut(a2a.Object(p.Data), "value"); value != nil && others == nil {
		p.Data, p.Metadata = value, rest
	}
}
