// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// AppendSend appends a SendMessageRequest, for a server of this version.
func (v *Version) AppendSend(dst []byte, r *a2a.SendRequest) []byte {
	dst = append(dst, `{"message":`...)
	dst = v.AppendMessage(dst, r.Message)
	if v.Blocking {
		dst = jsonwrite.Bool(dst, `,"configuration":{"blocking":`, !r.ReturnImmediately)
	} else {
		dst = jsonwrite.Bool(dst, `,"configuration":{"returnImmediately":`, r.ReturnImmediately)
	}
	dst = jsonwrite.Strings(dst, `,"acceptedOutputModes":`, r.AcceptedOutputModes)
	dst = v.appendHistoryLength(dst, r.HistoryLength)
	if r.Push != nil {
		dst = append(dst, v.pushMember...)
		dst = v.appendPushConfig(dst, r.Push)
	}
	dst = append(dst, '}')
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return v.endRequest(dst, r.Tenant)
}

// AppendGet appends a GetTaskRequest.
func (v *Version) AppendGet(dst []byte, r *a2a.GetRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = v.appendHistoryLength(dst, r.HistoryLength)
	return v.endRequest(dst, r.Tenant)
}

// AppendCancel appends a CancelTaskRequest.
func (v *Version) AppendCancel(dst []byte, r *a2a.CancelRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return v.endRequest(dst, r.Tenant)
}

// AppendSubscribe appends a SubscribeToTaskRequest.
func (v *Version) AppendSubscribe(dst []byte, r *a2a.SubscribeRequest) []byte {
	return v.endRequest(jsonwrite.Member(dst, `{"id":`, r.TaskID), r.Tenant)
}

// appendHistoryLength appends the member historyLength, unless n is nil. In a version
// without presence, it also omits a length of 0: there, 0 and an absent member both mean the
// whole history.
func (v *Version) appendHistoryLength(dst []byte, n *int) []byte {
	if n == nil || *n <= 0 && !v.Presence {
		return dst
	}
	return jsonwrite.Int(dst, `,"historyLength":`, *n)
}

func (v *Version) endRequest(dst []byte, tenant string) []byte {
	if v.tenant {
		dst = jsonwrite.Optional(dst, `,"tenant":`, tenant)
	}
	return append(dst, '}')
}
