// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"encoding/base64"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/typedpart"
)

// V03 is the ProtoJSON of the package a2a.v1, for HTTP+JSON of 0.2 and 0.3. Its requests
// name the task in the path. It omits the ids of the tasks that a message refers to and the
// media type of a text, because the proto has no fields for them.
var V03 = &Version{
	Version:       jsondecode.V03Proto,
	states:        stateNames("TASK_STATE_CANCELLED"),
	messageParts:  `,"content":`,
	artifactParts: `,"parts":`,
	appendPart:    appendPartV03,
	final:         true,
	pushMember:    `,"pushNotification":`,
	schemeBefore:  `,"authentication":{"schemes":[`,
	schemeAfter:   `]`,
}

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
