// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// freeHostnames returns the hostnames that the Gateway of spec.exposure.parentRefs[i] routes to this
// Agent, or anyHost for a route without hostnames. If the Gateway routes one of the Agent's hostnames
// to another Agent, freeHostnames also returns a problem. The Gateway does not report the conflict:
// it accepts two routes with the same hostname and path, and sends all requests to the older route.
func (r exposedRoute) freeHostnames(in state.Agent, i int) ([]a2av1alpha1.Hostname, []state.Problem) {
	var free []a2av1alpha1.Hostname
	var problems []state.Problem
	for _, host := range r.wanted() {
		switch claim := r.conflictAt(in, in.Agent.Spec.Exposure.ParentRefs[i], host); {
		case claim == nil:
			free = append(free, host)
		case len(problems) == 0: // report only one problem at a time
			problems = append(problems, addressTaken(in.Agent, r, i, host, claim.Agent))
		}
	}
	return free, problems
}

// conflictAt returns the oldest claim of another Agent on a hostname of this Agent, if the other
// Agent's claim is older than the route of this Agent. The Gateway then routes the hostname to
// the other Agent. Otherwise conflictAt returns nil.
func (r exposedRoute) conflictAt(in state.Agent, ref a2av1alpha1.GatewayRef, host a2av1alpha1.Hostname) *state.Claim {
	oldest := state.Claim{Agent: keyOf(in.Agent), Created: r.meta.CreationTimestamp}
	var conflict *state.Claim
	at := r.address(in.Agent, ref, host)
	// A route at one listener competes with the routes at this listener, and with those
	// that name no listener.
	listeners := []string{state.AnyListener}
	if at.Listener != "" {
		listeners = []string{at.Listener, ""}
	}
	for _, at.Listener = range listeners {
		if claim, ok := in.GatewayAPI.Claims[at]; ok && claim.Agent != keyOf(in.Agent) && claim.Precedes(oldest) {
			oldest = claim
			conflict = &claim
		}
	}
	return conflict
}

func keyOf(agent *a2av1alpha1.Agent) types.NamespacedName {
	return types.NamespacedName{Namespace: agent.Namespace, Name: agent.Name}
}

func (r exposedRoute) address(agent *a2av1alpha1.Agent, ref a2av1alpha1.GatewayRef, host a2av1alpha1.Hostname) state.Address {
	return state.Address{Gateway: names.Gateway(agent, ref), Listener: ref.SectionName, Kind: r.kind, Host: host, Path: r.path}
}

// wanted returns the hostnames of a route, or anyHost for a route without hostnames.
func (r exposedRoute) wanted() []a2av1alpha1.Hostname {
	if len(r.hostnames) == 0 {
		return []a2av1alpha1.Hostname{anyHost}
	}
	return r.hostnames
}

// Addresses returns the addresses whose claims decide whether a Gateway routes to this Agent or to
// another one. If the Agent refers to one listener, these are the address at this listener, and the
// address of routes that name no listener. If the Agent refers to the whole Gateway, it is the
// address at AnyListener, where the claims at all listeners are.
func Addresses(agent *a2av1alpha1.Agent) []state.Address {
	var addresses []state.Address
	eachAddress(state.Agent{Agent: agent}, func(_ exposedRoute, _ a2av1alpha1.GatewayRef, at state.Address) {
		if at.Listener != "" {
			addresses = append(addresses, at)
			at.Listener = ""
		} else {
			at.Listener = state.AnyListener
		}
		addresses = append(addresses, at)
	})
	return addresses
}

// Claims returns the claims of an Agent with its routes: one for each address that the Agent
// requests and at which the Gateway accepts the route. The result contains each claim a second
// time, at AnyListener of the Gateway. There, conflictAt finds the claims of all listeners.
func Claims(agent *a2av1alpha1.Agent, web *gatewayv1.HTTPRoute, grpc *gatewayv1.GRPCRoute) map[state.Address]state.Claim {
	claims := map[state.Address]state.Claim{}
	in := state.Agent{Agent: agent, Children: state.Children{HTTPRoute: web, GRPCRoute: grpc}}
	eachAddress(in, func(r exposedRoute, ref a2av1alpha1.GatewayRef, at state.Address) {
		if !verdictOf(r.parents, r.meta.Generation, agent.Namespace, ref).accepted {
			return
		}
		claim := state.Claim{Agent: keyOf(agent), Created: r.meta.CreationTimestamp}
		claims[at] = claim
		at.Listener = state.AnyListener
		claims[at] = claim
	})
	return claims
}

// eachAddress calls visit with each address that an Agent requests.
func eachAddress(in state.Agent, visit func(exposedRoute, a2av1alpha1.GatewayRef, state.Address)) {
	if in.Agent.Spec.Exposure == nil {
		return
	}
	for _, r := range exposedRoutes(in) {
		for _, ref := range in.Agent.Spec.Exposure.ParentRefs {
			for _, host := range r.wanted() {
				visit(r, ref, r.address(in.Agent, ref, host))
			}
		}
	}
}

// addressTaken returns the problem of an address that a Gateway routes to a competitor. The
// message does not name a competitor of another namespace, because the readers of the
// Agent's status may have no right to know which Agents exist there.
func addressTaken(agent *a2av1alpha1.Agent, r exposedRoute, i int, host a2av1alpha1.Hostname, competitor types.NamespacedName) state.Problem {
	at := "hostname \"" + string(host) + "\""
	fields := r.field
	if host == anyHost {
		at = "its own hostnames"
	}
	if r.kind == kindHTTPRoute {
		at = at + " and path " + r.path
		fields = fields + " or spec.exposure.path"
	}
	other := "Agent " + competitor.Namespace + "/" + competitor.Name
	of := "one of the Agents"
	if competitor.Namespace != agent.Namespace {
		other = "an Agent of another namespace"
		of = "this Agent"
	}
	return exposureProblem(a2av1alpha1.ReasonAddressConflict, "The Gateway of spec.exposure.parentRefs[%d] routes %s to %s, "+
		"whose %s is older; change %s of %s", i, at, other, r.kind, fields, of)
}
