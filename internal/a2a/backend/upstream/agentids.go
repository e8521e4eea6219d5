// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"crypto/sha256"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// link is what the agent calls our task and our context.
type agentIDs struct {
	task, context string
}

// note is a link as it is kept with a task.
func (l agentIDs) note() string {
	dst := jsonwrite.Member(nil, `{"task":`, l.task)
	dst = jsonwrite.Member(dst, `,"context":`, l.context)
	return string(append(dst, '}'))
}

// readLink reads a note. One that is none of ours, such as that of a backend
// of another protocol, is no link.
func parseNote(note string) agentIDs {
	var l agentIDs
	if note == "" {
		return l
	}
	r := jsonread.New([]byte(note))
	for name := range r.Members() {
		switch string(name) {
		case "task":
			l.task = r.String()
		case "context":
			l.context = r.String()
		}
	}
	if r.End() != nil {
		return agentIDs{}
	}
	return l
}

// space is where the names of contexts and tasks are made.
var idNamespace = uuid.MustParse("b7a1bb6c-6a3c-4a9e-9f6e-3a8e5c0d9a11")

// alias is our name for a context or a task of a caller. It needs no memory:
// every replica makes the same, and so does one that was restarted. Who does
// not know the caller cannot make it.
func derivedID(kind string, t *backend.Turn, id string) string {
	data := make([]byte, 0, 128)
	for _, s := range []string{kind, string(t.Owner), t.Tenant, id} {
		data = append(data, s...)
		data = append(data, 0)
	}
	return uuid.NewHash(sha256.New(), idNamespace, data, 8).String()
}
