// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"container/list"
	"sync"
)

// maxContexts bounds the contexts that are remembered.
const maxContexts = 4096

// contexts remembers the contexts of agents that take no names for them and
// make up their own. It forgets the oldest, and all of them at a restart: then
// the agent begins a new context.
type contextNames struct {
	mu    sync.Mutex
	names map[string]*list.Element
	order *list.List
}

type contextName struct{ alias, name string }

func newContextNames() *contextNames {
	return &contextNames{names: map[string]*list.Element{}, order: list.New()}
}

// of returns the agent's name for a context: the alias unless it is remembered
// otherwise.
func (c *contextNames) agentName(alias string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.names[alias]; e != nil {
		c.order.MoveToFront(e)
		return e.Value.(contextName).name //nolint:forcetypeassert // nothing else is in the list
	}
	return alias
}

func (c *contextNames) remember(alias, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.names[alias]; e != nil {
		e.Value = contextName{alias, name}
		c.order.MoveToFront(e)
		return
	}
	c.names[alias] = c.order.PushFront(contextName{alias, name})
	if c.order.Len() > maxContexts {
		oldest := c.order.Remove(c.order.Back()).(contextName) //nolint:forcetypeassert // as above
		delete(c.names, oldest.alias)
	}
}
