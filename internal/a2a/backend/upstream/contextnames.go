// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"container/list"
	"sync"
)

// maxContexts bounds the number of stored contexts.
const maxContexts = 4096

// contextNames stores the context ids of agents that choose these ids themselves. It
// drops the context that was used least recently if it is full, and all of them at a
// restart: the agent then begins a new context.
type contextNames struct {
	mu    sync.Mutex
	names map[string]*list.Element
	order *list.List
}

type contextName struct{ alias, name string }

func newContextNames() *contextNames {
	return &contextNames{names: map[string]*list.Element{}, order: list.New()}
}

// agentName returns the agent's id of a context, which is the derived id unless the agent
// chose another one.
func (c *contextNames) agentName(alias string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.names[alias]; e != nil {
		c.order.MoveToFront(e)
		return e.Value.(contextName).name
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
		oldest := c.order.Remove(c.order.Back()).(contextName)
		delete(c.names, oldest.alias)
	}
}
