// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// cursorVersion is the first part of a cursor. It identifies the format of the cursor.
const cursorVersion = "1"

// ErrCursor is the error of ParseCursor for a text that is not a cursor of cursorVersion.
var ErrCursor = errors.New("is not an id of an event of this registry; use the last id unchanged, or omit it to start again")

// Cursor is the id of an event (continuation token). A stream that resumes at the cursor sends
// the changes after the event.
type Cursor struct {
	// Revision is the state of the cluster that the reader has after the event.
	Revision index.Revision
	// View identifies the filters of the stream and the set of agents that its caller saw. A
	// stream with another View cannot resume at the cursor, because the agents that the reader
	// has are then unknown.
	View string
}

var viewPattern = regexp.MustCompile(`^[0-9a-f]{16}$`)

// ParseCursor parses the result of Append. It returns ErrCursor for any other text.
func ParseCursor(text string) (Cursor, error) {
	version, rest, _ := strings.Cut(text, ".")
	revision, view, _ := strings.Cut(rest, ".")
	r, err := index.ParseRevision(revision)
	if version != cursorVersion || err != nil || !viewPattern.MatchString(view) {
		return Cursor{}, ErrCursor
	}
	return Cursor{Revision: r, View: view}, nil
}

// Append appends the text of the cursor.
func (c Cursor) Append(to []byte) []byte {
	to = c.Revision.Append(append(to, cursorVersion+"."...))
	return append(append(to, '.'), c.View...)
}

// viewOf returns the View for the filters of a query and the set of a caller.
func viewOf(q *index.Query, set *access.Set) string {
	h := sha256.New()
	_, _ = io.WriteString(h, q.Fingerprint())
	if set.Minimum() == access.VisibilityFederated {
		_, _ = io.WriteString(h, "\x00federated")
	}
	if !set.All() {
		_, _ = io.WriteString(h, "\x00namespaces\x00"+strings.Join(set.Names(), "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

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

// appendUpsert appends the event of a new or changed agent.
func appendUpsert(to []byte, e *index.Entry) []byte {
	to = append(to, "event: upsert\ndata: "...)
	to = append(to, e.Body()...) // the JSON has no line breaks
	return append(to, "\n\n"...)
}

// removeFrame returns the event for an agent that was removed, that no longer matches the
// filters, or that the caller no longer sees. Names of agents have no characters that JSON would
// escape.
func removeFrame(key index.Key) []byte {
	return fmt.Appendf(nil, "event: remove\ndata: {\"namespace\":%q,\"name\":%q}\n\n", key.Namespace, key.Name)
}

// appendID appends the line that sets the id of the next event.
func appendID(to []byte, c Cursor) []byte { return append(c.Append(append(to, "id: "...)), '\n') }
