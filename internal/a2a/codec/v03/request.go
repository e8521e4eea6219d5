// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v03

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// AppendSend appends MessageSendParams, for a server of this version.
func AppendSend(dst []byte, r *a2a.SendRequest) []byte {
	dst = append(dst, `{"message":`...)
	dst = AppendMessage(dst, r.Message)
	// Up to 0.2.5, a configuration must have acceptedOutputModes.
	dst = jsonwrite.Array(append(dst, `,"configuration":{"acceptedOutputModes":`...), r.AcceptedOutputModes, jsonwrite.String)
	dst = jsonwrite.Bool(dst, `,"blocking":`, !r.ReturnImmediately)
	dst = AppendHistoryLength(dst, r.HistoryLength)
	if r.Push != nil {
		dst = append(dst, `,"pushNotificationConfig":`...)
		dst = AppendPushConfig(dst, r.Push, r.Push.ID)
	}
	dst = append(dst, '}')
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return append(dst, '}')
}

// AppendGet appends TaskQueryParams.
func AppendGet(dst []byte, r *a2a.GetRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = AppendHistoryLength(dst, r.HistoryLength)
	return append(dst, '}')
}

// AppendCancel appends TaskIdParams.
func AppendCancel(dst []byte, r *a2a.CancelRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return append(dst, '}')
}

// AppendSubscribe appends TaskIdParams.
func AppendSubscribe(dst []byte, r *a2a.SubscribeRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	return append(dst, '}')
}

// AppendPush appends a TaskPushNotificationConfig.
func AppendPush(dst []byte, c *a2a.PushConfig) []byte {
	return AppendTaskPush(dst, `{"taskId":`, c, c.ID)
}

// AppendPushPage appends an array of TaskPushNotificationConfig, because this version has
// no pages.
func AppendPushPage(dst []byte, page *a2a.PushPage) []byte {
	return jsonwrite.Array(dst, page.Configs, AppendPush)
}

// AppendHistoryLength appends a comma and the member historyLength. It appends nothing if n
// is nil.
func AppendHistoryLength(dst []byte, n *int) []byte {
	if n == nil {
		return dst
	}
	return jsonwrite.Int(dst, `,"historyLength":`, *n)
}

// AppendTaskPush appends a TaskPushNotificationConfig. before is the text up to the id of the
// task. id is the id of the configuration, "" in 0.1.
func AppendTaskPush(dst []byte, before string, c *a2a.PushConfig, id string) []byte {
	dst = jsonwrite.Member(dst, before, c.TaskID)
	dst = append(dst, `,"pushNotificationConfig":`...)
	dst = AppendPushConfig(dst, c, id)
	return append(dst, '}')
}

// AppendPushConfig appends a PushNotificationConfig with an id, "" in 0.1.
func AppendPushConfig(dst []byte, c *a2a.PushConfig, id string) []byte {
	dst = jsonwrite.Member(dst, `{"url":`, c.URL)
	dst = jsonwrite.Optional(dst, `,"id":`, id)
	dst = jsonwrite.Optional(dst, `,"token":`, c.Token)
	if c.Scheme != "" {
		dst = jsonwrite.Member(dst, `,"authentication":{"schemes":[`, c.Scheme)
		dst = append(dst, ']')
		dst = jsonwrite.Optional(dst, `,"credentials":`, c.Credentials)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
