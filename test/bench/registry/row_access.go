// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/registry/apiserver"
	"github.com/a2a-operator/a2a-operator/test/bench/report"
)

// knownUsers is the number of restricted users that search repeatedly. Each of the other restricted users searches
// once, so that it is new to the registry.
const knownUsers = 100

// accessReviews measures R8: the number of SubjectAccessReviews for restricted callers, which the API server counts.
func accessReviews(ctx context.Context, b *bench) ([]report.Result, error) {
	c, err := b.clusterOf(b.many)
	if err != nil {
		return nil, err
	}
	// Start a new manager, whose caches contain no caller.
	c.stopManagers()
	m, err := c.manager(ctx, withRegistry)
	if err != nil {
		return nil, err
	}
	searchAll := func(from, to int, path string) error {
		for user := from; user < to; user++ {
			if err := m.callers.searchAs(ctx, user, path); err != nil {
				return err
			}
		}
		return nil
	}
	if err := searchAll(0, knownUsers, pages[1].path); err != nil {
		return nil, err
	}
	_, before := c.api.Reviews()
	begin := time.Now()
	for round := 0; time.Since(begin) < b.steady; round++ {
		if err := searchAll(0, knownUsers, pages[round%len(pages)].path); err != nil {
			return nil, err
		}
		if err := pause(ctx, time.Until(begin.Add(time.Duration(round+1)*time.Second))); err != nil {
			return nil, err
		}
	}
	_, after := c.api.Reviews()
	rate := float64(after-before) / time.Since(begin).Seconds()

	// Agents in the last namespaces are hidden from all restricted users.
	hidden := fmt.Sprintf("/v1/agents?skill=%s&namespace=%s", skillID(namespaces-1), namespaceName(namespaces-1))
	absent := "/v1/agents?skill=absent&namespace=absent"
	var counts [2]float64
	half := (restrictedUsers - knownUsers) / 2
	for i, path := range []string{hidden, absent} {
		_, before := c.api.Reviews()
		if err := searchAll(knownUsers+i*half, knownUsers+(i+1)*half, path); err != nil {
			return nil, err
		}
		_, after := c.api.Reviews()
		counts[i] = float64(after-before) / float64(half)
	}
	alike := report.Result{What: "access reviews of a new caller that asks for a hidden agent", Unit: "reviews", Peer: "for an absent one"}
	return []report.Result{
		figure(fmt.Sprintf("access reviews of %d callers that see %d of %d namespaces", knownUsers, boundNamespaces, namespaces), "a second",
			[]float64{rate}, report.FigureAtMost(1, "a second")),
		report.Compare(alike, counts[:1], counts[1:], report.RatioAtMost(1)),
	}, nil
}

// searchAs sends a search of a restricted user.
func (c *callers) searchAs(ctx context.Context, user int, path string) error {
	response, err := c.getAs(ctx, c.clients[user%callerAddresses], apiserver.Token(fmt.Sprintf("%s%d", restricted, user)), path)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return errors.Join(err, check(response, body))
}
