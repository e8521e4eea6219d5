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

// ErrCursor is returned for a text that is not a cursor of this build.
var ErrCursor = errors.New("is not an id of an event of this registry; use the last id unchanged, or omit it to start again")

// Cursor is the id of an event. A stream that resumes at it sends all changes after
// the event.
type Cursor struct {
	// Revision is the state of the cluster that the reader has.
	Revision index.Revision
	// View identifies the filters of the stream and the set of agents that its caller saw.
	// A stream with another view cannot resume, because it cannot determine which agents
	// the reader has.
	View string
}

var viewPattern = regexp.MustCompile(`^[0-9a-f]{16}$`)

// ParseCursor parses the result of String. It returns ErrCursor for any other text.
func ParseCursor(text string) (Cursor, error) {
	version, rest, _ := strings.Cut(text, ".")
	revision, view, _ := strings.Cut(rest, ".")
	r, err := index.ParseRevision(revision)
	if version != cursorVersion || err != nil || !viewPattern.MatchString(view) {
		return Cursor{}, ErrCursor
	}
	return Cursor{Revision: r, View: view}, nil
}

func (c Cursor) String() string { return string(c.append(nil)) }

func (c Cursor) append(to []byte) []byte {
	to = c.Revision.Append(append(to, cursorVersion+"."...))
	return append(append(to, '.'), c.View...)
}

// viewOf returns the View for the filters of a query and the set of a caller.
func viewOf(q *index.Query, set *access.Set) string {
	h := sha256.New()
	_, _ = io.WriteString(h, q.Fingerprint())
	if set.Least() == access.VisibilityFederated {
		_, _ = io.WriteString(h, "\x00federated")
	}
	if !set.All() {
		_, _ = io.WriteString(h, "\x00namespaces\x00"+strings.Join(set.Names(), "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
