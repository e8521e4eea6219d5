// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbv03

import (
	"bytes"
	"encoding/base64"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonobject"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
)

// appendPart reads one more part. What an agent sends is bounded as a whole.
func (d *decoder) appendPart(parts []a2a.Part) []a2a.Part {
	if !d.agent && !d.Index(maxParts) {
		return nil
	}
	return append(parts, d.part())
}

var partFields = pbwire.Message{
	1: pbwire.Bytes("text"),
	2: pbwire.Bytes("file"),
	3: pbwire.Bytes("data"),
	4: pbwire.Bytes("metadata"),
}

func (d *decoder) part() a2a.Part {
	var p a2a.Part
	count := 0
	for f := range d.Fields(partFields) {
		switch f {
		case 1:
			p.Content, p.Text = a2a.ContentText, d.String()
		case 2:
			d.file(&p)
		case 3:
			d.data(&p)
		case 4:
			p.Metadata = d.Object()
		}
		if f <= 3 {
			count++
		}
	}
	if count != 1 {
		d.Fail("must have exactly one of text, file, data")
		return a2a.Part{}
	}
	unwrap(&p)
	return p
}

// compatName marks a data part whose value is wrapped in {"value":...}, since
// this version knows objects only. The official SDKs use the same name.
const compatName = "data_part_compat"

// unwrap undoes what appendData does to a value that is no object.
func unwrap(p *a2a.Part) {
	if p.Content != a2a.ContentData || !jsonobject.MayHave(p.Metadata, compatName) {
		return
	}
	mark, rest := jsonobject.Cut(p.Metadata, compatName)
	if string(mark) != "true" {
		return
	}
	if value, others := jsonobject.Cut(a2a.Object(p.Data), "value"); value != nil && others == nil {
		p.Data, p.Metadata = value, rest
	}
}

var fileFields = pbwire.Message{
	1: pbwire.Bytes("fileWithUri"),
	2: pbwire.Bytes("fileWithBytes"),
	3: pbwire.Bytes("mimeType"),
	4: pbwire.Bytes("name"),
}

func (d *decoder) file(p *a2a.Part) {
	count := 0
	for f := range d.Fields(fileFields) {
		switch f {
		case 1:
			p.Content, p.URL = a2a.ContentURL, d.String()
		case 2:
			p.Content, p.Raw = a2a.ContentRaw, payload(d.View())
		case 3:
			p.MediaType = d.String()
		case 4:
			p.Filename = d.String()
		}
		if f <= 2 {
			count++
		}
	}
	if count != 1 {
		d.Fail("must have exactly one of fileWithUri, fileWithBytes")
	}
}

// payload takes bytes that are strict base64 for the base64 of the bytes: the
// SDKs of this version put it there.
func payload(b []byte) []byte {
	out := make([]byte, base64.StdEncoding.DecodedLen(len(b)))
	n, err := base64.StdEncoding.Strict().Decode(out, b)
	if err != nil || bytes.ContainsAny(b, "\r\n") {
		return bytes.Clone(b)
	}
	return out[:n]
}

var dataFields = pbwire.Message{1: pbwire.Bytes("data")}

// data reads a DataPart. Without its field it holds an empty Struct.
func (d *decoder) data(p *a2a.Part) {
	p.Content, p.Data = a2a.ContentData, a2a.Value("{}")
	for range d.Fields(dataFields) {
		p.Data = a2a.Value(d.Object())
	}
}
