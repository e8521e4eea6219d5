// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"container/list"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/kit/ranking"
)

// conversationOverhead is an estimate of the bytes of a conversation without its
// messages.
const conversationOverhead = 256

// conversations has the messages of each conversation. When they exceed a bound, the owner
// that uses the most of the share (a2a.Owner.Share) that uses the most drops its least recently used conversation. Store.mu guards
// it.
type conversations struct {
	maxCount int
	maxBytes int64
	bytes    int64
	byKey    map[store.Conversation]*conversation
	// byUse has the conversations, the least recently used first, and uses counts their uses.
	byUse list.List
	uses  uint64
	// byPrincipal has the owners of conversations, byName their shares, and heaviest the shares with the heaviest one first.
	byPrincipal map[string]*talker
	byName      map[string]*talkers
	heaviest    *ranking.Ranking[*talkers]
}

// talker is a principal with its conversations in all its tenants.
type talker struct {
	principal string
	talkers   *talkers
	bytes     int64
	// byUse has the conversations of the principal, the least recently used first.
	byUse list.List
	// weight is the part of the conversations or of their bytes, whichever is larger. place is the one in talkers.heaviest.
	weight float64
	place  *ranking.Place[*talker]
}

// talkers are the principals of one share, the heaviest one first. Of equal ones, it is the one with the least recently used conversation. The
// other fields are as in talker.
type talkers struct {
	name     string
	count    int
	bytes    int64
	weight   float64
	heaviest *ranking.Ranking[*talker]
	place    *ranking.Place[*talkers]
}

// isBefore is the order in talkers.
func (t *talker) isBefore(other *talker) bool {
	return t.weight > other.weight || t.weight == other.weight && t.oldest().used < other.oldest().used
}

func (t *talker) oldest() *conversation {
	return t.byUse.Front().Value.(*conversation) // the lists hold only conversations
}

type conversation struct {
	key      store.Conversation
	owner    *talker
	messages []*a2a.Message
	bytes    int64
	// used is the number of the last use.
	used uint64
	// at and ownAt are the places in conversations.byUse and talker.byUse.
	at    *list.Element
	ownAt *list.Element
}

func newConversations(maxCount int, maxBytes int64) conversations {
	return conversations{
		maxCount: maxCount, maxBytes: maxBytes,
		byKey:       map[store.Conversation]*conversation{},
		byPrincipal: map[string]*talker{}, byName: map[string]*talkers{},
		heaviest: ranking.New(func(a, b *talkers) bool { return a.weight > b.weight }),
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
	c.uses++
	talk.used = c.uses
	c.byUse.MoveToBack(talk.at)
	talk.owner.byUse.MoveToBack(talk.ownAt)
	talk.owner.talkers.heaviest.Moved(talk.owner.place)
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
	owner := c.talkerOf(key.Owner)
	talk := &conversation{key: key, owner: owner}
	talk.at = c.byUse.PushBack(talk)
	talk.ownAt = owner.byUse.PushBack(talk)
	if owner.place == nil {
		owner.place = owner.talkers.heaviest.Add(owner)
	}
	c.byKey[key] = talk
	owner.talkers.count++
	c.account(owner, conversationOverhead)
	return talk
}

func (c *conversations) talkerOf(of a2a.Owner) *talker {
	principal := of.Principal()
	if known := c.byPrincipal[principal]; known != nil {
		return known
	}
	all := c.byName[of.Share()]
	if all == nil {
		all = &talkers{name: of.Share(), heaviest: ranking.New((*talker).isBefore)}
		all.place = c.heaviest.Add(all)
		c.byName[all.name] = all
	}
	owner := &talker{principal: principal, talkers: all}
	c.byPrincipal[principal] = owner
	return owner
}

// charge adds bytes of messages to a conversation.
func (c *conversations) charge(talk *conversation, bytes int64) {
	talk.bytes += bytes
	c.account(talk.owner, bytes)
}

// account adds bytes to an owner, and updates its weight and that of its share.
func (c *conversations) account(owner *talker, bytes int64) {
	weight := func(count int, bytes int64) float64 {
		return max(float64(count)/float64(c.maxCount), float64(bytes)/float64(c.maxBytes))
	}
	all := owner.talkers
	c.bytes += bytes
	all.bytes += bytes
	owner.bytes += bytes
	owner.weight = weight(owner.byUse.Len(), owner.bytes)
	all.weight = weight(all.count, all.bytes)
	if owner.place != nil { // it has a conversation
		all.heaviest.Moved(owner.place)
	}
	c.heaviest.Moved(all.place)
}

// dropMessage drops the oldest message of a conversation.
func (c *conversations) dropMessage(talk *conversation) {
	size := int64(talk.messages[0].Size())
	talk.messages[0] = nil
	talk.messages = talk.messages[1:]
	c.charge(talk, -size)
}

// victim returns the least recently used conversation of an owner that weighs the most, of a share that weighs the most. Of
// several such shares, it prefers the one with the least recently used conversation of all,
// and then that of own.
func (c *conversations) victim(own *talker) *conversation {
	oldest := c.byUse.Front().Value.(*conversation) // the lists hold only conversations
	all := c.heaviest.First()
	for _, preferred := range []*talker{own, oldest.owner} {
		if preferred.talkers.weight >= all.weight {
			all = preferred.talkers
		}
	}
	return all.heaviest.First().oldest()
}

func (c *conversations) forget(talk *conversation) {
	owner := talk.owner
	delete(c.byKey, talk.key)
	c.byUse.Remove(talk.at)
	owner.byUse.Remove(talk.ownAt)
	if owner.byUse.Len() == 0 {
		owner.talkers.heaviest.Remove(owner.place)
		owner.place = nil
		delete(c.byPrincipal, owner.principal)
	}
	owner.talkers.count--
	c.account(owner, -conversationOverhead-talk.bytes)
	if owner.talkers.count == 0 {
		c.heaviest.Remove(owner.talkers.place)
		delete(c.byName, owner.talkers.name)
	}
}
