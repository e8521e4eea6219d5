// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/apply"
	"github.com/a2a-operator/a2a-operator/internal/applyresult"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/desired"
)

// writeResults holds the results of writing the objects of an Agent. Those of the routes are
// separate, because callers inside the cluster do not need routes.
type writeResults struct {
	core   applyresult.Result
	routes applyresult.Result
	// routesErr is the error that kept routes from being written, to be retried.
	routesErr error
	// pods is the result of annotating the pods.
	pods applyresult.Result
	// scaled reports that there are no desired objects and only the number of replicas was
	// written.
	scaled bool
}

// inSync reports whether every object was in its desired state and no write is pending.
func (w writeResults) inSync() bool {
	return w.core.InSync() && w.routes.InSync() && !w.scaled && w.routesErr == nil
}

// writeObjects writes the objects of an Agent. If it has no desired objects, or one cannot be
// written, it writes the number of replicas alone. The error concerns the objects that
// callers inside the cluster need.
func writeObjects(ctx context.Context, applier *apply.Applier, in clusterstate.Agent, want desired.Result) (writeResults, error) {
	var results writeResults
	var err error
	if want.Objects != nil {
		if results, err = writeAll(ctx, applier, in, want.Objects); err != nil || results.core.Complete() {
			return results, err
		}
	}
	if replicas := desired.Scale(in); replicas != nil {
		results.scaled = true
		err = applier.Scale(ctx, replicas, a2av1alpha1.FieldOwnerScaler)
	}
	return results, err
}

func writeAll(ctx context.Context, applier *apply.Applier, in clusterstate.Agent, want *desired.Objects) (results writeResults, err error) {
	owner := apply.Owner{
		Kind: a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind),
		Name: in.Agent.Name,
		UID:  in.Agent.UID,
		// The status may be one that the API server rejected because the Agent was gone.
		Programmed: programmed(in.Agent),
	}
	core := corePlan(in.Children, want)
	if results.core, err = core.run(ctx, applier, owner); err != nil || !results.core.Complete() {
		return results, err
	}
	routes := routePlan(in.Children, want)
	// A route may be missing because its CRD was.
	owner.Programmed = false
	results.routes, results.routesErr = routes.run(ctx, applier, owner)
	return results, nil
}

// programmed reports whether all objects of an Agent's current spec existed.
func programmed(agent *a2av1alpha1.Agent) bool {
	c := meta.FindStatusCondition(agent.Status.Conditions, a2av1alpha1.ConditionProgrammed)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == agent.Generation
}

// corePlan plans the objects that callers inside the cluster need. The ConfigMap comes before
// a new Deployment, because its pods cannot start without the sidecar configuration. It
// comes after an existing Deployment, so that pods do not get a configuration for a template
// that the API server rejects.
func corePlan(current clusterstate.Children, want *desired.Objects) plan {
	var p plan
	// The NetworkPolicy comes first, so that no pod runs without it.
	add(&p, want.NetworkPolicy, current.NetworkPolicy)
	add(&p, want.ServiceAccount, current.ServiceAccount)
	add(&p, want.Service, current.Service)
	add(&p, want.Deployment, current.Deployment)
	add(&p, want.ConfigMap, current.ConfigMap)
	// A remote agent has a ConfigMap and no Deployment; the order does not matter then.
	if last := len(p.apply) - 1; last > 0 && current.ConfigMap == nil {
		p.apply[last-1], p.apply[last] = p.apply[last], p.apply[last-1]
	}
	add(&p, want.Budget, current.Budget)
	add(&p, want.Autoscaler, current.Autoscaler)
	return p
}

// routePlan plans the routes. A route whose kind the cluster does not have is neither desired
// nor current.
func routePlan(current clusterstate.Children, want *desired.Objects) plan {
	var p plan
	add(&p, want.HTTPRoute, current.HTTPRoute)
	add(&p, want.GRPCRoute, current.GRPCRoute)
	return p
}

// plan lists objects to apply in their order, and objects to delete afterwards.
type plan struct {
	apply  []apply.Object
	delete []func(context.Context, *apply.Applier, apply.Owner, *applyresult.Result) error
}

// add plans to apply an object, or to delete the current one if none is desired.
func add[D any, T interface {
	*D
	apply.Configuration[T]
}, C any, O interface {
	*C
	client.Object
}](p *plan, desired T, current O) {
	if desired != nil {
		p.apply = append(p.apply, apply.Of(desired, current))
		return
	}
	p.delete = append(p.delete, func(ctx context.Context, a *apply.Applier, owner apply.Owner, result *applyresult.Result) error {
		return apply.Prune(ctx, a, owner, current, result)
	})
}

// run applies and deletes. It deletes nothing if an object cannot be applied.
func (p *plan) run(ctx context.Context, a *apply.Applier, owner apply.Owner) (applyresult.Result, error) {
	result, err := a.Set(ctx, owner, p.apply...)
	if err != nil || !result.Complete() {
		return result, err
	}
	for _, prune := range p.delete {
		if err := prune(ctx, a, owner, &result); err != nil {
			return result, err
		}
	}
	return result, nil
}
