// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/bench/registry/corpus"
)

// benchmarkAgents is the number of agents of BenchmarkRequests.
const benchmarkAgents = 2000

// BenchmarkRequests measures the requests of the rows R1 and R9 of test/bench/registry, without a connection.
func BenchmarkRequests(b *testing.B) {
	texts, err := corpus.Agents()
	if err != nil {
		b.Fatal(err)
	}
	entries := make([]*index.Entry, benchmarkAgents)
	for i := range entries {
		entries[i] = corpusEntry(b, texts, i)
	}
	w := newWorldWith(b, snapshotOf(entries...), func(a *api) {
		a.searchLimits.callers = limit.NewTable(limitedCallers, limit.Rate{PerSecond: 1 << 30, Burst: 1 << 30})
	})
	var questions []string
	for i := range texts {
		questions = append(questions, "/v1/agents?limit=5&q="+url.QueryEscape(texts[i].Question))
	}
	for _, each := range []struct {
		name  string
		paths []string
	}{
		{"list", []string{"/v1/agents"}},
		{"search", []string{"/v1/agents?inputMode=text/plain&ready=true&tag=summary"}},
		{"match", []string{"/v1/agents?limit=1&namespace=team-0007&ready=true&skill=skill-0007"}},
		{"ranked", questions},
	} {
		b.Run(each.name, func(b *testing.B) {
			requests := make([]*http.Request, len(each.paths))
			for i, path := range each.paths {
				requests[i] = httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, http.NoBody)
				requests[i].Header.Set("Authorization", "Bearer admin")
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				response := discardedResponse{header: http.Header{}}
				w.unvalidated.ServeHTTP(&response, requests[i%len(requests)])
				if response.written == 0 || response.status >= http.StatusBadRequest {
					b.Fatalf("status %d with %d bytes", response.status, response.written)
				}
			}
		})
	}
}

// corpusEntry returns an agent with three skills of the corpus. Nine of ten agents are ready.
func corpusEntry(b *testing.B, texts []corpus.Agent, i int) *index.Entry {
	b.Helper()
	first := &texts[i%len(texts)]
	key := index.Key{Namespace: fmt.Sprintf("team-%04d", i%1000), Name: fmt.Sprintf("agent-%06d", i)}
	c := card.Card{
		Name: first.Name, Description: first.Description, Version: "1.0.0",
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
	}
	for _, distance := range []int{0, 1, 7} {
		at := (i + distance) % len(texts)
		c.Skills = append(c.Skills, card.Skill{ID: fmt.Sprintf("skill-%04d", at), Name: texts[at].Skill, Description: texts[at].Detail, Tags: texts[at].Tags})
	}
	config, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": c})
	if err != nil {
		b.Fatal(err)
	}
	e, err := index.NewEntry(index.Facts{Key: key, URL: "http://" + key.Name + "/", Ready: i%10 != 0}, index.CardSource{Text: string(config)})
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// discardedResponse is an http.ResponseWriter that counts the bytes of the body.
type discardedResponse struct {
	header          http.Header
	status, written int
}

func (d *discardedResponse) Header() http.Header    { return d.header }
func (d *discardedResponse) WriteHeader(status int) { d.status = status }
func (d *discardedResponse) Write(p []byte) (int, error) {
	d.written += len(p)
	return len(p), nil
}
