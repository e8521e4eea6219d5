// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/streamend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbv03"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbv10"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// dialect is how one version of the protocol speaks gRPC.
type dialect struct {
	// label names the version in metrics.
	label string
	id    a2a.Dialect
	form  card.Form
	// cardMessage is the full name of the message of a card.
	cardMessage string

	decodeSend      func([]byte) (*a2a.SendRequest, error)
	decodeGet       func([]byte) (*a2a.GetRequest, error)
	decodeCancel    func([]byte) (*a2a.CancelRequest, error)
	decodeSubscribe func([]byte) (*a2a.SubscribeRequest, error)
	decodeSetPush   func([]byte) (*a2a.SetPushRequest, error)
	decodePush      func([]byte) (*a2a.PushRequest, error)
	decodeListPush  func([]byte) (*a2a.ListPushRequest, error)
	decodeCard      func([]byte) (tenant string, err error)
	appendTask      func([]byte, *a2a.Task) []byte
	appendEvent     func([]byte, *a2a.Event) []byte
	appendPush      func([]byte, *a2a.PushConfig) []byte
	appendPushPage  func([]byte, *a2a.PushPage) []byte

	// versions are those that a call may ask for to the letter.
	versions []version.Version
	// followsTerminal lets a client subscribe to a task that has ended: it gets
	// the task. Otherwise that is an error.
	followsTerminal bool
	// lacksExtension is the reason that is told when a required extension was
	// not asked for.
	lacksExtension a2a.Reason
	// closesSend and closesSubscribe say which event ends a stream.
	closesSend, closesSubscribe func(*a2a.Event) bool
}

var dialectV03 = &dialect{
	label:           "0.3",
	id:              a2a.DialectV03GRPC,
	form:            card.FormV03Proto,
	cardMessage:     "a2a.v1.AgentCard",
	decodeSend:      pbv03.DecodeSend,
	decodeGet:       pbv03.DecodeGet,
	decodeCancel:    pbv03.DecodeCancel,
	decodeSubscribe: pbv03.DecodeSubscribe,
	decodeSetPush:   pbv03.DecodeSetPush,
	decodePush:      pbv03.DecodePush,
	decodeListPush:  pbv03.DecodeListPush,
	decodeCard:      func([]byte) (string, error) { return "", nil },
	appendTask:      pbv03.AppendTask,
	appendEvent:     pbv03.AppendEvent,
	appendPush:      pbv03.AppendPush,
	appendPushPage:  pbv03.AppendPushPage,
	versions:        []version.Version{{}, version.V02, version.V03},
	followsTerminal: true,
	lacksExtension:  a2a.ReasonInvalidRequest,
	closesSend:      streamend.Final,
	closesSubscribe: streamend.Final,
}

var dialectV10 = &dialect{
	label:           "1.0",
	id:              a2a.DialectV10GRPC,
	form:            card.FormV10,
	cardMessage:     "lf.a2a.v1.AgentCard",
	decodeSend:      pbv10.DecodeSend,
	decodeGet:       pbv10.DecodeGet,
	decodeCancel:    pbv10.DecodeCancel,
	decodeSubscribe: pbv10.DecodeSubscribe,
	decodeSetPush:   pbv10.DecodeSetPush,
	decodePush:      pbv10.DecodePush,
	decodeListPush:  pbv10.DecodeListPush,
	decodeCard:      pbv10.DecodeExtendedCard,
	appendTask:      pbv10.AppendTask,
	appendEvent:     pbv10.AppendEvent,
	appendPush:      pbv10.AppendPush,
	appendPushPage:  pbv10.AppendPushPage,
	versions:        []version.Version{version.V10},
	lacksExtension:  a2a.ReasonExtensionRequired,
	closesSend:      streamend.Turn,
	closesSubscribe: streamend.Task,
}

// serves reports whether a call that asks for a version may use the service.
// Unless strict, a client of 1.0 that talks 0.3 for compatibility may keep its
// version, and one that names none may use 1.0: by the letter that means 0.3,
// which has no such service.
func (d *dialect) serves(v version.Version, strict bool) bool {
	lenient := v == version.V10 && d == dialectV03 || v == version.Version{} && d == dialectV10
	return slices.Contains(d.versions, v) || lenient && !strict
}
