// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/reconciletrace"
	"github.com/a2a-operator/a2a-operator/internal/skillsharing"
)

// SetupWithManager adds the controller of AgentSkills to a manager. tracer makes the spans
// of its reconciles; nil for none. Call AgentReconciler.SetupWithManager first: it adds the
// index of Agents by skill.
func (r *AgentSkillReconciler) SetupWithManager(mgr ctrl.Manager, tracer *reconciletrace.Tracer) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("agentskill").
		For(&a2av1alpha1.AgentSkill{}).
		// For an update, controller-runtime maps the old and the new Agent, so a skill to
		// which the Agent no longer refers is counted again, too. The predicate ignores
		// changes of an Agent's status, because no AgentSkill depends on it.
		Watches(&a2av1alpha1.Agent{}, handler.EnqueueRequestsFromMapFunc(r.skillsOfAgent),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.skillsOfNamespace),
			builder.WithPredicates(predicate.LabelChangedPredicate{}, r.watched.only())).
		WithOptions(controller.Options{EnableWarmup: new(true)}).
		Complete(tracer.Reconciler("AgentSkill", reconcile.AsReconciler(mgr.GetClient(), r), r.clock.Now))
	if err != nil {
		return fmt.Errorf("build controller of AgentSkills: %w", err)
	}
	return nil
}

// skillsOfAgent maps an Agent to the skills to which it refers, by name or selector.
func (r *AgentSkillReconciler) skillsOfAgent(ctx context.Context, obj client.Object) []reconcile.Request {
	agent, ok := obj.(*a2av1alpha1.Agent)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	for _, ref := range agent.Spec.SkillRefs {
		if target := skillsharing.Target(agent, ref); r.watched.has(target.Namespace) {
			requests = append(requests, reconcile.Request{NamespacedName: target})
		}
	}
	if agent.Spec.SkillSelector == nil {
		return requests
	}
	list := &a2av1alpha1.AgentSkillList{}
	if err := r.client.List(ctx, list, client.InNamespace(agent.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing AgentSkills failed")
		return requests
	}
	for i := range list.Items {
		if skillsharing.AsksFor(agent, &list.Items[i]) {
			requests = append(requests, request(list.Items[i].Namespace, list.Items[i].Name)...)
		}
	}
	return requests
}

// skillsOfNamespace maps a Namespace to skills of other namespaces to which its Agents
// refer. Such a skill may admit or refuse these Agents by the labels of the Namespace.
func (r *AgentSkillReconciler) skillsOfNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	list := &a2av1alpha1.AgentList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace.GetName()), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing Agents failed")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		agent := &list.Items[i]
		for _, ref := range agent.Spec.SkillRefs {
			if target := skillsharing.Target(agent, ref); target.Namespace != agent.Namespace && r.watched.has(target.Namespace) {
				requests = append(requests, reconcile.Request{NamespacedName: target})
			}
		}
	}
	return requests
}
