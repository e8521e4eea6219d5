// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
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
	messageParts:  `,"content":`,
	artifactParts: `,"parts":`,
	partsName:     "content",
	appendPart:    appendPartV03,
	decodePart:    decodePartV03,
	final:         true,
	blocking:      true,
	taskParams:    setOf(fieldName),
	pushMember:    `,"pushNotification":`,
	schemeBefore:  `,"authentication":{"schemes":[`,
	schemeAfter:   `]`,
	resourceNames: true,
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

// appendTwice appends the base64 of the base64 of raw, block by block. The length of a block
// and the length of its base64 are multiples of 3, so only the last block is padded.
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

func decodePartV03(r *reader) a2a.Part {
	var p a2a.Part
	count := 0
	for f := range r.members() {
		switch f {
		case fieldText:
			p.Content, p.Text = a2a.ContentText, r.String()
			count++
		case fieldFile:
			decodeFile(r, &p)
			count++
		case fieldData:
			p.Content, p.Data = a2a.ContentData, decodeData(r)
			count++
		case fieldMetadata:
			p.Metadata = r.Object()
		}
	}
	if count != 1 {
		r.Fail("must have exactly one of text, file, data")
	}
	typedpart.Unwrap(&p)
	return p
}

// decodeFile reads a FilePart. If it has both bytes and a URI, the bytes take precedence.
func decodeFile(r *reader, p *a2a.Part) {
	for f := range r.members() {
		switch f {
		case fieldFileWithBytes:
			p.Content, p.Raw, p.URL = a2a.ContentRaw, r.Bytes(), ""
			if decoded, ok := typedpart.DecodeTwice(p.Raw); ok {
				p.Raw = decoded
			}
		case fieldFileWithURI:
			if uri := r.String(); uri != "" && p.Content != a2a.ContentRaw {
				p.Content, p.URL = a2a.ContentURL, uri
			}
		case fieldMediaType:
			p.MediaType = r.String()
		case fieldName:
			p.Filename = r.String()
		}
	}
	if p.Content == 0 {
		r.FailAt("fileWithBytes", "is required unless fileWithUri is set")
	}
}

// decodeData reads a DataPart. If the member is absent, the data is an empty object.
func decodeData(r *reader) a2a.Value {
	value := a2a.Value("{}")
	for f := range r.members() {
		if f == fieldData {
			value = a2a.Value(r.Object())
		}
	}
	return value
}
