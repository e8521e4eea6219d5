// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/translator"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// newRemotes returns what serves agents that run elsewhere to the agent beside
// the sidecar.
func (s *Sidecar) newRemotes(g *sidecarconfig.Gateway) (*translator.Translator, error) {
	policy, err := remotePolicy(g)
	if err != nil {
		return nil, err
	}
	return translator.New(translator.Options{
		Policy: policy, Roots: s.trust.roots, Limits: s.limits.exchange(), Working: s.heap.Working, Log: s.log, Now: s.now,
		Unrecognized: func() { s.metrics.unrecognized(protocolRemote) },
	}), nil
}

// remotePolicy is what the operator reads cards by.
func remotePolicy(g *sidecarconfig.Gateway) (*egress.Policy, error) {
	if g == nil {
		return nil, nil //nolint:nilnil // no policy is one
	}
	p := &egress.Policy{Hosts: []string{"*"}}
	for i, text := range g.RemoteAllow {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("contract gateway.remoteAllow[%d]: %w", i, err)
		}
		p.CIDRs = append(p.CIDRs, prefix)
	}
	// The cluster's domain stands behind the agents' names.
	if u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(g.AgentURL)); err == nil {
		_, p.ClusterDomain, _ = strings.Cut(u.Hostname(), ".svc.")
	}
	return p, nil
}

// running is the number of the agent's turns, and of those that it has begun
// with agents that run elsewhere.
func (s *Sidecar) running() int { return s.turns.Running() + s.remotes.Running() }

// drainTurns ends the agent's turns, and after them what these have begun with
// agents that run elsewhere.
func (s *Sidecar) drainTurns(ctx context.Context) error {
	return errors.Join(s.turns.Drain(ctx), s.remotes.Drain(ctx))
}
