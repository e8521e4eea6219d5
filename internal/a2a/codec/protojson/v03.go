// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"bytes"
	"encoding/base64"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/typedpart"
)

// V03 is the ProtoJSON of the package a2a.v1, for HTTP+JSON of 0.2 and 0.3. Its requests
// name the task in the path. It omits the ids of the tasks that a message refers to and the
// media type of a text, because the proto has no fields for them.
var V03 = newVersion(&Version{
	dialect: a2a.DialectV03Proto,
	fields: allNames(map[string]field{
		"config":           fieldConfig,
		"content":          fieldParts, // in messages; artifacts have parts
		"file":             fieldFile,
		"fileWithBytes":    fieldFileWithBytes,
		"fileWithUri":      fieldFileWithURI,
		"final":            fieldFinal,
		"mimeType":         fieldMediaType,
		"msg":              fieldMessage, // up to 0.2.5
		"parent":           fieldParent,
		"pushNotification": fieldPushConfig,
		"request":          fieldMessage, // up to 0.2.6
		"update":           fieldMessage, // up to 0.2.5
	}),
	states:        stateNames("TASK_STATE_CANCELLED"),
	messageParts:  `,"content":[`,
	artifactParts: `,"parts":[`,
	partsName:     "content",
	appendPart:    appendPartV03,
	decodePart:    (*decoder).partV03,
	final:         true,
	blocking:      true,
	taskParams:    setOf(fieldName),
	pushMember:    `,"pushNotification":`,
	schemeBefore:  `,"authentication":{"schemes":[`,
	schemeAfter:   `]`,
	resourceNames: true,
	preferScheme:  true,
	setPush: setOf(fieldParent, fieldName, fieldConfigID, fieldID, fieldConfig, fieldPushConfig, fieldURL, fieldToken,
		fieldAuthentication),
	sendPush: setOf(fieldID, fieldURL, fieldToken, fieldAuthentication),
})

func appendPartV03(dst []byte, p *a2a.Part) []byte {
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

// appendFile encodes bytes twice, as the SDKs of 0.3 encode and expect them: the value of
// the bytes field is the base64 of the base64 text of the bytes.
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

// appendTwice appends the base64 of the base64 of raw. The size of an inner block is a
// multiple of the size of an outer block, so only the last block is padded.
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

// appendData appends a DataPart. It wraps a value that is not an object, because the proto
// allows only objects.
func appendData(dst []byte, p *a2a.Part) []byte {
	dst = append(dst, `{"data":{"data":`...)
	if len(p.Data) > 0 && p.Data[0] == '{' {
		dst = append(dst, p.Data...)
		dst = jsonwrite.Metadata(append(dst, '}'), p.Metadata)
	} else {
		dst = append(typedpart.AppendWrapped(dst, p.Data), '}')
		dst = typedpart.AppendWrappedMetadata(dst, p.Metadata)
	}
	return append(dst, '}')
}

func (d *decoder) partV03() a2a.Part {
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
	typedpart.Unwrap(&p)
	return p
}

// file reads a FilePart. If it has both bytes and a URI, the bytes take precedence.
func (d *decoder) file(p *a2a.Part) {
	for f := range d.members() {
		switch f {
		case fieldFileWithBytes:
			p.Content, p.Raw, p.URL = a2a.ContentRaw, decodeTwice(d.Bytes()), ""
		case fieldFileWithURI:
			if uri := d.String(); uri != "" && p.Content != a2a.ContentRaw {
				p.Content, p.URL = a2a.ContentURL, uri
			}
		case fieldMediaType:
			p.MediaType = d.String()
		case fieldName:
			p.Filename = d.String()
		}
	}
	if p.Content == 0 {
		d.FailAt("fileWithBytes", "is required unless fileWithUri is set")
	}
}

// decodeTwice decodes the inner base64 of bytes that were encoded twice. It returns bytes
// that are not strict base64 unchanged, because only the form of the bytes shows whether
// they were encoded twice.
func decodeTwice(raw []byte) []byte {
	if len(raw) == 0 || len(raw)%4 != 0 {
		return raw
	}
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(raw)))
	n, err := base64.StdEncoding.Strict().Decode(decoded, raw)
	// The decoder accepts line ends, which no encoder writes.
	if err != nil || bytes.ContainsAny(raw, "\r\n") {
		return raw
	}
	return decoded[:n]
}

// data reads a DataPart. If the member is absent, the data is an empty object.
func (d *decoder) data() a2a.Value {
	value := a2a.Value("{}")
	for f := range d.members() {
		if f == fieldData {
			value = a2a.Value(d.Object())
		}
	}
	return value
}
