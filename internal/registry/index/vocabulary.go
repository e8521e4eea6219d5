// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"

	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

const (
	// maxOwnWords bounds the words that one entry adds to a vocabulary, and maxVocabulary those of all entries, so that the
	// texts of one tenant use little memory. A search finds an agent by a word that the vocabulary lacks only if the word has
	// no mistake.
	maxOwnWords   = 256
	maxVocabulary = 1 << 17
	// minStale is the least number of removed terms after which a vocabulary is cleaned.
	minStale = 1024
)

// vocabulary has the terms of all entries, each with the number of entries that have it, and the texts of words, of which
// entries have only hashes. The zero value is empty.
type vocabulary struct {
	counts map[term]uint32
	// words may contain words that no entry has any more. Snapshots share its array, so elements are only appended.
	words []text.Word
	// stale is the number of terms that no entry has any more, since words was cleaned.
	stale int
}

// after returns the words after changes, and possibly words that no entry has any more.
func (v *vocabulary) after(changes []Change) []text.Word {
	if v.counts == nil {
		v.counts = map[term]uint32{}
	}
	for i := range changes {
		if after := changes[i].After; after != nil {
			v.learn(after)
			for _, t := range after.terms {
				v.counts[t.name()]++
			}
		}
		if before := changes[i].Before; before != nil {
			v.forget(before)
		}
	}
	if v.stale > max(minStale, len(v.words)/2) {
		v.clean()
	}
	return v.words
}

// learn adds the words of an entry that no entry has yet. It decodes the entry only if it has a new word that is not from its
// name, because nearly every agent has a new name.
func (v *vocabulary) learn(e *Entry) {
	own := 0
	add := func(w text.Word) {
		name := hashWord(w.Text)
		if _, known := v.counts[name]; known || own == maxOwnWords || len(v.words) >= maxVocabulary {
			return
		}
		v.counts[name] = 0 // so that the word is not added again
		v.words = append(v.words, w.Clone())
		own++
	}
	text.Vocabulary([]text.Field{{Text: e.Key.Name}}, add)
	for word := range text.Words(e.Key.Name) {
		v.counts[hashWord(word)] += 0
	}
	for _, t := range e.terms {
		if _, known := v.counts[t.name()]; known || t.frequency() == 0 {
			continue
		}
		var item itemJSON
		if json.Unmarshal(e.body, &item) == nil {
			text.Vocabulary(item.fields(), add)
		}
		return
	}
}

func (v *vocabulary) forget(e *Entry) {
	for _, t := range e.terms {
		v.counts[t.name()]--
		if v.counts[t.name()] == 0 {
			delete(v.counts, t.name())
			v.stale++
		}
	}
}

// clean removes the words that no entry has any more.
func (v *vocabulary) clean() {
	var words []text.Word
	for _, w := range v.words {
		if v.counts[hashWord(w.Text).name()] > 0 {
			words = append(words, w)
		}
	}
	v.words = words
	v.stale = 0
}
