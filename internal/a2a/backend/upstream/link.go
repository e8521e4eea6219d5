// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"container/list"
	"crypto/sha256"
	"sync"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// link is what the agent calls our task and our context.
type link struct {
	task, context string
}

// note is a link as it is kept with a task.
func (l link) note() string {
	dst := jsonwrite.Member(nil, `{"task":`, l.task)
	dst = jsonwrite.Member(dst, `,"context":`, l.context)
	return string(append(dst, '}'))
}

// readLink reads a note. One that is none of ours, such as that of a backend
// of another protocol, is no link.
func readLink(note string) link {
	var l link
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
		return link{}
	}
	return l
}

// space is where the names of contexts and tasks are made.
var space = uuid.MustParse("b7a1bb6c-6a3c-4a9e-9f6e-3a8e5c0d9a11")

// alias is our name for a context or a task of a caller. It needs no memory:
// every replica makes the same, and so does one that was restarted. Who does
// not know the caller cannot make it.
func alias(kind string, t *backend.Turn, id string) string {
	data := make([]byte, 0, 128)
	for _, s := range []string{kind, string(t.Owner), t.Tenant, id} {
		data = append(data, s...)
		data = append(data, 0)
	}
	return uuid.NewHash(sha256.New(), space, data, 8).String()
}

// maxContexts bounds the contexts that are remembered.
const maxContexts = 4096

// contexts remembers the contexts of agents that take no names for them and
// make up their own. It forgets the oldest, and all of them at a restart: then
// the agent begins a new context.
type contexts struct {
	mu    sync.Mutex
	names map[string]*list.Element
	order *list.List
}

type namedContext struct{ alias, name string }

func newContexts() *contexts {
	return &contexts{names: map[string]*list.Element{}, order: list.New()}
}

// of returns the agent's name for a context: the alias unless it is remembered
// otherwise.
func (c *contexts) of(alias string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.names[alias]; e != nil {
		c.order.MoveToFront(e)
		return e.Value.(namedContext).name //nolint:forcetypeassert // nothing else is in the list
	}
	return alias
}

func (c *contexts) remember(alias, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.names[alias]; e != nil {
		e.Value = namedContext{alias, name}
		c.order.MoveToFront(e)
		return
	}
	c.names[alias] = c.order.PushFront(namedContext{alias, name})
	if c.order.Len() > maxContexts {
		oldest := c.order.Remove(c.order.Back()).(namedContext) //nolint:forcetypeassert // as above
		delete(c.names, oldest.alias)
	}
}
