// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/streamend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v01"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// dialect is how one version of the protocol speaks JSON-RPC. Codecs of what
// its methods do not do are nil.
type dialect struct {
	// label names the version in metrics.
	label string
	id    a2a.Dialect
	codec

	// versions are those whose clients use its methods.
	versions []version.Version
	// extensionsHeader lists the extensions that a client activates.
	extensionsHeader string
	// cardForm is that of the card for known callers.
	cardForm card.Form
	// detailed errors have an array of details.
	detailed bool
	// history is what a client gets that asks for no length; nil for all of it.
	history *int
	// deleted is the result of a deletion.
	deleted string

	// earlyErrorInStream tells an error that precedes the first event in a
	// stream even to clients that do not say that they want one.
	earlyErrorInStream bool
	// plainStreams hold nothing but data, unless a client shows that it can read
	// more.
	plainStreams bool
	// open turns the snapshot that a stream begins with into what the client is
	// sent in its place; nil to send it as it is.
	open func(snapshot *a2a.Record, subscribed bool) []*a2a.Record
	// followsTerminal lets a client subscribe to a task that has ended: it gets
	// the task and a last event. Otherwise that is an error.
	followsTerminal bool
	// closesSend and closesSubscribe say which event ends a stream.
	closesSend, closesSubscribe func(*a2a.Event) bool
}

// codec reads params and writes results.
type codec struct {
	decodeSend       func([]byte) (*a2a.SendRequest, error)
	decodeGet        func([]byte) (*a2a.GetRequest, error)
	decodeList       func([]byte) (*a2a.ListRequest, error)
	decodeCancel     func([]byte) (*a2a.CancelRequest, error)
	decodeSubscribe  func([]byte) (*a2a.SubscribeRequest, error)
	decodeSetPush    func([]byte) (*a2a.SetPushRequest, error)
	decodeGetPush    func([]byte) (*a2a.PushRequest, error)
	decodeListPush   func([]byte) (*a2a.ListPushRequest, error)
	decodeDeletePush func([]byte) (*a2a.PushRequest, error)

	appendAnswer   func([]byte, *a2a.Event) []byte
	appendEvent    func([]byte, *a2a.Event) []byte
	appendTask     func([]byte, *a2a.Task) []byte
	appendTaskPage func([]byte, *a2a.TaskPage) []byte
	appendPush     func([]byte, *a2a.PushConfig) []byte
	appendPushPage func([]byte, *a2a.PushPage) []byte
}

var dialectV01 = &dialect{
	label: "0.1",
	id:    a2a.DialectV01,
	codec: codec{
		decodeSend:      v01.DecodeSend,
		decodeGet:       v01.DecodeGet,
		decodeCancel:    v01.DecodeCancel,
		decodeSubscribe: v01.DecodeSubscribe,
		decodeSetPush:   v01.DecodeSetPush,
		decodeGetPush:   v01.DecodeGetPush,
		appendAnswer:    v01.AppendAnswer,
		appendEvent:     v01.AppendEvent,
		appendTask:      v01.AppendTask,
		appendPush:      v01.AppendPush,
	},
	versions:           []version.Version{version.V01},
	extensionsHeader:   "X-A2A-Extensions",
	history:            new(0),
	earlyErrorInStream: true,
	plainStreams:       true,
	open:               openV01,
	followsTerminal:    true,
	closesSend:         streamend.IsFinal,
	closesSubscribe:    streamend.IsFinal,
}

var dialectV03 = &dialect{
	label: "0.3",
	id:    a2a.DialectV03,
	codec: codec{
		decodeSend:       v03.DecodeSend,
		decodeGet:        v03.DecodeGet,
		decodeList:       v03.DecodeList,
		decodeCancel:     v03.DecodeCancel,
		decodeSubscribe:  v03.DecodeSubscribe,
		decodeSetPush:    v03.DecodeSetPush,
		decodeGetPush:    v03.DecodeGetPush,
		decodeListPush:   v03.DecodeListPush,
		decodeDeletePush: v03.DecodeDeletePush,
		appendAnswer:     v03.AppendEvent,
		appendEvent:      v03.AppendEvent,
		appendTask:       v03.AppendTask,
		appendTaskPage:   v03.AppendTaskPage,
		appendPush:       v03.AppendPush,
		appendPushPage:   v03.AppendPushPage,
	},
	versions:           []version.Version{version.V02, version.V03},
	extensionsHeader:   "X-A2A-Extensions",
	cardForm:           card.FormV03,
	deleted:            "null",
	earlyErrorInStream: true,
	followsTerminal:    true,
	closesSend:         streamend.IsFinal,
	closesSubscribe:    streamend.IsFinal,
}

// dialectUnion answers a client of 0.1, 0.2 or 0.3 that does not say which it
// is, and asks for a task that was made by none of those.
var dialectUnion = func() *dialect {
	d := *dialectV03
	d.id = a2a.DialectUnion
	d.appendEvent, d.appendTask = v03.AppendUnionEvent, v03.AppendUnionTask
	return &d
}()

var dialectV10 = &dialect{
	label: "1.0",
	id:    a2a.DialectV10,
	codec: codec{
		decodeSend:       protojson.V10.DecodeSend,
		decodeGet:        protojson.V10.DecodeGet,
		decodeList:       protojson.V10.DecodeList,
		decodeCancel:     protojson.V10.DecodeCancel,
		decodeSubscribe:  protojson.V10.DecodeSubscribe,
		decodeSetPush:    protojson.V10.DecodeSetPush,
		decodeGetPush:    protojson.V10.DecodePush,
		decodeListPush:   protojson.V10.DecodeListPush,
		decodeDeletePush: protojson.V10.DecodePush,
		appendAnswer:     protojson.V10.AppendEvent,
		appendEvent:      protojson.V10.AppendEvent,
		appendTask:       protojson.V10.AppendTask,
		appendTaskPage:   protojson.V10.AppendTaskPage,
		appendPush:       protojson.V10.AppendPush,
		appendPushPage:   protojson.V10.AppendPushPage,
	},
	versions:         []version.Version{version.V10},
	extensionsHeader: "A2A-Extensions",
	cardForm:         card.FormV10,
	detailed:         true,
	deleted:          "{}",
	closesSend:       streamend.EndsTurn,
	closesSubscribe:  streamend.EndsTask,
}

// dialectOf is the one in which a client is answered that does not say what it
// speaks and asks for a task: the one in which the task was made, if that can
// be.
func dialectOf(t *a2a.Task) *dialect {
	switch t.Dialect {
	case a2a.DialectV01:
		return dialectV01
	case a2a.DialectV10, a2a.DialectV10GRPC:
		return dialectUnion
	default:
		return dialectV03
	}
}
