// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// V10 is the JSON of 1.0: the ProtoJSON of the package lf.a2a.v1.
var V10 = &Version{
	Version:       jsondecode.V10,
	states:        stateNames("TASK_STATE_CANCELED"),
	messageParts:  `,"parts":`,
	artifactParts: `,"parts":`,
	emptyParts:    true,
	appendPart:    appendPartV10,
	references:    true,
	tenant:        true,
	pushMember:    `,"taskPushNotificationConfig":`,
	schemeBefore:  `,"authentication":{"scheme":`,
}

func appendPartV10(dst []byte, p *a2a.Part) []byte {
	switch p.Content {
	case a2a.ContentRaw:
		dst = append(dst, `{"raw":`...)
		dst = jsonwrite.Bytes(dst, p.Raw)
	case a2a.ContentURL:
		dst = jsonwrite.Member(dst, `{"url":`, p.URL)
	case a2a.ContentData:
		dst = append(dst, `{"data":`...)
		if len(p.Data) == 0 {
			dst = append(dst, "null"...)
		}
		dst = append(dst, p.Data...)
	default:
		dst = jsonwrite.Member(dst, `{"text":`, p.Text)
	}
	dst = jsonwrite.Optional(dst, `,"filename":`, p.Filename)
	dst = jsonwrite.Optional(dst, `,"mediaType":`, p.MediaType)
	dst = jsonwrite.Metadata(dst, p.Metadata)
	return append(dst, '}')
}
