// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/desired"
	"github.com/a2a-operator/a2a-operator/internal/gather"
	"github.com/a2a-operator/a2a-operator/internal/observed"
)

// settledAgents knows the Agents whose objects were all as desired at the last
// look, and those of which none can be made for a mistake in what they say. As
// long as that look's basis is what is there, the objects are neither made nor
// compared again: that is nearly all that a look costs. The pods and the status
// are looked at each time.
type settledAgents struct {
	mu sync.Mutex
	// agents are those that are there: one that is gone is forgotten.
	agents map[types.NamespacedName]settlement
}

type settlement struct {
	basis gather.Basis
	want  desired.Result
}

func newSettledAgents() *settledAgents {
	return &settledAgents{agents: map[types.NamespacedName]settlement{}}
}

// of is what was desired of an Agent, if nothing has changed since; of its
// objects only whether there are some.
func (s *settledAgents) of(agent *a2av1alpha1.Agent, basis gather.Basis) (desired.Result, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.agents[client.ObjectKeyFromObject(agent)]
	if !ok || last.basis != basis {
		return desired.Result{}, false
	}
	return last.want, true
}

// someObjects stand for those of any Agent, which would take much memory.
var someObjects = &desired.Objects{}

func (s *settledAgents) remember(agent *a2av1alpha1.Agent, basis gather.Basis, want desired.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if want.Objects != nil {
		want.Objects = someObjects
	}
	s.agents[client.ObjectKeyFromObject(agent)] = settlement{basis: basis, want: want}
}

func (s *settledAgents) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.agents, key)
}

// copied is what was read with the Agent and its skills apart from the cache:
// parts of them stand in what is made, into which the API server's answers are
// read.
func copied(in observed.Agent) observed.Agent {
	in.Agent = in.Agent.DeepCopy()
	in.Skills.Referenced = maps.Clone(in.Skills.Referenced)
	for key, skill := range in.Skills.Referenced {
		in.Skills.Referenced[key] = skill.DeepCopy()
	}
	in.Skills.Selected = slices.Clone(in.Skills.Selected)
	for i, skill := range in.Skills.Selected {
		in.Skills.Selected[i] = skill.DeepCopy()
	}
	return in
}
