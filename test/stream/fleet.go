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
	"syscall"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

const module = "github.com/a2a-operator/a2a-operator"

// build compiles the programs of a fleet. They have no race detector, like the released ones.
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
	// redis is the shared store of several sidecars; nil for tasks in memory.
	redis *server
	// redisData is the directory with the files of redis.
	redisData string
	runRedis  func(ctx context.Context, arguments ...string) (*process.Process, error)
	// dialects are the dialects of the clients.
	dialects []*client.Dialect
	// begin is the moment from which times in histories are measured.
	begin time.Time

	mu     sync.Mutex
	faults history.Faults
}

// fleetOptions describe a fleet.
type fleetOptions struct {
	// dir holds the programs, and receives the files of the fleet.
	dir string
	// replicas is the number of sidecars with a shared store; 0 is one sidecar with tasks in memory.
	replicas int
	grace    time.Duration
	dialects []*client.Dialect
	// change changes the configuration of the sidecars; nil for none.
	change func(*sidecarconfig.Config)
}

// fleet starts a fleet with the store of the settings.
func (s *settings) fleet(ctx context.Context, as fleetOptions) (f *fleet, stop func(), err error) {
	as.dir = s.dir
	as.dialects = s.dialects
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

func start(ctx context.Context, s fleetOptions) (*fleet, error) {
	f := &fleet{begin: time.Now(), dialects: s.dialects, faults: history.Faults{Forgets: s.replicas == 0}}
	var err error
	if f.agent, err = f.server(ctx, filepath.Join(s.dir, "agent")); err != nil {
		return f, err
	}
	config := &sidecarconfig.Config{
		Version: sidecarconfig.Version,
		Agent:   sidecarconfig.Agent{Namespace: "team", Name: "stream"},
		Card: card.Card{
			Name: "Stream", Description: "An agent of the stream checker", Version: "1.0",
			Skills: []card.Skill{{ID: "s", Name: "S", Description: "d", Tags: []string{"t"}}},
		},
		Backend: sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolEvents, URL: "http://" + f.agent.address + "/"},
		Access:  sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}},
		Drain:   sidecarconfig.Drain{GracePeriod: sidecarconfig.Duration(s.grace)},
		// All clients are one caller, so the limits for one caller are far above the defaults.
		Limits: sidecarconfig.Limits{
			Requests: sidecarconfig.Rate{PerSecond: 1_000_000}, TotalRequests: sidecarconfig.Rate{PerSecond: 1_000_000},
			Turns:   sidecarconfig.TurnLimits{MaxPerCaller: 256},
			Streams: sidecarconfig.StreamLimits{Max: 8192, MaxPerCaller: 8192},
		},
	}
	if s.change != nil {
		s.change(config)
	}
	text, err := sidecarconfig.Encode(config)
	if err != nil {
		return f, err
	}
	if s.replicas > 0 {
		if err := f.startRedis(ctx, s.dir); err != nil {
			return f, err
		}
	}
	// A sidecar watches the directory of its configuration file, so the directory contains nothing else.
	dir, err := os.MkdirTemp(s.dir, "config")
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

// stop kills all processes. The process of a server that failed to restart is nil.
func (f *fleet) stop() {
	for _, s := range append(slices.Clone(f.sidecars), f.agent, f.redis) {
		if s != nil && s.process != nil {
			s.process.Stop()
		}
	}
}

// checkRunning adds a finding for each process that has ended. Call it while no fault is in progress: killed processes have
// then been restarted, so a process that has ended has crashed or given up.
func (f *fleet) checkRunning(r *report) {
	for _, s := range append(slices.Clone(f.sidecars), f.agent, f.redis) {
		if s == nil || s.process == nil {
			continue
		}
		if how, ended := s.process.Ended(); ended {
			r.addFinding("process at "+s.address, false, "it runs at the end", how)
		}
	}
}

// server is a process that can restart at the same address.
type server struct {
	address, health string
	restart         func(context.Context) (*process.Process, error)
	process         *process.Process
}

func (*fleet) server(ctx context.Context, program string, arguments ...string) (*server, error) {
	address, err := freeport.Find(ctx)
	if err != nil {
		return nil, err
	}
	s := &server{address: address}
	s.restart = func(ctx context.Context) (*process.Process, error) {
		return process.Run(ctx, address, program, slices.Concat([]string{"--listen", address}, arguments)...)
	}
	if s.process, err = s.restart(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// now returns the time since the start of the fleet.
func (f *fleet) now() time.Duration { return time.Since(f.begin) }

// currentFaults returns the faults up to now.
func (f *fleet) currentFaults() *history.Faults {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.faults
	now.Kills, now.Drains = slices.Clone(now.Kills), slices.Clone(now.Drains)
	now.Agents, now.Outages = slices.Clone(now.Agents), slices.Clone(now.Outages)
	now.Restores = slices.Clone(now.Restores)
	now.Pauses = slices.Clone(now.Pauses)
	return &now
}

// recordFault runs do, and records the time that it takes as a window in the list that of selects. server is the address of the sidecar with the
// fault, "" for none.
func (f *fleet) recordFault(of func(*history.Faults) *[]history.Window, server string, do func() error) error {
	f.mu.Lock()
	windows := of(&f.faults)
	i := len(*windows)
	*windows = append(*windows, history.Window{Server: server, Begin: f.now(), End: math.MaxInt64})
	f.mu.Unlock()
	err := do()
	f.mu.Lock()
	(*windows)[i].End = f.now()
	f.mu.Unlock()
	return err
}

func killWindows(f *history.Faults) *[]history.Window  { return &f.Kills }
func agentWindows(f *history.Faults) *[]history.Window { return &f.Agents }
func pauseWindows(f *history.Faults) *[]history.Window { return &f.Pauses }

// kill sends SIGKILL to a server, and restarts it after a delay.
func (f *fleet) kill(ctx context.Context, s *server, of func(*history.Faults) *[]history.Window, after time.Duration) error {
	return f.recordFault(of, s.address, func() (err error) {
		s.process.Stop()
		time.Sleep(after)
		s.process, err = s.restart(context.WithoutCancel(ctx)) // the process must outlive the task that caused the kill
		return err
	})
}

// pause stops a server with SIGSTOP for a time.
func (f *fleet) pause(s *server, long time.Duration) error {
	return f.recordFault(pauseWindows, s.address, func() error {
		if err := s.process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(long)
		return s.process.Signal(syscall.SIGCONT)
	})
}

// anyAddress returns the address of a random sidecar.
func (f *fleet) anyAddress(r *rand.Rand) string { return f.sidecars[r.IntN(len(f.sidecars))].address }
