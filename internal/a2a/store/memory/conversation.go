// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"container/list"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// conversationOverhead is an estimate of the bytes of a conversation without its
// messages.
const conversationOverhead = 256

// conversations has the messages of each conversation. It drops the least recently
// used conversations (LRU). Store.mu guards it.
type conversations struct {
	maxCount int
	maxBytes int64
	bytes    int64
	byKey    map[store.Conversation]*list.Element
	// byUse has the conversations, the least recently used first.
	byUse list.List
}

type conversation struct {
	key      store.Conversation
	messages []*a2a.Message
	bytes    int
}

func newConversations(maxCount int, maxBytes int64) conversations {
	return conversations{
		maxCount: maxCount, maxBytes: maxBytes,
		byKey: map[store.Conversation]*list.Element{},
	}
}

func (c *conversations) get(key store.Conversation) []*a2a.Message {
	at := c.byKey[key]
	if at == nil {
		return nil
	}
	c.byUse.MoveToBack(at)
	return slices.Clone(at.Value.(*conversation).messages) // the list holds only conversations
}

func (c *conversations) add(key store.Conversation, m *a2a.Message) {
	at := c.byKey[key]
	if at == nil {
		at = c.byUse.PushBack(&conversation{key: key})
		c.byKey[key] = at
		c.bytes += conversationOverhead
	}
	c.byUse.MoveToBack(at)
	talk := at.Value.(*conversation)
	before := talk.bytes
	talk.messages = append(talk.messages, m)
	talk.bytes += m.Size()
	drop := 0
	for len(talk.messages)-drop > store.MaxRemembered || talk.bytes > store.MaxRememberedBytes {
		talk.bytes -= talk.messages[drop].Size()
		talk.messages[drop] = nil
		drop++
	}
	talk.messages = talk.messages[drop:]
	c.bytes += int64(talk.bytes - before)
	for c.byUse.Len() > c.maxCount || c.bytes > c.maxBytes && c.byUse.Len() > 1 {
		c.forget(c.byUse.Front())
	}
}

func (c *conversations) forget(at *list.Element) {
	talk := c.byUse.Remove(at).(*conversation)
	delete(c.byKey, talk.key)
	c.bytes -= conversationOverhead + int64(talk.bytes)
}
