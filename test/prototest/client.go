// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package prototest

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protobuf"
)

// Client encodes the requests that protobuf decodes.
type Client struct{ *protobuf.Version }

// tenant appends the tenant, which 1.0 has as its first field, and returns the number of
// the next field.
func (c Client) tenant(dst []byte, tenant string) ([]byte, pbwire.Number) {
	if c.Version == protobuf.V03 {
		return dst, 1
	}
	return pbwire.AppendString(dst, 1, tenant), 2
}

// AppendSend appends the content of a SendMessageRequest. It always writes a configuration,
// so that blocking is explicit.
func (c Client) AppendSend(dst []byte, s *a2a.SendRequest) []byte {
	dst, number := c.tenant(dst, s.Tenant)
	// AppendEvent writes the message as field 2, with a tag of one byte. The tag for number
	// replaces this byte.
	at := len(dst)
	dst = c.AppendEvent(dst, &a2a.Event{Message: s.Message})
	dst[at] = byte(number<<3 | 2)
	dst, at = pbwire.Begin(dst, number+1)
	dst = pbwire.AppendStrings(dst, 1, s.AcceptedOutputModes)
	if s.Push != nil {
		dst = append(dst, c.push(s.Push)...)
	}
	dst = c.historyLength(dst, 3, s.HistoryLength)
	dst = pbwire.AppendBool(dst, 4, s.ReturnImmediately != (c.Version == protobuf.V03))
	dst = pbwire.End(dst, at)
	return pbwire.AppendObject(dst, number+2, s.Metadata)
}

// push returns the push configuration of a message, as field 2 of the
// SendMessageConfiguration. In 0.3, a TaskPushNotificationConfig also has the push
// configuration in field 2, after its name in field 1. push therefore encodes this message
// and removes the name.
func (c Client) push(p *a2a.PushConfig) []byte {
	if c.Version == protobuf.V10 {
		return pbwire.AppendBytes(nil, 2, c.AppendPush(nil, p))
	}
	named := pbwire.AppendString(nil, 1, "tasks/"+p.TaskID+"/pushNotificationConfigs/"+p.ID)
	return c.AppendPush(nil, p)[len(named):]
}

// historyLength encodes the length of the history. In 0.3, 0 requests the whole history,
// so a client that needs none requests one message.
func (c Client) historyLength(dst []byte, number pbwire.Number, n *int) []byte {
	if n != nil && c.Version == protobuf.V03 {
		return pbwire.AppendInt(dst, number, max(*n, 1))
	}
	return pbwire.AppendOptional(dst, number, n)
}

// task appends the id of a task, which is a resource name in 0.3.
func (c Client) task(dst []byte, tenant, id string) ([]byte, pbwire.Number) {
	dst, number := c.tenant(dst, tenant)
	if c.Version == protobuf.V03 {
		id = "tasks/" + id
	}
	return pbwire.AppendString(dst, number, id), number + 1
}

// AppendGet appends the content of a GetTaskRequest.
func (c Client) AppendGet(dst []byte, g *a2a.GetRequest) []byte {
	dst, number := c.task(dst, g.Tenant, g.TaskID)
	return c.historyLength(dst, number, g.HistoryLength)
}

// AppendCancel appends the content of a CancelTaskRequest.
func (c Client) AppendCancel(dst []byte, r *a2a.CancelRequest) []byte {
	dst, number := c.task(dst, r.Tenant, r.TaskID)
	if c.Version == protobuf.V03 {
		return dst
	}
	return pbwire.AppendObject(dst, number, r.Metadata)
}

// AppendSubscribe appends the content of a request to subscribe.
func (c Client) AppendSubscribe(dst []byte, s *a2a.SubscribeRequest) []byte {
	dst, _ = c.task(dst, s.Tenant, s.TaskID)
	return dst
}
