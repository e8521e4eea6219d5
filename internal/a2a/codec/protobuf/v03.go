// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"encoding/base64"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/typedpart"
)

// V03 is the binary form of 0.2 and 0.3: the package a2a.v1. It omits the ids of the tasks
// that a message refers to and the media type of a text, because the proto has no fields
// for them. It cannot list tasks.
var V03 = func() *Version {
	v := &Version{
		dialect: a2a.DialectV03, blocking: true, resourceNames: true, parts: "content",
		appendPart: appendPartV03, decodePart: decodePartV03,

		message: messageFields("content"),
		send:    pbwire.Message{1: message, 2: configuration, 3: metadata},
		configuration: pbwire.Message{
			1: pbwire.Repeated("acceptedOutputModes"), 2: pbwire.Bytes("pushNotification"),
			3: pbwire.Varint("historyLength"), 4: pbwire.Varint("blocking"),
		},
		pushConfig:     pbwire.Message{1: configID, 2: url, 3: token, 4: authentication},
		authentication: pbwire.Message{1: schemes, 2: credentials},

		get:         request{pbwire.Message{1: taskName, 2: historyLength}, "name", ""},
		cancel:      request{pbwire.Message{1: taskName}, "name", ""},
		subscribe:   request{pbwire.Message{1: taskName}, "name", ""},
		pushRequest: request{pbwire.Message{1: configName}, "name", ""},
		listPush:    request{pbwire.Message{1: parentName, 2: pageSize, 3: pageToken}, "parent", ""},
	}
	v.statusUpdate.final = 4
	v.statusUpdate.metadata = 5
	v.artifact.name = 3
	v.artifact.description = 4
	v.artifact.parts = 5
	v.artifact.metadata = 6
	v.artifact.extensions = 7
	v.push.id = 1
	v.push.url = 2
	v.push.token = 3
	v.push.authentication = 4
	return v
}()

func appendPartV03(dst []byte, p *a2a.Part) []byte {
	metadata := p.Metadata
	switch p.Content {
	case a2a.ContentRaw, a2a.ContentURL:
		dst = appendFile(dst, 2, p)
	case a2a.ContentData:
		dst, metadata = appendData(dst, 3, p)
	default:
		dst = pbwire.AppendText(dst, 1, p.Text)
	}
	return pbwire.AppendObject(dst, 4, metadata)
}

// appendData appends a DataPart. If the value is not an object, appendData wraps it in an
// object. The returned metadata then has the mark of a wrapped value.
func appendData(dst []byte, number pbwire.Number, p *a2a.Part) (_ []byte, metadata a2a.Object) {
	dst, at := pbwire.Begin(dst, number)
	if len(p.Data) > 0 && p.Data[0] == '{' {
		return pbwire.End(pbwire.AppendObject(dst, 1, a2a.Object(p.Data)), at), p.Metadata
	}
	dst, within := pbwire.Begin(dst, 1)
	dst = pbwire.End(pbwire.AppendMember(dst, "value", p.Data), within)
	return pbwire.End(dst, at), typedpart.WrappedMetadata(p.Metadata)
}

// appendFile writes the base64 text of the bytes into the field for the bytes, because the
// SDKs of this version write and read only base64 there.
func appendFile(dst []byte, number pbwire.Number, p *a2a.Part) []byte {
	dst, at := pbwire.Begin(dst, number)
	if p.Content == a2a.ContentURL {
		dst = pbwire.AppendText(dst, 1, p.URL)
	} else {
		inner, within := pbwire.Begin(dst, 2)
		dst = pbwire.End(base64.StdEncoding.AppendEncode(inner, p.Raw), within)
	}
	dst = pbwire.AppendString(dst, 3, p.MediaType)
	dst = pbwire.AppendString(dst, 4, p.Filename)
	return pbwire.End(dst, at)
}

var (
	partFieldsV03 = pbwire.Message{
		1: pbwire.Bytes("text"),
		2: pbwire.Bytes("file"),
		3: pbwire.Bytes("data"),
		4: pbwire.Bytes("metadata"),
	}
	fileFields = pbwire.Message{
		1: pbwire.Bytes("fileWithUri"),
		2: pbwire.Bytes("fileWithBytes"),
		3: pbwire.Bytes("mimeType"),
		4: pbwire.Bytes("name"),
	}
	dataFields = pbwire.Message{1: pbwire.Bytes("data")}
)

func decodePartV03(r *pbwire.Reader) a2a.Part {
	var p a2a.Part
	count := 0
	for f := range r.Fields(partFieldsV03) {
		switch f {
		case 1:
			p.Content = a2a.ContentText
			p.Text = r.String()
		case 2:
			decodeFile(r, &p)
		case 3:
			decodeData(r, &p)
		case 4:
			p.Metadata = r.Object()
		}
		if f <= 3 {
			count++
		}
	}
	if count != 1 {
		r.Fail("must have exactly one of text, file, data")
		return a2a.Part{}
	}
	typedpart.Unwrap(&p)
	return p
}

func decodeFile(r *pbwire.Reader, p *a2a.Part) {
	count := 0
	for f := range r.Fields(fileFields) {
		switch f {
		case 1:
			p.Content = a2a.ContentURL
			p.URL = r.String()
		case 2:
			p.Content = a2a.ContentRaw
			if decoded, ok := typedpart.DecodeTwice(r.View()); ok {
				p.Raw = decoded
			} else {
				p.Raw = r.Raw()
			}
		case 3:
			p.MediaType = r.String()
		case 4:
			p.Filename = r.String()
		}
		if f <= 2 {
			count++
		}
	}
	if count != 1 {
		r.Fail("must have exactly one of fileWithUri, fileWithBytes")
	}
}

// decodeData reads a DataPart. If the field is absent, the data is an empty object.
func decodeData(r *pbwire.Reader, p *a2a.Part) {
	p.Content = a2a.ContentData
	p.Data = a2a.Value("{}")
	for range r.Fields(dataFields) {
		p.Data = a2a.Value(r.Object())
	}
}
