// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// frames are the events of an update, encoded once for all streams. They have no ids,
// which depend on the stream.
type frames struct {
	changes []frame
	// all are the events of a stream without filters whose caller sees all agents,
	// except for the last event.
	all  []byte
	last []byte
}

// frame is the event of one change. upsert is nil for a removed agent, and for one whose
// representation and visibility did not change.
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
				f.changes[i].upsert = upsertFrame(c.After)
				event = f.changes[i].upsert
			case !c.SameVisibility(): // callers that see all agents have it already
				f.changes[i].upsert = upsertFrame(c.After)
				continue
			default:
				continue
			}
			f.all = append(f.all, f.last...)
			f.last = event
		}
		return f
	}).(*frames)
}

func upsertFrame(e *index.Entry) []byte { return appendUpsert(nil, e) }

// appendUpsert appends the event of an agent that is new or changed.
func appendUpsert(to []byte, e *index.Entry) []byte {
	to = append(to, "event: upsert\ndata: "...)
	to = append(to, e.Body()...) // one line of JSON
	return append(to, "\n\n"...)
}

// removeFrame returns the event of an agent that is gone, that stopped matching, or that
// the caller does not see any more. The names have no characters that JSON escapes.
func removeFrame(key index.Key) []byte {
	return fmt.Appendf(nil, "event: remove\ndata: {\"namespace\":%q,\"name\":%q}\n\n", key.Namespace, key.Name)
}

// idLine returns the line that gives the next event an id.
func idLine(c Cursor) string { return "id: " + c.String() + "\n" }
