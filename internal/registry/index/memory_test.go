// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
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
				encoded, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": c})
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
