// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/apply"
	"github.com/a2a-operator/a2a-operator/internal/operator/desired"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// writeResults holds the results of writing the objects of an Agent. The results of the
// routes are separate, because callers inside the cluster do not need routes.
type writeResults struct {
	core   state.Written
	routes state.Written
	// routesErr is the error of writing the routes. If it is not nil, the operator retries the
	// reconcile.
	routesErr error
	// pods is the result of annotating the pods.
	pods state.Written
	// contests are the fields that others set again and again. contestsFor is the delay after which they
	// may be others without an event.
	contests    []state.Contest
	contestsFor time.Duration
	// scaled is true if the operator could not apply the spec, and wrote only the number of
	// replicas.
	scaled bool
}

// inSync reports whether every object was in its desired state before the reconcile, and no
// write is pending.
func (w writeResults) inSync() bool {
	return w.core.InSync() && w.routes.InSync() && !w.scaled && w.routesErr == nil
}

// writeObjects writes the objects of an Agent. It first deletes the routes that the rules of
// exposure do not allow. If the Agent has no desired objects, if the API server rejects one of them,
// or if one of them belongs to another owner, writeObjects still writes the number of replicas
// (desired.Scale). The returned error is about the objects that callers inside the cluster need. The
// error of the routes is in the results.
func writeObjects(ctx context.Context, applier *apply.Applier, in state.Agent, want desired.Result) (writeResults, error) {
	var results writeResults
	var err error
	owner := ownerOf(in.Agent)
	forbidden := forbiddenPlan(in)
	results.routes, results.routesErr = forbidden.run(ctx, applier, owner)
	if want.Objects != nil {
		results.core, err = writeCore(ctx, applier, owner, in, want.Objects)
		if err != nil {
			return results, err
		}
		if results.core.Complete() {
			// After a deletion, the next reconcile writes the routes.
			if len(forbidden.delete) == 0 {
				results.routes, results.routesErr = writeRoutes(ctx, applier, owner, in, want.Objects)
			}
			return results, nil
		}
	}
	if replicas := desired.Scale(in); replicas != nil {
		results.scaled = true
		err = applier.Scale(ctx, in.Children.Deployment, replicas, a2av1alpha1.FieldOwnerScaler)
	}
	return results, err
}

// ownerOf returns an Agent as the owner of objects.
func ownerOf(agent *a2av1alpha1.Agent) apply.Owner {
	return apply.Owner{Kind: a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind), Name: agent.Name, UID: agent.UID}
}

func writeCore(ctx context.Context, applier *apply.Applier, owner apply.Owner, in state.Agent, want *desired.Objects) (state.Written, error) {
	// in.Agent may have a status that is not stored: the API server did not store it, because the
	// Agent was gone. Programmed in that status still shows that the objects existed.
	owner.Programmed = programmed(in.Agent)
	core := corePlan(in.Children, want)
	return core.run(ctx, applier, owner)
}

// writeRoutes writes the routes. A missing route does not show that the Agent was deleted: Programmed
// does not include routes, and the CRD of the route may have been missing. owner.Programmed is
// therefore false.
func writeRoutes(ctx context.Context, applier *apply.Applier, owner apply.Owner, in state.Agent, want *desired.Objects) (state.Written, error) {
	routes := routePlan(in.Children, want)
	return routes.run(ctx, applier, owner)
}

// programmed reports whether the status says that all objects of the Agent's current spec
// were applied.
func programmed(agent *a2av1alpha1.Agent) bool {
	c := meta.FindStatusCondition(agent.Status.Conditions, a2av1alpha1.ConditionProgrammed)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == agent.Generation
}

// corePlan plans the objects that callers inside the cluster need. A new ConfigMap precedes the
// Deployment, because the pods cannot start without the sidecar configuration. An existing
// ConfigMap follows the Deployment: if the API server rejects the Deployment, the running pods
// keep the configuration that belongs to their template.
func corePlan(current state.Children, want *desired.Objects) plan {
	var p plan
	// The NetworkPolicy comes first, so that no pod runs without its protection.
	add(&p, want.NetworkPolicy, current.NetworkPolicy)
	// A ServiceAccount that is no longer desired stays, because pods of an earlier spec still use it.
	if want.ServiceAccount != nil {
		add(&p, want.ServiceAccount, current.ServiceAccount)
	}
	// The files of skills precede the Deployment, so that new pods have them. The operator has no right to delete ConfigMaps, so
	// it empties this one.
	if want.SkillFiles != nil {
		add(&p, want.SkillFiles, current.SkillFiles)
	}
	add(&p, want.Service, current.Service)
	add(&p, want.Deployment, current.Deployment)
	add(&p, want.ConfigMap, current.ConfigMap)
	// A remote agent has a ConfigMap and no Deployment, so its plan has nothing to swap.
	if last := len(p.apply) - 1; last > 0 && current.ConfigMap == nil {
		p.apply[last-1], p.apply[last] = p.apply[last], p.apply[last-1]
	}
	add(&p, want.Budget, current.Budget)
	add(&p, want.Autoscaler, current.Autoscaler)
	return p
}

// routePlan plans the routes. If the cluster does not have the kind of a route, both its
// desired and its current object are nil.
func routePlan(current state.Children, want *desired.Objects) plan {
	var p plan
	add(&p, want.HTTPRoute, current.HTTPRoute)
	add(&p, want.GRPCRoute, current.GRPCRoute)
	return p
}

// forbiddenPlan plans the deletion of the routes that the rules of exposure do not allow.
func forbiddenPlan(in state.Agent) plan {
	var forbidden state.Children
	forbidden.HTTPRoute, forbidden.GRPCRoute = desired.ForbiddenRoutes(in)
	return routePlan(forbidden, &desired.Objects{})
}

// plan lists the objects to apply, in order, and the objects to delete afterwards.
type plan struct {
	apply  []apply.Object
	delete []client.Object
}

// add adds the desired object to the objects to apply. If there is no desired object, it adds
// the current object, if there is one, to the objects to delete.
func add[D any, T interface {
	*D
	runtime.ApplyConfiguration
}, C any, O interface {
	*C
	client.Object
}](p *plan, desired T, current O) {
	switch {
	case desired != nil:
		p.apply = append(p.apply, apply.Of(desired, current))
	case current != nil:
		p.delete = append(p.delete, current)
	}
}

// run applies the desired objects, and then deletes the objects that are no longer desired. If an
// object cannot be applied, it deletes nothing.
func (p *plan) run(ctx context.Context, a *apply.Applier, owner apply.Owner) (state.Written, error) {
	result, err := a.Set(ctx, owner, p.apply...)
	if err != nil || !result.Complete() {
		return result, err
	}
	for _, current := range p.delete {
		if err := a.Prune(ctx, owner, current, &result); err != nil {
			return result, err
		}
	}
	return result, nil
}
