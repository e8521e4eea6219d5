// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/agentevents"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v01"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// operation is a method of the protocol.
type operation uint8

// The operations. Only the dialects of 1.0 have opList and the operations on push configurations.
const (
	opSend operation = iota
	opStream
	opGet
	opCancel
	opSubscribe
	opList
	opCreatePush
	opGetPush
	opListPush
	opDeletePush
	operations
)

// Dialect is one version of the protocol over one binding.
type Dialect struct {
	Version version.Version
	Binding card.Binding
	// methods are the names of the operations in JSON-RPC, "" for operations that the version does not have.
	methods [operations]string
	// prefix is the beginning of the paths of HTTP+JSON.
	prefix string
	// extensionsHeader is the header that activates extensions, "" if the version has none.
	extensionsHeader string

	// appendSend appends the parameters of JSON-RPC, or the body of HTTP+JSON. appendGet, appendCancel
	// and appendSubscribe append the parameters of JSON-RPC, and are nil for HTTP+JSON.
	appendSend      func([]byte, *a2a.SendRequest) []byte
	appendGet       func([]byte, *a2a.GetRequest) []byte
	appendCancel    func([]byte, *a2a.CancelRequest) []byte
	appendSubscribe func([]byte, *a2a.SubscribeRequest) []byte
	// decodeResponse decodes the response to a message, decodeEvent decodes an event of a stream, and decodeTask decodes the
	// response to a request for a task.
	decodeResponse func([]byte) (a2a.Event, error)
	decodeEvent    func([]byte) (a2a.Event, error)
	decodeTask     func([]byte) (*a2a.Task, error)

	// NamesTasks is true if clients choose the ids of their tasks.
	NamesTasks bool
	// Resubscribes is true if a subscription to a running task does not change the task. Before 1.0, a2a-sdk appends each
	// artifact chunk to the stored task once for each subscriber, so that polls return the chunk more than once.
	Resubscribes bool
}

// dialects are all dialects, in no particular order.
var dialects = []*Dialect{RPCV10, RESTV10, RPCV03, RESTV03, RPCV01}

// DialectOf returns the dialect of a version over a binding, nil if the client has none. If the binding is "", it
// returns a dialect of the version over any binding.
func DialectOf(v version.Version, binding card.Binding) *Dialect {
	for _, d := range dialects {
		if d.Supports(v) && (binding == "" || d.Binding == binding) {
			return d
		}
	}
	return nil
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
		Version: version.V10, Binding: card.JSONRPC, extensionsHeader: "A2A-Extensions",
		methods: [operations]string{
			"SendMessage", "SendStreamingMessage", "GetTask", "CancelTask", "SubscribeToTask", "ListTasks",
			"CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig",
		},
		appendSend: protojson.V10.AppendSend, appendGet: protojson.V10.AppendGet, appendCancel: protojson.V10.AppendCancel, appendSubscribe: protojson.V10.AppendSubscribe,
		decodeResponse: protojson.V10.DecodeEvent, decodeEvent: protojson.V10.DecodeEvent, decodeTask: protojson.V10.DecodeTask,
		Resubscribes: true,
	}
	RESTV10 = &Dialect{
		Version: version.V10, Binding: card.HTTPJSON, extensionsHeader: "A2A-Extensions",
		appendSend:     protojson.V10.AppendSend,
		decodeResponse: protojson.V10.DecodeEvent, decodeEvent: protojson.V10.DecodeEvent, decodeTask: protojson.V10.DecodeTask,
		Resubscribes: true,
	}
	RPCV03 = &Dialect{
		Version: version.V03, Binding: card.JSONRPC, extensionsHeader: "X-A2A-Extensions",
		methods:    [operations]string{"message/send", "message/stream", "tasks/get", "tasks/cancel", "tasks/resubscribe"},
		appendSend: v03.AppendSend, appendGet: v03.AppendGet, appendCancel: v03.AppendCancel, appendSubscribe: v03.AppendSubscribe,
		decodeResponse: v03.DecodeEvent, decodeEvent: v03.DecodeEvent, decodeTask: v03.DecodeTask,
	}
	RESTV03 = &Dialect{
		Version: version.V03, Binding: card.HTTPJSON, extensionsHeader: "X-A2A-Extensions", prefix: "/v1",
		appendSend:     protojson.V03.AppendSend,
		decodeResponse: protojson.V03.DecodeEvent, decodeEvent: protojson.V03.DecodeEvent, decodeTask: protojson.V03.DecodeTask,
	}
	RPCV01 = &Dialect{
		Version: version.V01, Binding: card.JSONRPC,
		methods:    [operations]string{"tasks/send", "tasks/sendSubscribe", "tasks/get", "tasks/cancel", "tasks/resubscribe"},
		appendSend: v01.AppendSend, appendGet: v01.AppendGet, appendCancel: v01.AppendCancel, appendSubscribe: v01.AppendSubscribe,
		decodeResponse: func(text []byte) (a2a.Event, error) {
			t, err := v01.DecodeTask(text)
			return a2a.Event{Task: t}, err
		},
		decodeEvent: v01.DecodeEvent, decodeTask: v01.DecodeTask,
		NamesTasks: true,
	}
)

// decode decodes the content of an answer to an operation, or of an event of its stream, in the version of the dialect.
// If that fails, it also accepts forms of other versions, because servers mix them (agentevents.DecodeEvent).
func (d *Dialect) decode(op operation, isStream bool, content []byte) (a2a.Event, error) {
	var e a2a.Event
	var err error
	switch {
	case isStream:
		e, err = d.decodeEvent(content)
	case op == opGet || op == opCancel || op == opList:
		e.Task, err = d.decodeTask(content)
	default:
		e, err = d.decodeResponse(content)
	}
	if err == nil {
		err = agentevents.Check(&e)
	}
	switch {
	case err == nil:
		return e, nil
	case jsonread.IsUnreadable(err):
		return a2a.Event{}, err
	}
	other, otherErr := agentevents.DecodeEvent(content, d.Version == version.V10)
	if otherErr == nil {
		if !isStream && (op == opGet || op == opCancel || op == opList) && other.Task == nil {
			return a2a.Event{}, agentevents.ErrNoTask
		}
		return other, nil
	}
	_, malformed := errors.AsType[*a2a.Error](err)
	if _, better := errors.AsType[*a2a.Error](otherErr); better && !malformed {
		err = otherErr
	}
	return a2a.Event{}, err
}
