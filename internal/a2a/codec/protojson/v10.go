// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// V10 is the JSON of 1.0: the ProtoJSON of the package lf.a2a.v1. It also reads the forms
// of the release candidate.
var V10 = newVersion(&Version{
	dialect: a2a.DialectV10,
	fields: allNames(map[string]field{
		"config":                     fieldPushConfig, // the release candidate
		"filename":                   fieldFilename,
		"includeArtifacts":           fieldIncludeArtifacts,
		"mediaType":                  fieldMediaType,
		"pageSize":                   fieldPageSize,
		"pageToken":                  fieldPageToken,
		"raw":                        fieldRaw,
		"returnImmediately":          fieldReturnImmediately,
		"scheme":                     fieldScheme,
		"statusTimestampAfter":       fieldStatusTimestampAfter,
		"taskPushNotificationConfig": fieldPushConfig,
		"tenant":                     fieldTenant,
	}),
	states:        stateNames("TASK_STATE_CANCELED"),
	messageParts:  `,"parts":`,
	artifactParts: `,"parts":`,
	partsName:     "parts",
	emptyParts:    true,
	appendPart:    appendPartV10,
	decodePart:    decodePartV10,
	references:    true,
	presence:      true,
	roleRequired:  true,
	tenant:        true,
	taskParams:    setOf(fieldTenant, fieldID, fieldHistoryLength, fieldMetadata),
	pushMember:    `,"taskPushNotificationConfig":`,
	schemeBefore:  `,"authentication":{"scheme":`,
	setPush:       pushFieldsV10,
	sendPush:      pushFieldsV10,
})

var pushFieldsV10 = setOf(fieldTenant, fieldID, fieldConfigID, fieldTaskID, fieldURL, fieldToken, fieldAuthentication, fieldPushConfig)

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

// decodePartV10 reads the oneof of a Part. A member that is null counts as absent, except
// data: its content is then the JSON value null.
func decodePartV10(r *reader) a2a.Part {
	var p a2a.Part
	count := 0
	for f := range r.allMembers() {
		if f != fieldData && r.Kind() == 'n' {
			continue
		}
		switch f {
		case fieldText:
			p.Content, p.Text = a2a.ContentText, r.String()
			count++
		case fieldRaw:
			p.Content, p.Raw = a2a.ContentRaw, r.Bytes()
			count++
		case fieldURL:
			p.Content, p.URL = a2a.ContentURL, r.String()
			count++
		case fieldData:
			p.Content, p.Data = a2a.ContentData, r.Value()
			count++
		case fieldFilename:
			p.Filename = r.String()
		case fieldMediaType:
			p.MediaType = r.String()
		case fieldMetadata:
			p.Metadata = r.Object()
		}
	}
	if count != 1 {
		r.Fail("must have exactly one of text, raw, url, data")
	}
	return p
}
