// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/a2a-operator/a2a-operator/test/bench/load"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/bench/registry/corpus"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
)

// pages are the searches that the rows measure. R2 has the goals of searches, whose time depends on the number of Agents.
var pages = []struct {
	name, what, path string
	goal             report.Goal
}{
	{"list", "a list of 50 agents", "/v1/agents", report.RatioAtMost(1.3)},
	{"search", "a search by tag, readiness and media type, 50 agents", "/v1/agents?inputMode=text/plain&ready=true&tag=summary", report.Goal{}},
	{"match", "a search with one match", "/v1/agents?limit=1&namespace=team-0007&ready=true&skill=" + skillID(7), report.Goal{}},
}

const ours, static = "registry", "net/http, same bytes"

// searches measures R1: the CPU time of a search, compared with a server that has the same bytes ready.
func searches(ctx context.Context, b *bench) ([]report.Result, error) {
	c, err := b.clusterOf(b.many)
	if err != nil {
		return nil, err
	}
	var results []report.Result
	for _, page := range pages {
		s, err := b.searchCost(ctx, c, page.name, []string{page.path})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", page.what, err)
		}
		r := report.Result{What: fmt.Sprintf("%s, of %d", page.what, b.many), Unit: "us CPU", Peer: static}
		results = append(results, report.Compare(r, s.Of(ours, 0), s.Of(static, 0), page.goal))
	}
	return results, nil
}

// searchCost measures the CPU time of requests, at the registry and at a static server. The name is for profiles.
func (b *bench) searchCost(ctx context.Context, c *cluster, name string, paths []string) (load.Series, error) {
	m, err := c.manager(ctx, withRegistry)
	if err != nil {
		return nil, err
	}
	if err := m.callers.warm(ctx); err != nil {
		return nil, err
	}
	floor, err := c.static(ctx, m, paths)
	if err != nil {
		return nil, err
	}
	defer floor.Stop()
	measured := func(contender string, p *process.Process, callers *callers, profile func() (stop func() error)) load.Contender {
		return load.Contender{Name: contender, Measure: func(ctx context.Context) (load.Sample, error) {
			op := callers.requests(1, paths...)
			if _, err := load.Closed(ctx, load.Connections, b.window/4, op); err != nil {
				return nil, fmt.Errorf("warm up: %w", err)
			}
			stop := profile()
			var units int
			used, err := costs(p, func() (err error) {
				units, err = load.Closed(ctx, load.Connections, b.window, op)
				return err
			})
			return load.Sample{load.Micros(used) / float64(max(units, 1))}, errors.Join(err, stop())
		}}
	}
	return b.interleave(ctx,
		measured(ours, m.Process, m.callers, func() func() error { return b.profile(ctx, m, name) }),
		measured(static, floor, newCallers("http://"+floor.Address), func() func() error { return func() error { return nil } }))
}

// latencies measures R2: the latency of searches by filters and by words, among few and among many Agents.
func latencies(ctx context.Context, b *bench) ([]report.Result, error) {
	const perSecond = 20
	questions, err := questions()
	if err != nil {
		return nil, err
	}
	var results []report.Result
	for _, size := range []struct {
		agents          int
		filters, ranked float64 // goals, in milliseconds
	}{{b.few, 3, 6}, {b.many, 20, 60}} {
		c, err := b.clusterOf(size.agents)
		if err != nil {
			return nil, err
		}
		m, err := c.manager(ctx, withRegistry)
		if err != nil {
			return nil, err
		}
		if err := m.callers.warm(ctx); err != nil {
			return nil, err
		}
		for _, search := range []struct {
			what  string
			paths []string
			goal  float64
		}{
			{"a search by filters", []string{pages[1].path, "/v1/agents?capability=streaming&inputMode=text/plain&ready=true"}, size.filters},
			{"a ranked search", questions, size.ranked},
		} {
			var took []float64
			for round := range b.rounds {
				b.logf("%s, round %d of %d", search.what, round+1, b.rounds)
				each, err := load.Steady(ctx, b.window, perSecond, m.callers.requests(1, search.paths...))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", search.what, err)
				}
				took = append(took, load.Percentile(each, 99)/1000)
			}
			r := report.Result{What: fmt.Sprintf("latency of %s, p99, of %d", search.what, size.agents), Unit: "ms", Clock: true}
			results = append(results, report.Compare(r, took, nil, report.FigureAtMost(search.goal, "ms")))
		}
	}
	return results, nil
}

// questions returns the paths of ranked searches for the questions of the corpus.
func questions() ([]string, error) {
	texts, err := corpus.Agents()
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(texts))
	for i, text := range texts {
		paths[i] = "/v1/agents?limit=5&q=" + url.QueryEscape(text.Question)
	}
	return paths, nil
}

// rankedSearches measures R9: the share of questions for which a ranked search finds the right agent, and its cost.
func rankedSearches(ctx context.Context, b *bench) ([]report.Result, error) {
	texts, err := corpus.Agents()
	if err != nil {
		return nil, err
	}
	c, err := b.cluster("corpus", corpusAgents)
	if err != nil {
		return nil, err
	}
	m, err := c.manager(ctx, withRegistry)
	if err != nil {
		return nil, err
	}
	paths, err := questions()
	if err != nil {
		return nil, err
	}
	found, asked := map[string]float64{}, map[string]float64{}
	for i, text := range texts {
		hit, err := c.finds(ctx, m, paths[i], &c.agents[i])
		if err != nil {
			return nil, fmt.Errorf("ask %q: %w", text.Question, err)
		}
		for _, group := range []string{"", text.Language} {
			asked[group]++
			if hit {
				found[group]++
			}
		}
	}
	recall := fmt.Sprintf("recall@5 of %.0f questions over %d agents in %d languages, BM25 alone", asked[""], len(texts), len(corpus.Languages))
	results := []report.Result{figure(recall, "", []float64{found[""] / asked[""]}, report.FigureAtLeast(0.9, ">= 0.9"))}
	for _, language := range corpus.Languages {
		results = append(results, figure("recall@5 of the questions in "+language, "", []float64{found[language] / asked[language]}, report.Goal{}))
	}
	s, err := b.searchCost(ctx, c, c.name, paths)
	if err != nil {
		return nil, err
	}
	cost := report.Result{What: fmt.Sprintf("one of these searches, 5 results, %d agents", len(texts)), Unit: "us CPU", Peer: static}
	results = append(results, report.Compare(cost, s.Of(ours, 0), s.Of(static, 0), report.RatioAtMost(2)))
	if c, err = b.clusterOf(b.many); err != nil {
		return nil, err
	}
	if s, err = b.searchCost(ctx, c, c.name, paths); err != nil {
		return nil, err
	}
	cost.What = fmt.Sprintf("one of these searches, 5 results, %d agents", b.many)
	return append(results, report.Compare(cost, s.Of(ours, 0), s.Of(static, 0), report.Goal{})), nil
}

// finds reports whether an agent is among the first five of a search.
func (c *cluster) finds(ctx context.Context, m *manager, path string, a *agent) (bool, error) {
	_, body, err := m.callers.read(ctx, path)
	if err != nil {
		return false, err
	}
	var page struct {
		Items []struct {
			Name string `json:"name"`
		} `json:"items"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return false, err
	}
	for _, item := range page.Items {
		if item.Name == a.name() {
			return true, nil
		}
	}
	return false, nil
}
