// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// maxEntry is the memory of the index for the agent with the largest card, in bytes. The page on tenancy
// (docs/how-to/tenancy.md) has this figure.
const maxEntry = 1 << 20

// TestLargestCardCostsBoundedMemory measures the memory of the index for cards of the largest size, in which no
// word occurs twice.
func TestLargestCardCostsBoundedMemory(t *testing.T) {
	const count = 10
	makers := map[string]func(number int) card.Card{
		"words": func(number int) card.Card {
			var c card.Card
			for i := range 60 {
				var words strings.Builder
				for word := 0; words.Len() < 3500; word++ {
					fmt.Fprintf(&words, "w%s ", strconv.FormatInt(int64((number*1000+i)*1000+word), 36))
				}
				c.Skills = append(c.Skills, card.Skill{ID: fmt.Sprintf("s%d", i), Name: "Skill", Description: words.String(), Tags: []string{"tag"}})
			}
			return c
		},
		"characters of HTML": func(number int) card.Card {
			return card.Card{Description: strings.Repeat("<", 200_000), Skills: []card.Skill{{ID: fmt.Sprint(number), Name: "Skill", Description: "d", Tags: []string{"tag"}}}}
		},
		"skills": func(number int) card.Card {
			var c card.Card
			for i := range 2700 {
				id := fmt.Sprintf("s-%d-%d", number, i)
				c.Skills = append(c.Skills, card.Skill{ID: id, Name: id, Description: "d", Tags: []string{id + "t"}})
			}
			return c
		},
	}
	for name, makeCard := range makers {
		t.Run(name, func(t *testing.T) {
			texts := []string{}
			for number := range count {
				c := makeCard(number)
				c.Name, c.Version, c.DefaultInputModes, c.DefaultOutputModes = "Agent", "1", []string{"text/plain"}, []string{"text/plain"}
				encoded, err := plainjson.Marshal(map[string]any{"version": sidecarconfig.Version, "card": c})
				if err != nil {
					t.Fatal(err)
				}
				if len(encoded) > sidecarconfig.MaxSize || len(encoded) < sidecarconfig.MaxSize*3/4 {
					t.Fatalf("the card has %d bytes", len(encoded))
				}
				texts = append(texts, string(encoded))
			}
			before := liveHeap()
			changes := map[Key]*Entry{}
			for number, text := range texts {
				key := Key{"team", fmt.Sprint(number)}
				entry, err := NewEntry(Facts{Key: key, URL: "http://a.team/"}, CardSource{Text: text})
				if err != nil {
					t.Fatal(err)
				}
				changes[key] = entry
			}
			snapshot := withEntries(&Snapshot{}, changes)
			clear(changes)
			each := (int(liveHeap()) - int(before)) / count
			t.Logf("a card of %d KiB costs %d KiB in the index", len(texts[0])>>10, each>>10)
			if each > maxEntry {
				t.Errorf("a card of %d KiB costs %d KiB in the index, more than %d", len(texts[0])>>10, each>>10, maxEntry>>10)
			}
			runtime.KeepAlive(snapshot)
			runtime.KeepAlive(texts)
		})
	}
}

// liveHeap returns the bytes of the heap in use after a collection.
func liveHeap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestHeldBytesCoverTheMemory keeps the updates of an agent whose words all change, as a reader does that has not processed them.
func TestHeldBytesCoverTheMemory(t *testing.T) {
	const agents, updates, words = 40, 30, 2000
	number := 0
	entry := func(i int) *Entry {
		var text strings.Builder
		for range words {
			number++
			fmt.Fprintf(&text, "w%d ", number)
		}
		return describedEntry(t, Key{Namespace: "n", Name: "a" + strconv.Itoa(i)}, text.String())
	}
	var entries []*Entry
	for i := range agents {
		entries = append(entries, entry(i))
	}
	latest := snapshotOf(entries...)
	var held []*Snapshot
	bytes := 0
	before := liveHeap()
	for range updates {
		change := Change{Key: Key{Namespace: "n", Name: "a0"}}
		change.Before = latest.Get(change.Key)
		change.After = entry(0)
		change.After.Revision.ConfigMaps = uint64(number)
		latest = latest.With([]Change{change})
		held = append(held, latest)
		bytes += latest.copied + change.heldBytes()
	}
	if grown := int(liveHeap() - before); grown > bytes+bytes/4 {
		t.Errorf("%d updates hold %d KiB, want at most the %d KiB that count, and a quarter", len(held), grown>>10, bytes>>10)
	}
}

// A card whose JSON in a list is many times as long as its text is no card.
func TestCardsOfEmptyMembersAreRefused(t *testing.T) {
	for name, skills := range map[string]string{"skills": strings.Repeat(`{},`, 32_000) + `{}`, "lists": strings.Repeat(`{"tags":[]},`, 20_000) + `{}`} {
		text := `{"version":"` + sidecarconfig.Version + `","card":{"name":"x","skills":[` + skills + `]}}`
		if e, err := NewEntry(Facts{Key: Key{"team", "a"}}, CardSource{Text: text}); err == nil {
			t.Errorf("%s: a text of %d KiB has an entry of %d KiB", name, len(text)>>10, len(e.body)>>10)
		}
	}
}
