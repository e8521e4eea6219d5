// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v01"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// operation is a method of the protocol.
type operation uint8

const (
	opSend operation = iota
	opStream
	opGet
	opCancel
	opSubscribe
	operations
)

// dialect is one version of the protocol over one binding.
type dialect struct {
	version     version.Version
	bindingName card.Binding
	binding     binding
	// methods are the names of the operations in JSON-RPC.
	methods [operations]string
	// prefix is the beginning of the paths of HTTP+JSON.
	prefix string

	appendSend      func([]byte, *a2a.SendRequest) []byte
	appendGet       func([]byte, *a2a.GetRequest) []byte
	appendCancel    func([]byte, *a2a.CancelRequest) []byte
	appendSubscribe func([]byte, *a2a.SubscribeRequest) []byte
	// decodeResponse decodes the response to a message, decodeEvent decodes an event of a
	// stream, and decodeTask decodes the response to a request for a task.
	decodeResponse func([]byte) (a2a.Event, error)
	decodeEvent    func([]byte) (a2a.Event, error)
	decodeTask     func([]byte) (*a2a.Task, error)

	// extensionsHeader is the header with the extensions that a client requests. It is ""
	// if the version has none.
	extensionsHeader string
	// namesTasks is true if clients choose the ids of their tasks.
	namesTasks bool
	// resubscribes is true if a subscription to a running task does not change the task.
	// Before 1.0, a2a-sdk appends each artifact chunk to the stored task once for each
	// subscriber, so that polls return the chunk more than once.
	resubscribes bool
}

var (
	rpcV10 = &dialect{
		version: version.V10, bindingName: card.JSONRPC, binding: jsonRPC{},
		methods:    [operations]string{"SendMessage", "SendStreamingMessage", "GetTask", "CancelTask", "SubscribeToTask"},
		appendSend: protojson.V10.AppendSend, appendGet: protojson.V10.AppendGet, appendCancel: protojson.V10.AppendCancel, appendSubscribe: protojson.V10.AppendSubscribe,
		decodeResponse: protojson.V10.DecodeEvent, decodeEvent: protojson.V10.DecodeEvent, decodeTask: protojson.V10.DecodeTask,
		extensionsHeader: "A2A-Extensions", resubscribes: true,
	}
	restV10 = &dialect{
		version: version.V10, bindingName: card.HTTPJSON, binding: httpJSON{},
		appendSend: protojson.V10.AppendSend, appendCancel: protojson.V10.AppendCancel,
		decodeResponse: protojson.V10.DecodeEvent, decodeEvent: protojson.V10.DecodeEvent, decodeTask: protojson.V10.DecodeTask,
		extensionsHeader: "A2A-Extensions", resubscribes: true,
	}
	rpcV03 = &dialect{
		version: version.V03, bindingName: card.JSONRPC, binding: jsonRPC{},
		methods:    [operations]string{"message/send", "message/stream", "tasks/get", "tasks/cancel", "tasks/resubscribe"},
		appendSend: v03.AppendSend, appendGet: v03.AppendGet, appendCancel: v03.AppendCancel, appendSubscribe: v03.AppendSubscribe,
		decodeResponse: v03.DecodeEvent, decodeEvent: v03.DecodeEvent, decodeTask: v03.DecodeTask,
		extensionsHeader: "X-A2A-Extensions",
	}
	restV03 = &dialect{
		version: version.V03, bindingName: card.HTTPJSON, binding: httpJSON{}, prefix: "/v1",
		appendSend:     protojson.V03.AppendSend,
		decodeResponse: protojson.V03.DecodeEvent, decodeEvent: protojson.V03.DecodeEvent, decodeTask: protojson.V03.DecodeTask,
		extensionsHeader: "X-A2A-Extensions",
	}
	rpcV01 = &dialect{
		version: version.V01, bindingName: card.JSONRPC, binding: jsonRPC{},
		methods:    [operations]string{"tasks/send", "tasks/sendSubscribe", "tasks/get", "tasks/cancel", "tasks/resubscribe"},
		appendSend: v01.AppendSend, appendGet: v01.AppendGet, appendCancel: v01.AppendCancel, appendSubscribe: v01.AppendSubscribe,
		decodeResponse: decodeTaskEventV01, decodeEvent: v01.DecodeEvent, decodeTask: v01.DecodeTask,
		namesTasks: true,
	}
)

// preferred are the supported dialects in the order of preference.
var preferred = []*dialect{rpcV10, restV10, rpcV03, restV03, rpcV01}

// decodeTaskEventV01 decodes the response to a message in 0.1.
func decodeTaskEventV01(text []byte) (a2a.Event, error) {
	t, err := v01.DecodeTask(text)
	return a2a.Event{Task: t}, err
}

// supports reports whether the dialect can be used with an agent of a version. 0.2 uses
// the dialect of 0.3.
func (d *dialect) supports(v version.Version) bool {
	if v == version.V02 {
		v = version.V03
	}
	return d.version == v
}
