// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/apply"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/desired"
)

// outcomes are what became of the objects of an Agent. The routes stand apart:
// what is wrong with them keeps the agent from nobody inside the cluster.
type outcomes struct {
	core   apply.Outcome
	routes apply.Outcome
	// routesErr is what else has kept the routes from being written.
	routesErr error
	// pods is what became of telling them of a new contract.
	pods apply.Outcome
	// scaled tells that there are no objects, and another number of pods was
	// written.
	scaled bool
}

// plan is a number of objects to apply, in their order, and others to delete
// once that was done.
type plan struct {
	apply  []apply.Object
	delete []func(context.Context, *apply.Applier, apply.Owner, *apply.Outcome) error
}

// add plans an object that may not be desired: what is there of it, then goes.
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
	p.delete = append(p.delete, func(ctx context.Context, a *apply.Applier, owner apply.Owner, outcome *apply.Outcome) error {
		return apply.Prune(ctx, a, owner, current, outcome)
	})
}

// run applies and deletes. With an object that cannot be applied nothing is
// deleted.
func (p *plan) run(ctx context.Context, a *apply.Applier, owner apply.Owner) (apply.Outcome, error) {
	outcome, err := a.Set(ctx, owner, p.apply...)
	if err != nil || !outcome.Complete() {
		return outcome, err
	}
	for _, prune := range p.delete {
		if err := prune(ctx, a, owner, &outcome); err != nil {
			return outcome, err
		}
	}
	return outcome, nil
}

// applyObjects writes the objects of an Agent, or, where they cannot be, the
// number of its pods. The error is about those that the agent needs inside the
// cluster.
func (r *AgentReconciler) applyObjects(ctx context.Context, in clusterstate.Agent, want desired.Result) (outcomes, error) {
	outcome, err := r.applyWhole(ctx, in, want)
	if err != nil || want.Objects != nil && outcome.core.Complete() {
		return outcome, err
	}
	if number := desired.Scale(in); number != nil {
		outcome.scaled = true
		err = r.apply.Scale(ctx, number, a2av1alpha1.FieldOwnerScaler)
	}
	return outcome, err
}

func (r *AgentReconciler) applyWhole(ctx context.Context, in clusterstate.Agent, want desired.Result) (outcomes, error) {
	if want.Objects == nil {
		return outcomes{}, nil
	}
	owner := apply.Owner{
		Kind: a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind),
		Name: in.Agent.Name,
		UID:  in.Agent.UID,
		// The status is one that the API server may not have taken, for want of the Agent.
		Programmed: programmed(in.Agent),
	}
	core := corePlan(in.Children, want.Objects)
	outcome, err := core.run(ctx, r.apply, owner)
	if err != nil || !outcome.Complete() {
		return outcomes{core: outcome}, err
	}
	routes := routePlan(in.Children, want.Objects)
	// They come and go with what the cluster has and what others own.
	owner.Programmed = false
	all := outcomes{core: outcome}
	all.routes, all.routesErr = routes.run(ctx, r.apply, owner)
	return all, nil
}

// programmed tells whether all objects of an Agent were there, of the spec that
// it has.
func programmed(agent *a2av1alpha1.Agent) bool {
	c := meta.FindStatusCondition(agent.Status.Conditions, a2av1alpha1.ConditionProgrammed)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == agent.Generation
}

// corePlan is everything that the agent needs inside the cluster. The contract
// comes before the Deployment only when there is none yet: a pod cannot start
// without, but a contract for a template that the API server refuses must not
// be written.
func corePlan(current clusterstate.Children, want *desired.Objects) plan {
	var p plan
	// A pod must not be there before what protects it.
	add(&p, want.NetworkPolicy, current.NetworkPolicy)
	add(&p, want.ServiceAccount, current.ServiceAccount)
	add(&p, want.Service, current.Service)
	add(&p, want.Deployment, current.Deployment)
	add(&p, want.ConfigMap, current.ConfigMap)
	// An agent that runs elsewhere has a ConfigMap and no Deployment.
	if last := len(p.apply) - 1; last > 0 && current.ConfigMap == nil {
		p.apply[last-1], p.apply[last] = p.apply[last], p.apply[last-1]
	}
	add(&p, want.Budget, current.Budget)
	add(&p, want.Autoscaler, current.Autoscaler)
	return p
}

// routePlan is what leads to the agent from outside. Routes of a kind that the
// cluster does not have are neither applied nor deleted.
func routePlan(current clusterstate.Children, want *desired.Objects) plan {
	var p plan
	add(&p, want.HTTPRoute, current.HTTPRoute)
	add(&p, want.GRPCRoute, current.GRPCRoute)
	return p
}

// settled tells that every object was found to be as desired, and that nothing
// is waited for.
func (o outcomes) settled() bool {
	for _, each := range []apply.Outcome{o.core, o.routes} {
		if !each.Complete() || len(each.Changed) > 0 || len(each.Kept) > 0 || each.RecheckAfter > 0 {
			return false
		}
	}
	return !o.scaled && o.routesErr == nil
}

// agentLives asks whether an Agent is there and is not being deleted. It lists:
// the operator has no right to get one.
func agentLives(live client.Reader) func(context.Context, string, apply.Owner) (bool, error) {
	return func(ctx context.Context, namespace string, owner apply.Owner) (bool, error) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(owner.Kind)
		if err := live.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{"metadata.name": owner.Name}); err != nil {
			return false, fmt.Errorf("list Agent %s/%s: %w", namespace, owner.Name, err)
		}
		return slices.ContainsFunc(list.Items, func(m metav1.PartialObjectMetadata) bool {
			return m.UID == owner.UID && m.DeletionTimestamp.IsZero()
		}), nil
	}
}
