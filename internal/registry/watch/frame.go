// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// frames are the events of an update, encoded once for all streams. They have no ids,
// because an id depends on the stream.
type frames struct {
	changes []frame
	// all has the events of a stream without filters whose caller sees all agents, except
	// for the last event, which is last.
	all  []byte
	last []byte
}

// frame is the event of one change. remove is nil unless the agent was removed. upsert is nil
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
				f.changes[i].upsert = upsertFrame(c.After)
				event = f.changes[i].upsert
			case !c.SameVisibility(): // callers that see all agents already have this agent
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

// appendUpsert appends the event of a new or changed agent.
func appendUpsert(to []byte, e *index.Entry) []byte {
	to = append(to, "event: upsert\ndata: "...)
	to = append(to, e.Body()...) // one line of JSON
	return append(to, "\n\n"...)
}

// removeFrame returns the event of an agent that was removed, that stopped matching, or that
// the caller does not see any more. Valid names contain no characters that JSON escapes.
func removeFrame(key index.Key) []byte {
	return fmt.Appendf(nil, "event: remove\ndata: {\"namespace\":%q,\"name\":%q}\n\n", key.Namespace, key.Name)
}

// appendID appends the line that sets the id of the next event.
func appendID(to []byte, c Cursor) []byte { return append(c.append(append(to, "id: "...)), '\n') }
