// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// frames has the events for the changes of an update, encoded once for all streams. The events
// have no ids, because the id of an event depends on the stream.
type frames struct {
	changes []frame
	// allButLast and last are for streams that have no filters and whose caller sees all agents. last is
	// the last event, and allButLast has the events before it. They are separate, because a stream sends
	// its id just before the last event.
	allButLast []byte
	last       []byte
}

// frame has the events for one change. remove is nil unless the agent was removed. upsert is nil
// for a removed agent, and for an agent whose JSON and visibility did not change.
type frame struct{ upsert, remove []byte }

// framesOf returns the frames of an update.
func framesOf(u *index.Update) *frames {
	return u.Encoded(func() any {
		f := &frames{changes: make([]frame, len(u.Changes))}
		for i := range u.Changes {
			c := &u.Changes[i]
			var event []byte
			switch {
			case c.After == nil:
				f.changes[i].remove = removeFrame(c.Key)
				event = f.changes[i].remove
			case !c.Unchanged():
				f.changes[i].upsert = appendUpsert(nil, c.After)
				event = f.changes[i].upsert
			case !c.SameVisibility(): // only the visibility changed, so callers that see all agents already have the agent
				f.changes[i].upsert = appendUpsert(nil, c.After)
				continue
			default:
				continue
			}
			f.allButLast = append(f.allButLast, f.last...)
			f.last = event
		}
		return f
	}).(*frames)
}

// The texts before and after the JSON of an agent in its event. The JSON has no line breaks.
const (
	upsertBegin = "event: upsert\ndata: "
	eventEnd    = "\n\n"
)

// appendUpsert appends the event of a new or changed agent.
func appendUpsert(to []byte, e *index.Entry) []byte {
	to = append(to, upsertBegin...)
	to = append(to, e.Body()...)
	return append(to, eventEnd...)
}

// removeFrame returns the event for an agent that was removed, that no longer matches the
// filters, or that the caller no longer sees. In its names, invalid UTF-8 becomes U+FFFD.
func removeFrame(key index.Key) []byte {
	event, _ := jsontext.AppendQuote([]byte("event: remove\ndata: {\"namespace\":"), key.Namespace)
	event, _ = jsontext.AppendQuote(append(event, `,"name":`...), key.Name)
	return append(event, "}"+eventEnd...)
}
