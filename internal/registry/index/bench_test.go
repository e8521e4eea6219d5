// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/bench/registry/corpus"
)

// benchmarkFleet returns a snapshot of agents with three skills each. One agent in 25 has
// the skill that the benchmarks search.
func benchmarkFleet(b *testing.B, size int) *Snapshot {
	b.Helper()
	changes := make(map[Key]*Entry, size)
	for i := range size {
		key := Key{fmt.Sprintf("team-%02d", i%50), fmt.Sprintf("agent-%05d", i)}
		changes[key] = makeEntry(b, key, i%10 != 0, fmt.Sprintf("skill-%d", i%25), fmt.Sprintf("other-%d", i%400), "all")
	}
	return withEntries(&Snapshot{}, changes)
}

// BenchmarkSearch10k compares a search by skill, tag and readiness, for a page of 50, with
// a scan over all agents that encodes the matches. scan/index is the time of the scan
// divided by the time of the search.
func BenchmarkSearch10k(b *testing.B) {
	s := benchmarkFleet(b, 10_000)
	var all []itemJSON
	for e := range s.All {
		var view itemJSON
		if err := json.Unmarshal(e.body, &view); err != nil {
			b.Fatal(err)
		}
		all = append(all, view)
	}
	terms := hashTerms([]string{skillTerm("skill-7"), tagTerm("tag-all"), readyTerm(true)})
	index := func() int {
		page := s.search(terms, nil, Key{}, 50)
		return len(page.AppendBody(nil)) + 0*len(page.ETag())
	}
	scan := func() int { return len(scanned(b, all, "skill-7", "Tag-all")) }
	if a, z := index(), scan(); a < 1000 || a > z+100 || z > a+100 {
		b.Fatalf("the two ways differ: %d and %d bytes", a, z)
	}
	compare(b, "index", func() { index() }, "scan", func() { scan() })
}

// compare measures f and slow, the baseline, and reports the time of slow divided by the
// time of f.
func compare(b *testing.B, name string, f func(), baseline string, slow func()) {
	b.Helper()
	perOp := make(map[string]float64)
	measure := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
			perOp[name] = float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			if name != baseline {
				b.ReportMetric(perOp[baseline]/perOp[name], baseline+"/"+name)
			}
		})
	}
	measure(baseline, slow)
	measure(name, f)
}

func scanned(b *testing.B, all []itemJSON, skill, tag string) []byte {
	page, total := []itemJSON{}, 0
	for _, view := range all {
		has := slices.ContainsFunc(view.Skills, func(s skillJSON) bool { return s.ID == skill })
		tagged := slices.ContainsFunc(view.Skills, func(s skillJSON) bool { return slices.Contains(s.Tags, tag) })
		if view.Ready && has && tagged {
			if total++; len(page) < 50 {
				page = append(page, view)
			}
		}
	}
	body, err := json.Marshal(map[string]any{"items": page, "total": total, "nextCursor": ""})
	if err != nil {
		b.Fatal(err)
	}
	return body
}

// BenchmarkChange10k measures making the snapshot after one change among 10,000 agents.
// rebuild/change is the time to build the snapshot from nothing divided by the time of the change.
func BenchmarkChange10k(b *testing.B) {
	s := benchmarkFleet(b, 10_000)
	key := s.blocks[len(s.blocks)/2].entries[10].Key
	change := map[Key]*Entry{key: makeEntry(b, key, true, "new")}
	all := make(map[Key]*Entry, s.size)
	for e := range s.All {
		all[e.Key] = e
	}
	compare(b, "change", func() { withEntries(s, change) }, "rebuild", func() { withEntries(&Snapshot{}, all) })
}

// BenchmarkEntry measures making the entry of an agent from its sidecar configuration, with three skills in one of four languages.
func BenchmarkEntry(b *testing.B) {
	texts, err := corpus.Agents()
	if err != nil {
		b.Fatal(err)
	}
	sources := make([]CardSource, len(texts))
	for i := range texts {
		base := card.NewBase(fmt.Sprintf("http://agent-%06d.team-%04d.svc.cluster.local/", i, i))
		c := card.Card{
			Name: texts[i].Name, Description: texts[i].Description, Version: "1.0.0",
			Provider:     &card.Provider{Organization: fmt.Sprintf("Example team-%04d", i), URL: "https://example.com/"},
			Capabilities: card.Capabilities{Streaming: true}, DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		}
		for _, distance := range []int{0, 1, 7} {
			at := (i + distance) % len(texts)
			c.Skills = append(c.Skills, card.Skill{ID: fmt.Sprintf("skill-%04d", at), Name: texts[at].Skill, Description: texts[at].Detail, Tags: texts[at].Tags})
		}
		text, err := sidecarconfig.Encode(&sidecarconfig.Config{
			Version: sidecarconfig.Version, Agent: sidecarconfig.Agent{Namespace: "team", Name: "agent"}, Card: *c.At(base), Bases: []card.Base{base},
			Backend: sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolEvents, URL: "http://127.0.0.1:8080/"},
			Access:  sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}},
		})
		if err != nil {
			b.Fatal(err)
		}
		sources[i] = CardSource{Text: string(text)}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		facts := Facts{Key: Key{Namespace: "team", Name: "agent"}, URL: "http://agent.team.svc.cluster.local/", Ready: true}
		if _, err := NewEntry(facts, sources[i%len(sources)]); err != nil {
			b.Fatal(err)
		}
	}
}
