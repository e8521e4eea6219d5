// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v10

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// DecodeCancelBody reads the body of a CancelTaskRequest over REST, whose task
// is named by the path; the body may name it again.
func DecodeCancelBody(body []byte) (*a2a.CancelRequest, error) {
	p, d := readTaskParams(body)
	return &a2a.CancelRequest{Tenant: p.tenant, TaskID: p.id, Metadata: p.metadata}, d.End()
}

// DecodeSubscribeBody is DecodeCancelBody for a SubscribeToTaskRequest.
func DecodeSubscribeBody(body []byte) (*a2a.SubscribeRequest, error) {
	p, d := readTaskParams(body)
	return &a2a.SubscribeRequest{Tenant: p.tenant, TaskID: p.id, HistoryLength: p.historyLength}, d.End()
}

// DecodeSetPushBody reads a TaskPushNotificationConfig over REST, whose task is
// named by the path; the body may name it again.
func DecodeSetPushBody(body []byte) (*a2a.SetPushRequest, error) {
	r, d := readSetPush(body)
	d.required("url", r.Config.URL != "")
	return r, d.End()
}
