// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clientdialect has the codecs by which a client calls agents: a Dialect for each version of
// the protocol over each binding.
package clientdialect

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v01"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// Operation is a method of the protocol.
type Operation uint8

// The operations. Only the dialects of 1.0 have List and the operations on push
// configurations.
const (
	Send Operation = iota
	Stream
	Get
	Cancel
	Subscribe
	List
	CreatePush
	GetPush
	ListPush
	DeletePush
	operations
)

// Dialect is one version of the protocol over one binding.
type Dialect struct {
	Version version.Version
	Binding card.Binding
	// Methods are the names of the operations in JSON-RPC, "" for operations that the version does not have.
	Methods [operations]string
	// Prefix is the beginning of the paths of HTTP+JSON.
	Prefix string

	// AppendSend appends the parameters of JSON-RPC, or the body of HTTP+JSON. AppendGet, AppendCancel
	// and AppendSubscribe append the parameters of JSON-RPC, and are nil for HTTP+JSON.
	AppendSend      func([]byte, *a2a.SendRequest) []byte
	AppendGet       func([]byte, *a2a.GetRequest) []byte
	AppendCancel    func([]byte, *a2a.CancelRequest) []byte
	AppendSubscribe func([]byte, *a2a.SubscribeRequest) []byte
	// DecodeResponse decodes the response to a message, DecodeEvent decodes an event of a stream, and DecodeTask decodes the
	// response to a request for a task.
	DecodeResponse func([]byte) (a2a.Event, error)
	DecodeEvent    func([]byte) (a2a.Event, error)
	DecodeTask     func([]byte) (*a2a.Task, error)

	// NamesTasks is true if clients choose the ids of their tasks.
	NamesTasks bool
	// Resubscribes is true if a subscription to a running task does not change the task. Before 1.0, a2a-sdk appends each
	// artifact chunk to the stored task once for each subscriber, so that polls return the chunk more than once.
	Resubscribes bool
}

// Supports reports whether the dialect can be used with an agent of a version. 0.2 uses the dialect of 0.3.
func (d *Dialect) Supports(v version.Version) bool {
	if v == version.V02 {
		v = version.V03
	}
	return d.Version == v
}

// The dialects.
var (
	RPCV10 = &Dialect{
		Version: version.V10, Binding: card.JSONRPC,
		Methods: [operations]string{
			"SendMessage", "SendStreamingMessage", "GetTask", "CancelTask", "SubscribeToTask", "ListTasks",
			"CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig",
		},
		AppendSend: protojson.V10.AppendSend, AppendGet: protojson.V10.AppendGet, AppendCancel: protojson.V10.AppendCancel, AppendSubscribe: protojson.V10.AppendSubscribe,
		DecodeResponse: protojson.V10.DecodeEvent, DecodeEvent: protojson.V10.DecodeEvent, DecodeTask: protojson.V10.DecodeTask,
		Resubscribes: true,
	}
	RESTV10 = &Dialect{
		Version: version.V10, Binding: card.HTTPJSON,
		AppendSend:     protojson.V10.AppendSend,
		DecodeResponse: protojson.V10.DecodeEvent, DecodeEvent: protojson.V10.DecodeEvent, DecodeTask: protojson.V10.DecodeTask,
		Resubscribes: true,
	}
	RPCV03 = &Dialect{
		Version: version.V03, Binding: card.JSONRPC,
		Methods:    [operations]string{"message/send", "message/stream", "tasks/get", "tasks/cancel", "tasks/resubscribe"},
		AppendSend: v03.AppendSend, AppendGet: v03.AppendGet, AppendCancel: v03.AppendCancel, AppendSubscribe: v03.AppendSubscribe,
		DecodeResponse: v03.DecodeEvent, DecodeEvent: v03.DecodeEvent, DecodeTask: v03.DecodeTask,
	}
	RESTV03 = &Dialect{
		Version: version.V03, Binding: card.HTTPJSON, Prefix: "/v1",
		AppendSend:     protojson.V03.AppendSend,
		DecodeResponse: protojson.V03.DecodeEvent, DecodeEvent: protojson.V03.DecodeEvent, DecodeTask: protojson.V03.DecodeTask,
	}
	RPCV01 = &Dialect{
		Version: version.V01, Binding: card.JSONRPC,
		Methods:    [operations]string{"tasks/send", "tasks/sendSubscribe", "tasks/get", "tasks/cancel", "tasks/resubscribe"},
		AppendSend: v01.AppendSend, AppendGet: v01.AppendGet, AppendCancel: v01.AppendCancel, AppendSubscribe: v01.AppendSubscribe,
		DecodeResponse: func(text []byte) (a2a.Event, error) {
			t, err := v01.DecodeTask(text)
			return a2a.Event{Task: t}, err
		},
		DecodeEvent: v01.DecodeEvent, DecodeTask: v01.DecodeTask,
		NamesTasks: true,
	}
)
