// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"container/list"
	"sync"
)

// maxContexts bounds the number of stored contexts.
const maxContexts = 4096

// contextNames stores, in memory, the context ids of agents that choose these ids
// themselves. If it is full, it drops the context that was used least recently. After that,
// and after a restart, the agent begins a new context.
type contextNames struct {
	mu    sync.Mutex
	names map[string]*list.Element
	order *list.List
}

type contextName struct{ alias, name string }

func newContextNames() *contextNames {
	return &contextNames{names: map[string]*list.Element{}, order: list.New()}
}

// agentName returns the agent's id of a context: the id that the agent chose or, if none is
// stored, the derived id in alias.
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
