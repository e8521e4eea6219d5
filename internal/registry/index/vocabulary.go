// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

const (
	// maxOwnWords bounds the words that one change of an entry adds to a vocabulary, and maxVocabulary those of all entries. A namespace
	// adds words while it has at most a part of as many as are free, so that others find room. A search finds an agent by a word that
	// the vocabulary lacks only if the word has no mistake.
	maxOwnWords   = 256
	maxVocabulary = 1 << 17
	ownPart       = 3
	// minStale is the least number of removed words after which a vocabulary is cleaned.
	minStale = 1024
)

// vocabulary has the terms of all entries, each with the number of entries that have it, and the texts of words, of which
// entries have only hashes. The zero value is empty. Only one goroutine may change it.
type vocabulary struct {
	// mu guards counts, added and stale while another goroutine calls lacks.
	mu     sync.RWMutex
	counts map[term]count
	// words may contain words that no entry has any more. Snapshots share its array, so elements are only appended.
	words []text.Word
	// added are the numbers of the words that the namespaces have added, by their hashes.
	added map[uint32]int
	// stale is the number of words that an entry has lost as the last one, since words was cleaned.
	stale int
}

// count is the number of entries that have a term. namespace is the hash of the one that has added it to the words, or 0.
type count struct{ entries, namespace uint32 }

// after returns the words after changes, and possibly words that no entry has any more. words has the words of some entries, which after
// then need not find.
func (v *vocabulary) after(changes []Change, words map[Key][]text.Word) []text.Word {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.counts == nil {
		v.counts = map[term]count{}
		v.added = map[uint32]int{}
	}
	for i := range changes {
		before := changes[i].Before
		after := changes[i].After
		if after != nil {
			if changes[i].hasNewWords() {
				v.learn(after, words[changes[i].Key])
			}
			for _, t := range after.terms {
				c := v.counts[t.name()]
				c.entries++
				v.counts[t.name()] = c
			}
		}
		if before != nil {
			v.forget(before)
		}
	}
	if v.stale > max(minStale, len(v.words)/2) {
		v.clean()
	}
	return v.words
}

// hasNewWords reports whether the agent may have words after the change that it did not have before.
func (c *Change) hasNewWords() bool {
	return c.After != nil && (c.Before == nil || c.Before.source != c.After.source || c.After.source.Text == "")
}

// lacks reports whether an entry has a word that the vocabulary lacks. Any goroutine may call it.
func (v *vocabulary) lacks(e *Entry) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.isIncomplete(e)
}

func (v *vocabulary) isIncomplete(e *Entry) bool {
	return slices.ContainsFunc(e.terms, func(t term) bool { return t.isMistakable() && v.counts[t.name()].namespace == 0 })
}

// learn adds the words of an entry that the vocabulary lacks. words are the words of the entry. If they are nil, learn decodes the entry for
// them, but only if it has such a word that is not from its name, because nearly every agent has a new name.
func (v *vocabulary) learn(e *Entry, words []text.Word) {
	namespace := uint32(maphash.String(termSeed, e.Key.Namespace)) | 1
	own := 0
	add := func(w text.Word) {
		name := hashWord(w.Text)
		c := v.counts[name]
		if c.namespace != 0 || own == maxOwnWords || v.added[namespace] >= (maxVocabulary-len(v.words))/ownPart {
			return
		}
		c.namespace = namespace
		v.counts[name] = c
		v.added[namespace]++
		v.words = append(v.words, w.Clone())
		own++
	}
	text.Vocabulary([]text.Field{{Text: e.Key.Name}}, add)
	switch {
	case !v.isIncomplete(e):
	case words != nil:
		for _, w := range words {
			add(w)
		}
	default:
		e.eachWord(add)
	}
}

// eachWord calls add for each word of the agent that the vocabulary may have, with repetition.
func (e *Entry) eachWord(add func(text.Word)) {
	var item itemJSON
	if json.Unmarshal(e.body, &item) == nil {
		text.Vocabulary(item.fields(), add)
	}
}

func (v *vocabulary) forget(e *Entry) {
	for _, t := range e.terms {
		c := v.counts[t.name()]
		c.entries--
		v.counts[t.name()] = c
		if c.entries > 0 {
			continue
		}
		if c.namespace == 0 {
			delete(v.counts, t.name())
		} else {
			v.stale++
		}
	}
}

// clean removes the words that no entry has any more.
func (v *vocabulary) clean() {
	var words []text.Word
	for _, w := range v.words {
		name := hashWord(w.Text)
		c := v.counts[name]
		if c.entries > 0 {
			words = append(words, w)
			continue
		}
		delete(v.counts, name)
		v.added[c.namespace]--
		if v.added[c.namespace] == 0 {
			delete(v.added, c.namespace)
		}
	}
	v.words = words
	v.stale = 0
}
