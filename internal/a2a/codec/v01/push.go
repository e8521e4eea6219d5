// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v01

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/legacyjson"
)

// DecodeSetPush reads a TaskPushNotificationConfig. The configuration has no id, because a
// task has one configuration.
func DecodeSetPush(params []byte) (*a2a.SetPushRequest, error) {
	return fromClient(params).SetPush(a2a.DialectV01, "id")
}

// DecodeGetPush reads TaskIdParams.
func DecodeGetPush(params []byte) (*a2a.PushRequest, error) {
	p, err := decodeTaskParams(params)
	return &a2a.PushRequest{TaskID: p.ID}, err
}

// AppendPush appends a TaskPushNotificationConfig.
func AppendPush(dst []byte, c *a2a.PushConfig) []byte {
	return legacyjson.AppendPush(dst, `{"id":`, c, "")
}
