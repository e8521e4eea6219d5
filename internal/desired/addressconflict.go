// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// free returns the hostnames that a Gateway routes to this Agent. anyHost stands for the
// hostnames of the listeners. If the Gateway routes other hostnames to another Agent,
// free also returns a problem. A Gateway accepts two routes with the same hostname and
// path, and sends requests to the older route.
func (r exposedRoute) free(in clusterstate.Agent, i int) ([]a2av1alpha1.Hostname, []usererror.Problem) {
	wanted := r.hostnames
	if len(wanted) == 0 {
		wanted = []a2av1alpha1.Hostname{anyHost}
	}
	var free []a2av1alpha1.Hostname
	var problems []usererror.Problem
	for _, host := range wanted {
		switch competitor := r.conflictAt(in, in.Agent.Spec.Exposure.ParentRefs[i], host); {
		case competitor == nil:
			free = append(free, host)
		case len(problems) == 0: // report only one problem at a time
			problems = append(problems, addressTaken(in.Agent, r, i, host, competitor))
		}
	}
	return free, problems
}

// conflictAt returns another Agent to which a Gateway routes a hostname of this Agent, or
// nil if there is none.
func (r exposedRoute) conflictAt(in clusterstate.Agent, ref a2av1alpha1.GatewayRef, host a2av1alpha1.Hostname) *a2av1alpha1.Agent {
	for i := range in.GatewayAPI.Competitors {
		competitor := &in.GatewayAPI.Competitors[i]
		for _, other := range exposedRoutes(clusterstate.Agent{
			Agent:    competitor.Agent,
			Children: clusterstate.Children{HTTPRoute: competitor.HTTPRoute, GRPCRoute: competitor.GRPCRoute},
		}) {
			if other.kind == r.kind && other.path == r.path && other.has(host) && other.precedes(r) && other.takenAt(competitor.Agent, names.Gateway(in.Agent, ref), ref.SectionName) {
				return competitor.Agent
			}
		}
	}
	return nil
}

func (r exposedRoute) has(host a2av1alpha1.Hostname) bool {
	return slices.Contains(r.hostnames, host) || len(r.hostnames) == 0 && host == anyHost
}

// precedes reports whether a Gateway prefers r to other if both have the same hostname
// and path.
func (r exposedRoute) precedes(other exposedRoute) bool {
	if !r.meta.CreationTimestamp.Equal(&other.meta.CreationTimestamp) {
		return r.meta.CreationTimestamp.Before(&other.meta.CreationTimestamp)
	}
	return cmp.Or(cmp.Compare(r.meta.Namespace, other.meta.Namespace), cmp.Compare(r.meta.Name, other.meta.Name)) < 0
}

// takenAt reports whether a Gateway accepts the route of an Agent at a listener, or at
// any listener if section is "".
func (r exposedRoute) takenAt(agent *a2av1alpha1.Agent, gateway types.NamespacedName, section string) bool {
	return slices.ContainsFunc(agent.Spec.Exposure.ParentRefs, func(ref a2av1alpha1.GatewayRef) bool {
		sameListener := section == "" || ref.SectionName == "" || section == ref.SectionName
		return sameListener && names.Gateway(agent, ref) == gateway && verdictOf(r.parents, r.meta.Generation, agent.Namespace, ref).accepted
	})
}

// addressTaken returns the problem of an address that a Gateway routes to a competitor. The
// message does not name a competitor of another namespace, because the readers of the
// Agent's status may have no right to know which Agents exist there.
func addressTaken(agent *a2av1alpha1.Agent, r exposedRoute, i int, host a2av1alpha1.Hostname, competitor *a2av1alpha1.Agent) usererror.Problem {
	at, fields := "hostname \""+string(host)+"\"", r.field
	if host == anyHost {
		at = "its own hostnames"
	}
	if r.kind == kindHTTPRoute {
		at, fields = at+" and path "+r.path, fields+" or spec.exposure.path"
	}
	other, of := "Agent "+competitor.Namespace+"/"+competitor.Name, "one of the Agents"
	if competitor.Namespace != agent.Namespace {
		other, of = "an Agent of another namespace", "this Agent"
	}
	return exposureProblem(a2av1alpha1.ReasonAddressConflict, "The Gateway of spec.exposure.parentRefs[%d] routes %s to %s, "+
		"whose %s is older; change %s of %s", i, at, other, r.kind, fields, of)
}
