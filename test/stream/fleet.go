// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

const module = "github.com/a2a-operator/a2a-operator"

// build compiles what will run, but for the race detector as it is shipped.
func build(ctx context.Context, dir string) error {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+"/",
		module+"/cmd/sidecar", module+"/test/stream/agent")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("build the servers: %w", err)
	}
	return nil
}

// fleet is an agent and the sidecars in front of it.
type fleet struct {
	agent    *server
	sidecars []*server
	// redis is the store of several sidecars, or nil.
	redis *server
	// begin is when the times of histories begin.
	begin time.Time

	mu     sync.Mutex
	faults history.Faults
}

// shape is what a fleet consists of.
type shape struct {
	// dir has the programs, and takes the files of this fleet.
	dir string
	// replicas of the sidecar share a store; 0 is one that remembers by itself.
	replicas int
	grace    time.Duration
}

// fleet starts one with the store of the settings.
func (s *settings) fleet(ctx context.Context, as shape) (f *fleet, stop func(), err error) {
	as.dir = s.dir
	if s.store == redis {
		as.replicas = 2
	}
	f, err = start(ctx, as)
	if err != nil {
		f.stop()
		return nil, nil, err
	}
	return f, f.stop, nil
}

func start(ctx context.Context, s shape) (*fleet, error) {
	f := &fleet{begin: time.Now(), faults: history.Faults{Forgets: s.replicas == 0}}
	var err error
	if f.agent, err = f.server(ctx, filepath.Join(s.dir, "agent")); err != nil {
		return f, err
	}
	config := &sidecarconfig.Config{
		Version: sidecarconfig.Version,
		Agent:   sidecarconfig.Agent{Namespace: "team", Name: "stream"},
		Card: card.Card{
			Name: "Stream", Description: "An agent that is checked", Version: "1.0",
			Skills: []card.Skill{{ID: "s", Name: "S", Description: "d", Tags: []string{"t"}}},
		},
		Backend: sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolEvents, URL: "http://" + f.agent.address + "/"},
		Access:  sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}},
		Drain:   sidecarconfig.Drain{GracePeriod: sidecarconfig.Duration(s.grace)},
		// The clients are one caller, and more than one may be.
		Limits: sidecarconfig.Limits{
			Requests: sidecarconfig.Rate{PerSecond: 1_000_000}, TotalRequests: sidecarconfig.Rate{PerSecond: 1_000_000},
			Turns:   sidecarconfig.TurnLimits{MaxPerCaller: 256},
			Streams: sidecarconfig.StreamLimits{Max: 8192, MaxPerCaller: 8192},
		},
	}
	text, err := sidecarconfig.Encode(config)
	if err != nil {
		return f, err
	}
	if s.replicas > 0 {
		if err := f.shared(ctx, s.dir); err != nil {
			return f, err
		}
	}
	// The file's directory is watched.
	dir, err := os.MkdirTemp(s.dir, "contract")
	if err != nil {
		return f, err
	}
	file := filepath.Join(dir, sidecarconfig.FileName)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return f, err
	}
	for i := range max(s.replicas, 1) {
		health, err := freeport.Find(ctx)
		if err != nil {
			return f, err
		}
		arguments := []string{"--config", file, "--health-listen", health, "--gateway-listen", "127.0.0.1:0", "--log-level", "WARN"}
		if f.redis != nil {
			arguments = append(arguments, "--store", "redis://"+f.redis.address, "--replica", fmt.Sprint("replica-", i))
		}
		sidecar, err := f.server(ctx, filepath.Join(s.dir, "sidecar"), arguments...)
		if err != nil {
			return f, err
		}
		sidecar.health = health
		f.sidecars = append(f.sidecars, sidecar)
	}
	return f, nil
}

// stop ends all processes. One that could not be started again is nil.
func (f *fleet) stop() {
	for _, s := range append(slices.Clone(f.sidecars), f.agent, f.redis) {
		if s != nil && s.process != nil {
			s.process.Stop()
		}
	}
}

// server is a process that comes back at its address.
type server struct {
	address, health string
	again           func(context.Context) (*process.Process, error)
	process         *process.Process
}

func (*fleet) server(ctx context.Context, program string, arguments ...string) (*server, error) {
	address, err := freeport.Find(ctx)
	if err != nil {
		return nil, err
	}
	s := &server{address: address}
	s.again = func(ctx context.Context) (*process.Process, error) {
		return process.Run(ctx, address, program, slices.Concat([]string{"--listen", address}, arguments)...)
	}
	if s.process, err = s.again(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// now is the time since the beginning.
func (f *fleet) now() time.Duration { return time.Since(f.begin) }

// broken returns what was broken up to now.
func (f *fleet) broken() *history.Faults {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.faults
	now.Kills, now.Drains = slices.Clone(now.Kills), slices.Clone(now.Drains)
	now.Agents, now.Outages = slices.Clone(now.Agents), slices.Clone(now.Outages)
	return &now
}

// during marks the time in which f runs as one of a fault.
func (f *fleet) during(of func(*history.Faults) *[]history.Window, do func() error) error {
	f.mu.Lock()
	windows := of(&f.faults)
	i := len(*windows)
	*windows = append(*windows, history.Window{Begin: f.now(), End: math.MaxInt64})
	f.mu.Unlock()
	err := do()
	f.mu.Lock()
	(*windows)[i].End = f.now()
	f.mu.Unlock()
	return err
}

func kills(f *history.Faults) *[]history.Window  { return &f.Kills }
func agents(f *history.Faults) *[]history.Window { return &f.Agents }

// kill ends a server as a node does that loses its power, and starts it again
// after a while.
func (f *fleet) kill(ctx context.Context, s *server, of func(*history.Faults) *[]history.Window, after time.Duration) error {
	return f.during(of, func() (err error) {
		s.process.Stop()
		time.Sleep(after)
		s.process, err = s.again(context.WithoutCancel(ctx)) // it outlives who killed it
		return err
	})
}

// any returns the address of some sidecar.
func (f *fleet) any(r *rand.Rand) string { return f.sidecars[r.IntN(len(f.sidecars))].address }
