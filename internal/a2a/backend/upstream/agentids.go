// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"crypto/sha256"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/kit/sharedcache"
)

// agentIDs are the agent's own ids of the task and of the context.
type agentIDs struct {
	task, context string
}

// note returns the JSON of the ids, which is stored with the task as its note.
func (l agentIDs) note() string {
	dst := jsonwrite.Member(nil, `{"task":`, l.task)
	dst = jsonwrite.Member(dst, `,"context":`, l.context)
	return string(append(dst, '}'))
}

// parseNote parses the note of a task. It returns no ids for a note that another backend
// wrote.
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

// idNamespace is the namespace of the UUIDs of derivedID.
var idNamespace = uuid.MustParse("b7a1bb6c-6a3c-4a9e-9f6e-3a8e5c0d9a11")

// derivedID returns the id that replaces the id of a caller's context or task in requests to
// the agent. It is a hash of the kind, the caller and the id: each replica derives the same
// id, also after a restart, and ids of different callers differ.
func derivedID(kind string, t *backend.Turn, id string) string {
	data := make([]byte, 0, 128)
	for _, s := range []string{kind, string(t.Owner), t.Tenant, id} {
		data = append(data, s...)
		data = append(data, 0)
	}
	return uuid.NewHash(sha256.New(), idNamespace, data, 8).String()
}

// maxContexts bounds the number of stored contexts.
const maxContexts = 4096

// contextNames maps the derived id of a context to the id that the agent chose instead, in memory. Above maxContexts, it drops the
// least recently used context of the owners (a2a.Owner.Share) with the most. After that, and after a restart, the agent
// begins a new context. It is safe for concurrent use.
type contextNames struct {
	*sharedcache.Cache[string, string, string]
}

func newContextNames() contextNames {
	return contextNames{sharedcache.New[string, string, string](maxContexts)}
}

// agentName returns the agent's id of a context: the id that the agent chose or, if none is
// stored, the derived id in alias.
func (c contextNames) agentName(alias string) string {
	name, found := c.Get(alias)
	if !found {
		return alias
	}
	return name
}

func (c contextNames) remember(owner a2a.Owner, alias, name string) {
	c.Put(owner.Share(), alias, name, 1)
}
