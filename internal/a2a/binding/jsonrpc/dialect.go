// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v10"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// dialect is how one version of the protocol speaks JSON-RPC.
type dialect struct {
	// label names the version in metrics.
	label string
	id    a2a.Dialect

	decodeSend      func([]byte) (*a2a.SendRequest, error)
	decodeGet       func([]byte) (*a2a.GetRequest, error)
	decodeCancel    func([]byte) (*a2a.CancelRequest, error)
	decodeSubscribe func([]byte) (*a2a.SubscribeRequest, error)
	appendTask      func([]byte, *a2a.Task) []byte
	appendEvent     func([]byte, *a2a.Event) []byte

	// serves reports whether a request that asks for a version may use the
	// methods of this dialect.
	serves func(version.Version) bool
	// extensionsHeader lists the extensions that a client activates.
	extensionsHeader string
	// detailed errors have an array of details.
	detailed bool
	// earlyErrorInStream tells an error that precedes the first event in a
	// stream even to clients that do not say that they want one.
	earlyErrorInStream bool
	// followsTerminal lets a client subscribe to a task that has ended: it gets
	// the task and a last event. Otherwise that is an error.
	followsTerminal bool
	// closesSend and closesSubscribe say which event ends a stream.
	closesSend, closesSubscribe func(*a2a.Event) bool
}

var dialectV03 = &dialect{
	label:           "0.3",
	id:              a2a.DialectV03,
	decodeSend:      v03.DecodeSend,
	decodeGet:       v03.DecodeGet,
	decodeCancel:    v03.DecodeCancel,
	decodeSubscribe: v03.DecodeSubscribe,
	appendTask:      v03.AppendTask,
	appendEvent:     v03.AppendEvent,
	// A client of 1.0 that talks 0.3 for compatibility may keep its header.
	serves: func(v version.Version) bool {
		return v == version.Version{} || v == version.V02 || v == version.V03 || v == version.V10
	},
	extensionsHeader:   "X-A2A-Extensions",
	earlyErrorInStream: true,
	followsTerminal:    true,
	closesSend:         finalV03,
	closesSubscribe:    finalV03,
}

var dialectV10 = &dialect{
	label:           "1.0",
	id:              a2a.DialectV10,
	decodeSend:      v10.DecodeSend,
	decodeGet:       v10.DecodeGet,
	decodeCancel:    v10.DecodeCancel,
	decodeSubscribe: v10.DecodeSubscribe,
	appendTask:      v10.AppendTask,
	appendEvent:     v10.AppendEvent,
	// Without a header 0.3 is meant by the letter, but it has no such methods.
	serves: func(v version.Version) bool {
		return v == version.Version{} || v == version.V10
	},
	extensionsHeader: "A2A-Extensions",
	detailed:         true,
	closesSend: func(e *a2a.Event) bool {
		return e.Status != nil &&
			(e.Status.Status.State.Terminal() || e.Status.Status.State == a2a.StateInputRequired)
	},
	closesSubscribe: func(e *a2a.Event) bool {
		return e.Status != nil && e.Status.Status.State.Terminal()
	},
}

// finalV03 is the rule of 0.2 and 0.3: final closes a stream, whichever it is.
func finalV03(e *a2a.Event) bool {
	return e.Status != nil && v03.Final(e.Status)
}

// finalAfter is what a client of a followsTerminal dialect is sent behind a
// task that has ended, since only a final event tells it so.
func finalAfter(last *a2a.Event) *a2a.Event {
	t := last.Task
	if t == nil || !t.Status.State.Terminal() {
		return nil
	}
	return &a2a.Event{Status: &a2a.StatusUpdate{TaskID: t.ID, ContextID: t.ContextID, Status: t.Status}}
}

func nothingAfter(*a2a.Event) *a2a.Event { return nil }
