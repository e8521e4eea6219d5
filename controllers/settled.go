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
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/desired"
	"github.com/a2a-operator/a2a-operator/internal/gather"
)

// settledAgents remembers the Agents whose objects the last reconcile found in
// sync, and those for which it could render none because of a mistake in their spec.
// While the Basis is unchanged, a reconcile skips rendering and comparing the
// objects, which is nearly all that it costs. It checks the pods and the status every
// time. The methods are safe for concurrent use.
type settledAgents struct {
	mu sync.Mutex
	// agents holds an entry for each remembered Agent until the Agent is deleted.
	agents map[types.NamespacedName]settlement
}

type settlement struct {
	basis gather.Basis
	want  desired.Result
}

func newSettledAgents() *settledAgents {
	return &settledAgents{agents: map[types.NamespacedName]settlement{}}
}

// of returns the result of the last reconcile if basis has not changed since. Of the
// objects in it, it tells only whether there are any.
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
func copied(in clusterstate.Agent) clusterstate.Agent {
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
