// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math/rand/v2"
	"time"
)

// plan is the input of a campaign. The seed determines the plan, but not the moments at which the processes are disturbed.
type plan struct {
	Seed  uint64 `json:"seed"`
	Tasks int    `json:"tasks"`
	// Chunks is the approximate number of chunks of a task.
	Chunks int `json:"chunks"`
	// Concurrency is the number of tasks that run at once.
	Concurrency int `json:"concurrency"`
	// FaultRate is the share of streams whose reader breaks the connection or pauses.
	FaultRate float64 `json:"faultRate"`
	// OneTurn makes all tasks end after one turn.
	OneTurn bool `json:"oneTurn,omitempty"`
	// SidecarKills and AgentKills are distributed over the tasks.
	SidecarKills int `json:"sidecarKills"`
	AgentKills   int `json:"agentKills"`
	// Limit is the time after which no task starts.
	Limit time.Duration `json:"limit"`
}

var (
	full = plan{
		Seed: 1, Tasks: 10_000, Chunks: 118, Concurrency: 24, FaultRate: 0.15, SidecarKills: 100, AgentKills: 50, Limit: 15 * time.Minute,
	}
	short = plan{
		Seed: 1, Tasks: 200, Chunks: 60, Concurrency: 16, FaultRate: 0.25, SidecarKills: 4, AgentKills: 3, Limit: 40 * time.Second,
	}
)

// schedule distributes the kills over the tasks.
func (c *campaign) schedule() map[int][]func(context.Context) error {
	r := rand.New(rand.NewPCG(c.Seed, 0))
	all := map[int][]func(context.Context) error{}
	place := func(i, of int) int { return min(c.Tasks-1, c.Tasks*i/of+r.IntN(max(c.Tasks/of, 1))) }
	for i := range c.SidecarKills {
		s, after := c.sidecars[r.IntN(len(c.sidecars))], time.Duration(r.IntN(50))*time.Millisecond
		n := place(i, c.SidecarKills)
		all[n] = append(all[n], func(ctx context.Context) error {
			c.counts.increment(&c.counts.SidecarKills)
			return c.kill(ctx, s, killWindows, after)
		})
	}
	for i := range c.AgentKills {
		after := time.Duration(r.IntN(50)) * time.Millisecond
		n := place(i, c.AgentKills)
		all[n] = append(all[n], func(ctx context.Context) error {
			c.counts.increment(&c.counts.AgentKills)
			return c.kill(ctx, c.agent, agentWindows, after)
		})
	}
	return all
}
