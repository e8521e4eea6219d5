// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/streamend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/kindrest"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// dialect describes the use of REST in one protocol version.
type dialect struct {
	// label names the version in metrics.
	label string
	id    a2a.Dialect

	decodeSend      func([]byte) (*a2a.SendRequest, error)
	decodeCancel    func([]byte) (*a2a.CancelRequest, error)
	decodeSubscribe func([]byte) (*a2a.SubscribeRequest, error)
	decodeSetPush   func([]byte) (*a2a.SetPushRequest, error)
	appendAnswer    func([]byte, *a2a.Event) []byte
	appendEvent     func([]byte, *a2a.Event) []byte
	appendTask      func([]byte, *a2a.Task) []byte
	appendTaskPage  func([]byte, *a2a.TaskPage) []byte
	appendPush      func([]byte, *a2a.PushConfig) []byte
	appendPushPage  func([]byte, *a2a.PushPage) []byte

	// versions are the versions whose clients use the paths of the dialect.
	versions []version.Version
	// extensionsHeader is the header that lists activated extensions.
	extensionsHeader string
	// cardForm is the form of the extended card.
	cardForm card.Form
	// mediaType is the media type that a client may accept instead of
	// application/json; "" for none.
	mediaType string
	// legacy is true if errors have the members of JSON-RPC in addition to the members of
	// 1.0.
	legacy bool
	// zeroHistory is true if a history length of 0 means the whole history.
	zeroHistory bool
	// followsTerminal is true if a client that subscribes to a task that has ended receives
	// the task and the event that last returns, and false if it receives an error.
	followsTerminal bool
	last            func(*a2a.Event) *a2a.Event
	// closesSend reports whether an event ends the stream of a message, and closesSubscribe
	// whether it ends the stream of a subscription.
	closesSend, closesSubscribe func(*a2a.Event) bool
}

var dialectV10 = &dialect{
	label:            "1.0",
	id:               a2a.DialectV10,
	decodeSend:       protojson.V10.DecodeSend,
	decodeCancel:     protojson.V10.DecodeCancelBody,
	decodeSubscribe:  protojson.V10.DecodeSubscribeBody,
	decodeSetPush:    protojson.V10.DecodeSetPushBody,
	appendAnswer:     protojson.V10.AppendEvent,
	appendEvent:      protojson.V10.AppendEvent,
	appendTask:       protojson.V10.AppendTask,
	appendTaskPage:   protojson.V10.AppendTaskPage,
	appendPush:       protojson.V10.AppendPush,
	appendPushPage:   protojson.V10.AppendPushPage,
	versions:         []version.Version{version.V10},
	extensionsHeader: "A2A-Extensions",
	cardForm:         card.FormV10,
	mediaType:        "application/a2a+json",
	last:             streamend.NoEvent,
	closesSend:       streamend.EndsTurn,
	closesSubscribe:  streamend.EndsTask,
}

var dialectV03 = &dialect{
	label:            "0.3",
	id:               a2a.DialectV03Proto,
	decodeSend:       protojson.V03.DecodeSend,
	decodeCancel:     protojson.V03.DecodeCancelBody,
	decodeSubscribe:  protojson.V03.DecodeSubscribeBody,
	decodeSetPush:    protojson.V03.DecodeSetPushBody,
	appendAnswer:     protojson.V03.AppendEvent,
	appendEvent:      protojson.V03.AppendEvent,
	appendTask:       protojson.V03.AppendTask,
	appendTaskPage:   protojson.V03.AppendTaskPage,
	appendPush:       protojson.V03.AppendPush,
	appendPushPage:   protojson.V03.AppendPushPage,
	versions:         []version.Version{version.V02, version.V03},
	extensionsHeader: "X-A2A-Extensions",
	cardForm:         card.FormV03,
	legacy:           true,
	zeroHistory:      true,
	followsTerminal:  true,
	last:             streamend.NoEvent,
	closesSend:       streamend.IsFinal,
	closesSubscribe:  streamend.IsFinal,
}

// dialectKind is the dialect whose objects have a member kind, which one project of 0.3
// sends.
var dialectKind = func() *dialect {
	d := *dialectV03
	d.id = a2a.DialectKindREST
	d.decodeSend = kindrest.DecodeSend
	d.appendAnswer, d.appendEvent, d.appendTask = kindrest.AppendAnswer, kindrest.AppendEvent, kindrest.AppendTask
	d.last = streamend.FinalStatus
	return &d
}()
