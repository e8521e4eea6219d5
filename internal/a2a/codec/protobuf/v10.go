// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/typedpart"
)

// V10 is the binary form of 1.0: the package lf.a2a.v1.
var V10 = func() *Version {
	v := &Version{
		dialect: a2a.DialectV10, roleRequired: true, presence: true, references: true, parts: "parts",
		appendPart: appendPartV10, decodePart: decodePartV10,

		message: messageFields("parts"),
		send:    pbwire.Message{1: tenant, 2: message, 3: configuration, 4: metadata},
		configuration: pbwire.Message{
			1: pbwire.Repeated("acceptedOutputModes"), 2: pbwire.Bytes("taskPushNotificationConfig"),
			3: pbwire.Varint("historyLength"), 4: pbwire.Varint("returnImmediately"),
		},
		pushConfig:     pbwire.Message{1: tenant, 2: configID, 3: taskID, 4: url, 5: token, 6: authentication},
		authentication: pbwire.Message{1: scheme, 2: credentials},

		get:       request{pbwire.Message{1: tenant, 2: task, 3: historyLength}, "id", ""},
		cancel:    request{pbwire.Message{1: tenant, 2: task, 3: metadata}, "id", ""},
		subscribe: request{pbwire.Message{1: tenant, 2: task}, "id", ""},
		list: request{fields: pbwire.Message{
			1: tenant, 2: contextID, 3: status, 4: listSize, 5: pageToken, 6: historyLength, 7: since, 8: includeArtifacts,
		}},
		pushRequest: request{pbwire.Message{1: tenant, 2: taskID, 3: configID}, "taskId", "id"},
		listPush:    request{pbwire.Message{1: taskID, 2: pageSize, 3: pageToken, 4: tenant}, "taskId", ""},
		card:        request{fields: pbwire.Message{1: tenant}},
	}
	v.statusUpdate.metadata = 4
	v.artifact.name = 2
	v.artifact.description = 3
	v.artifact.parts = 4
	v.artifact.metadata = 5
	v.artifact.extensions = 6
	v.push.id = 2
	v.push.taskID = 3
	v.push.url = 4
	v.push.token = 5
	v.push.authentication = 6
	return v
}()

func appendPartV10(dst []byte, p *a2a.Part) []byte {
	switch p.Content {
	case a2a.ContentRaw:
		dst = pbwire.AppendBytes(dst, 2, p.Raw)
	case a2a.ContentURL:
		dst = pbwire.AppendText(dst, 3, p.URL)
	case a2a.ContentData:
		dst = pbwire.AppendValue(dst, 4, p.Data)
	default:
		dst = pbwire.AppendText(dst, 1, p.Text)
	}
	dst = pbwire.AppendObject(dst, 5, p.Metadata)
	dst = pbwire.AppendString(dst, 6, p.Filename)
	return pbwire.AppendString(dst, 7, p.MediaType)
}

var partFieldsV10 = pbwire.Message{
	1: pbwire.Bytes("text"),
	2: pbwire.Bytes("raw"),
	3: pbwire.Bytes("url"),
	4: pbwire.Bytes("data"),
	5: pbwire.Bytes("metadata"),
	6: pbwire.Bytes("filename"),
	7: pbwire.Bytes("mediaType"),
}

func decodePartV10(r *pbwire.Reader) a2a.Part {
	var p a2a.Part
	count := 0
	for f := range r.Fields(partFieldsV10) {
		switch f {
		case 1:
			p.Content = a2a.ContentText
			p.Text = r.String()
		case 2:
			p.Content = a2a.ContentRaw
			p.Raw = r.Raw()
		case 3:
			p.Content = a2a.ContentURL
			p.URL = r.String()
		case 4:
			p.Content = a2a.ContentData
			p.Data = r.Value()
			if string(p.Data) == "null" {
				r.Fail(typedpart.NoNull)
			}
		case 5:
			p.Metadata = r.Object()
		case 6:
			p.Filename = r.String()
		case 7:
			p.MediaType = r.String()
		}
		if f <= 4 {
			count++
		}
	}
	if count != 1 {
		r.Fail("must have exactly one of text, raw, url, data")
	}
	return p
}
