// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// AppendPush appends a TaskPushNotificationConfig.
func (v *Version) AppendPush(dst []byte, c *a2a.PushConfig) []byte {
	if !v.ResourceNames {
		return v.appendPushConfig(dst, c)
	}
	dst = jsonwrite.Member(dst, `{"name":`, "tasks/"+c.TaskID+"/pushNotificationConfigs/"+c.ID)
	dst = append(dst, `,"pushNotificationConfig":`...)
	dst = v.appendPushConfig(dst, c)
	return append(dst, '}')
}

// AppendPushPage appends the response to a request for push configurations.
func (v *Version) AppendPushPage(dst []byte, page *a2a.PushPage) []byte {
	dst = jsonwrite.Array(append(dst, `{"configs":`...), page.Configs, v.AppendPush)
	dst = jsonwrite.Optional(dst, `,"nextPageToken":`, page.NextPageToken)
	return append(dst, '}')
}

func (v *Version) appendPushConfig(dst []byte, c *a2a.PushConfig) []byte {
	dst = jsonwrite.Member(dst, `{"url":`, c.URL)
	dst = jsonwrite.Optional(dst, `,"id":`, c.ID)
	if !v.ResourceNames {
		dst = jsonwrite.Optional(dst, `,"taskId":`, c.TaskID)
	}
	dst = jsonwrite.Optional(dst, `,"token":`, c.Token)
	if c.Scheme != "" {
		dst = jsonwrite.Member(dst, v.schemeBefore, c.Scheme)
		dst = append(dst, v.schemeAfter...)
		dst = jsonwrite.Optional(dst, `,"credentials":`, c.Credentials)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
