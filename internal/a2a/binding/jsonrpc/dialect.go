// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsondecode"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	v01 "github.com/a2a-operator/a2a-operator/internal/a2a/codec/v01"
	v03 "github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// dialect describes the use of JSON-RPC in one protocol version. Functions of its codec that
// its methods do not need are nil.
type dialect struct {
	// label names the version in metrics.
	label string
	id    a2a.Dialect
	codec

	// versions are the versions whose clients use the dialect.
	versions []version.Version
	// extensionsHeader is the header that lists activated extensions.
	extensionsHeader string
	// lacksExtension is the reason of the error for a missing required extension.
	lacksExtension a2a.Reason
	// cardForm is the form of the extended card.
	cardForm card.Form
	// detailed is true if errors have an array of details.
	detailed bool
	// history is the default length of a task's history. nil means the whole history.
	history *int
	// deleted is the JSON result of a deletion.
	deleted string
	// ofTask returns the dialect of a response with a task. It is nil if the dialect of the
	// response is always this dialect.
	ofTask func(*a2a.Task) *dialect

	// earlyErrorInStream is true if an error before the first event is sent as an event,
	// even to clients that do not accept a stream.
	earlyErrorInStream bool
	// plainStreams is true if the streams of clients that do not send Last-Event-ID have no
	// ids and no comments.
	plainStreams bool
	// open returns the records that replace the snapshot at the beginning of a stream. If
	// open is nil, the snapshot is sent.
	open func(snapshot *a2a.Record, subscribed bool) []*a2a.Record
	// followsTerminal is true if a client that subscribes to a task that has ended receives
	// the task and a final event, and false if it receives an error.
	followsTerminal bool
	// closesSend reports whether an event ends the stream of a message, and closesSubscribe
	// whether it ends the stream of a subscription.
	closesSend, closesSubscribe func(*a2a.Event) bool
}

// codec decodes params and encodes results.
type codec struct {
	*jsondecode.Version

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
		Version:      jsondecode.V01,
		appendAnswer: v01.AppendAnswer,
		appendEvent:  v01.AppendEvent,
		appendTask:   v01.AppendTask,
		appendPush:   v01.AppendPush,
	},
	versions:           []version.Version{version.V01},
	extensionsHeader:   "X-A2A-Extensions",
	lacksExtension:     a2a.ReasonInvalidRequest,
	history:            new(0),
	earlyErrorInStream: true,
	plainStreams:       true,
	open:               openV01,
	followsTerminal:    true,
	closesSend:         httpcall.IsFinal,
	closesSubscribe:    httpcall.IsFinal,
}

var dialectV03 = &dialect{
	label: "0.3",
	id:    a2a.DialectV03,
	codec: codec{
		Version:        jsondecode.V03,
		appendAnswer:   v03.AppendEvent,
		appendEvent:    v03.AppendEvent,
		appendTask:     v03.AppendTask,
		appendTaskPage: v03.AppendTaskPage,
		appendPush:     v03.AppendPush,
		appendPushPage: v03.AppendPushPage,
	},
	versions:           []version.Version{version.V02, version.V03},
	extensionsHeader:   "X-A2A-Extensions",
	lacksExtension:     a2a.ReasonInvalidRequest,
	cardForm:           card.FormV03,
	deleted:            "null",
	earlyErrorInStream: true,
	followsTerminal:    true,
	closesSend:         httpcall.IsFinal,
	closesSubscribe:    httpcall.IsFinal,
}

// dialectUnion is the dialect of responses that clients of 0.1, 0.2 and 0.3 can all read.
var dialectUnion = func() *dialect {
	d := *dialectV03
	d.id = a2a.DialectUnion
	d.appendEvent = v03.AppendUnionEvent
	d.appendTask = v03.AppendUnionTask
	return &d
}()

var dialectV10 = &dialect{
	label: "1.0",
	id:    a2a.DialectV10,
	codec: codec{
		Version:        jsondecode.V10,
		appendAnswer:   protojson.V10.AppendEvent,
		appendEvent:    protojson.V10.AppendEvent,
		appendTask:     protojson.V10.AppendTask,
		appendTaskPage: protojson.V10.AppendTaskPage,
		appendPush:     protojson.V10.AppendPush,
		appendPushPage: protojson.V10.AppendPushPage,
	},
	versions:         []version.Version{version.V10},
	extensionsHeader: "A2A-Extensions",
	lacksExtension:   a2a.ReasonExtensionRequired,
	cardForm:         card.FormV10,
	detailed:         true,
	deleted:          "{}",
	closesSend:       httpcall.EndsTurn,
	closesSubscribe:  httpcall.EndsTask,
}

// dialectUnnamed is the dialect of clients that call a method of 0.1 to 0.3 without naming
// their version. The dialect of a response depends on the version in which its task was
// made: dialectV01 for 0.1, dialectV03 for 0.2 and 0.3, and dialectUnion for 1.0.
var dialectUnnamed = func() *dialect {
	d := *dialectV03
	d.ofTask = dialectOfTask
	return &d
}()

// dialectOfTask has no default case, so that the linter (exhaustive) reports a new dialect.
func dialectOfTask(t *a2a.Task) *dialect {
	switch t.Dialect {
	case a2a.DialectV01:
		return dialectV01
	case a2a.DialectV10, a2a.DialectV10GRPC:
		return dialectUnion
	case a2a.DialectV03, a2a.DialectV03Proto, a2a.DialectV03GRPC, a2a.DialectKindREST, a2a.DialectUnion:
	}
	return dialectV03
}

// answering returns the dialect of a response with a task.
func (d *dialect) answering(t *a2a.Task) *dialect {
	if d.ofTask == nil {
		return d
	}
	return d.ofTask(t)
}

// opened is a stream that replaces its snapshot by other events, for clients that cannot
// read snapshots.
type opened struct {
	a2a.Stream
	open func(snapshot *a2a.Record) []*a2a.Record
}

// Next implements a2a.Stream. A snapshot can only be the first record.
func (s *opened) Next(ctx context.Context) ([]*a2a.Record, error) {
	records, err := s.Stream.Next(ctx)
	return s.replace(records), err
}

func (s *opened) replace(records []*a2a.Record) []*a2a.Record {
	if len(records) == 0 || records[0].Task == nil {
		return records
	}
	return append(s.open(records[0]), records[1:]...)
}

// openV01 returns the events of 0.1 that describe a task: its status and, for a subscriber,
// its artifacts. A client that sends a message to the task already has the artifacts. For a
// task that has ended, the only event is its status, because clients stop reading after it.
func openV01(snapshot *a2a.Record, subscribed bool) []*a2a.Record {
	t := snapshot.Task
	events := []*a2a.Record{statusOf(t)}
	if subscribed && !t.Status.State.Terminal() {
		for i := range t.Artifacts {
			events = append(events, &a2a.Record{Event: a2a.Event{Artifact: &a2a.ArtifactUpdate{
				TaskID: t.ID, ContextID: t.ContextID, Artifact: t.Artifacts[i], Index: i, LastChunk: true,
			}}})
		}
	}
	// Only the last event has the number of the snapshot, so that a client that resumes
	// after this number has received all of them.
	events[len(events)-1].Seq = snapshot.Seq
	return events
}

// openStatus returns the status of a task in place of its snapshot.
func openStatus(snapshot *a2a.Record, _ bool) []*a2a.Record {
	r := statusOf(snapshot.Task)
	r.Seq = snapshot.Seq
	return []*a2a.Record{r}
}

// statusOf returns the status of a task as an event. The event is final only if the task
// has ended, because the stream continues while the task waits for its client.
func statusOf(t *a2a.Task) *a2a.Record {
	return &a2a.Record{Event: a2a.Event{Status: &a2a.StatusUpdate{
		TaskID: t.ID, ContextID: t.ContextID, Status: t.Status, Paused: t.Status.State.Interrupted(),
	}}}
}
