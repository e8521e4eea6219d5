// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"container/heap"
	"container/list"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// conversationOverhead is an estimate of the bytes of a conversation without its
// messages.
const conversationOverhead = 256

// conversations has the messages of each conversation. When they exceed a bound, the owner
// that uses the largest share drops its least recently used conversation. Store.mu guards
// it.
type conversations struct {
	maxCount int
	maxBytes int64
	bytes    int64
	byKey    map[store.Conversation]*conversation
	// byUse has the conversations, the least recently used first.
	byUse list.List
	// byPrincipal and heaviest have the owners of conversations.
	byPrincipal map[string]*talker
	heaviest    talkers
}

// talker is a principal with its conversations in all its tenants.
type talker struct {
	principal string
	bytes     int64
	// byUse has the conversations of the principal, the least recently used first.
	byUse list.List
	// share is the share of the conversations or of their bytes, whichever is larger. index
	// is the index in conversations.heaviest.
	share float64
	index int
}

// talkers is a heap, the largest share first.
type talkers []*talker

func (t *talkers) Len() int { return len(*t) }

func (t *talkers) Less(i, j int) bool { return (*t)[i].share > (*t)[j].share }

func (t *talkers) Swap(i, j int) {
	all := *t
	all[i], all[j] = all[j], all[i]
	all[i].index = i
	all[j].index = j
}

func (t *talkers) Push(x any) { *t = append(*t, x.(*talker)) } // the heap holds only talkers

func (t *talkers) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return x
}

type conversation struct {
	key      store.Conversation
	owner    *talker
	messages []*a2a.Message
	bytes    int64
	// at and ownAt are the places in conversations.byUse and talker.byUse.
	at    *list.Element
	ownAt *list.Element
}

func newConversations(maxCount int, maxBytes int64) conversations {
	return conversations{
		maxCount: maxCount, maxBytes: maxBytes,
		byKey:       map[store.Conversation]*conversation{},
		byPrincipal: map[string]*talker{},
	}
}

func (c *conversations) get(key store.Conversation) []*a2a.Message {
	talk := c.byKey[key]
	if talk == nil {
		return nil
	}
	c.used(talk)
	return slices.Clone(talk.messages)
}

func (c *conversations) used(talk *conversation) {
	c.byUse.MoveToBack(talk.at)
	talk.owner.byUse.MoveToBack(talk.ownAt)
}

func (c *conversations) add(key store.Conversation, m *a2a.Message) {
	talk := c.byKey[key]
	if talk == nil {
		talk = c.begin(key)
	}
	c.used(talk)
	talk.messages = append(talk.messages, m)
	c.charge(talk, int64(m.Size()))
	for len(talk.messages) > store.MaxRemembered || talk.bytes > store.MaxRememberedBytes {
		c.dropMessage(talk)
	}
	for len(c.byKey) > c.maxCount || c.bytes > c.maxBytes && len(c.byKey) > 1 {
		victim := c.victim(talk.owner)
		if victim == talk && len(talk.messages) > 1 {
			c.dropMessage(talk)
			continue
		}
		c.forget(victim)
		if victim == talk {
			return
		}
	}
}

// begin adds a conversation without messages.
func (c *conversations) begin(key store.Conversation) *conversation {
	principal := key.Owner.Principal()
	owner := c.byPrincipal[principal]
	if owner == nil {
		owner = &talker{principal: principal, index: len(c.heaviest)}
		c.byPrincipal[principal] = owner
		heap.Push(&c.heaviest, owner)
	}
	talk := &conversation{key: key, owner: owner}
	talk.at = c.byUse.PushBack(talk)
	talk.ownAt = owner.byUse.PushBack(talk)
	c.byKey[key] = talk
	c.account(owner, conversationOverhead)
	return talk
}

// charge adds bytes of messages to a conversation.
func (c *conversations) charge(talk *conversation, bytes int64) {
	talk.bytes += bytes
	c.account(talk.owner, bytes)
}

// account adds bytes to an owner, and updates its share.
func (c *conversations) account(owner *talker, bytes int64) {
	c.bytes += bytes
	owner.bytes += bytes
	owner.share = max(float64(owner.byUse.Len())/float64(c.maxCount), float64(owner.bytes)/float64(c.maxBytes))
	heap.Fix(&c.heaviest, owner.index)
}

// dropMessage drops the oldest message of a conversation.
func (c *conversations) dropMessage(talk *conversation) {
	size := int64(talk.messages[0].Size())
	talk.messages[0] = nil
	talk.messages = talk.messages[1:]
	c.charge(talk, -size)
}

// victim returns the least recently used conversation of an owner with the largest share. Of
// several such owners, it prefers the one with the least recently used conversation of all,
// and then own.
func (c *conversations) victim(own *talker) *conversation {
	oldest := c.byUse.Front().Value.(*conversation) // the lists hold only conversations
	heaviest := c.heaviest[0]
	if oldest.owner.share >= heaviest.share {
		return oldest
	}
	if own.share >= heaviest.share {
		heaviest = own
	}
	return heaviest.byUse.Front().Value.(*conversation)
}

func (c *conversations) forget(talk *conversation) {
	owner := talk.owner
	delete(c.byKey, talk.key)
	c.byUse.Remove(talk.at)
	owner.byUse.Remove(talk.ownAt)
	c.account(owner, -conversationOverhead-talk.bytes)
	if owner.byUse.Len() == 0 {
		heap.Remove(&c.heaviest, owner.index)
		delete(c.byPrincipal, owner.principal)
	}
}
