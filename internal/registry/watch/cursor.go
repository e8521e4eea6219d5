// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
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

// appendID appends the line that sets the id of the next event.
func appendID(to []byte, c Cursor) []byte { return append(c.Append(append(to, "id: "...)), '\n') }
