// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	a2av1alpha1ac "github.com/a2a-operator/a2a-operator/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/agentskill"
	"github.com/a2a-operator/a2a-operator/internal/operator/apply"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
	"github.com/a2a-operator/a2a-operator/internal/operator/installedcrds"
	"github.com/a2a-operator/a2a-operator/internal/operator/memo"
	"github.com/a2a-operator/a2a-operator/internal/operator/operatorclaim"
	"github.com/a2a-operator/a2a-operator/internal/operator/reconciletrace"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/operator/status"
)

const (
	// countInterval is the shortest interval between two counts of the Agents of one AgentSkill.
	// While thousands of Agents are created at once, the operator counts them, and writes the
	// status of the AgentSkill, at most once a second.
	countInterval = time.Second
	// maxSkillMemos bounds the memos of AgentSkills. If an entry is dropped, the next reconcile
	// may count again, or send a write that the API server refuses, as described at
	// maxWrittenStatuses.
	maxSkillMemos = 4096
	// skillWorkers is the number of AgentSkills that are reconciled at the same time. There are
	// two, so that one namespace never has all of them.
	skillWorkers = 2
)

// AgentSkillReconciler reconciles AgentSkills. It writes only their status: whether a skill is
// valid, and the number of Agents that use the skill.
type AgentSkillReconciler struct {
	client    client.Client
	watched   watchedNamespaces
	clock     clock.PassiveClock
	operators *operatorclaim.Claims
	// gather has the state of the operator's CRDs, and reads AgentSkills that seem to have lost fields.
	gather *gather.Gatherer
	// written and counted are described in package memo.
	written *memo.Writes[types.UID, writtenStatus[a2av1alpha1.AgentSkillStatus]]
	counted *memo.Memo[types.UID, struct{}, time.Time]
}

var _ reconcile.ObjectReconciler[*a2av1alpha1.AgentSkill] = (*AgentSkillReconciler)(nil)

// NewAgentSkillReconciler returns an AgentSkillReconciler. The client reads from a cache of the
// given namespaces, or of all namespaces if none is given, with the indexes that
// AgentReconciler.SetupWithManager adds. operators are nil if there is no other operator.
func NewAgentSkillReconciler(c client.Client, namespaces []string, from *gather.Gatherer, passive clock.PassiveClock, operators *operatorclaim.Claims) *AgentSkillReconciler {
	return &AgentSkillReconciler{
		operators: operators,
		gather:    from,
		client:    c,
		watched:   namespaces,
		clock:     passive,
		written:   memo.NewWrites[types.UID, writtenStatus[a2av1alpha1.AgentSkillStatus]](maxSkillMemos, passive),
		counted:   memo.New[types.UID, struct{}, time.Time](maxSkillMemos, passive),
	}
}

// Reconcile writes the status of an AgentSkill if it has changed.
func (r *AgentSkillReconciler) Reconcile(ctx context.Context, skill *a2av1alpha1.AgentSkill) (ctrl.Result, error) {
	if !skill.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	now := r.clock.Now()
	if next, ok := r.counted.Get(skill.UID, struct{}{}); ok {
		return ctrl.Result{RequeueAfter: next.Sub(now)}, nil
	}
	schemas := r.gather.CurrentSchemas()
	if schemas.Outdated != "" {
		return ctrl.Result{}, nil // as in AgentReconciler.Reconcile
	}
	decision, err := r.operators.Decide(ctx, skill, skill.Status.Operator)
	if err != nil || decision == operatorclaim.Foreign {
		return ctrl.Result{RequeueAfter: operatorclaim.Recheck}, err
	}
	agents, err := r.count(ctx, skill)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := now.Add(countInterval)
	r.counted.Put(skill.UID, struct{}{}, next, next)
	updated := *skill
	version := skill.ResourceVersion
	if last, ok := r.written.Pending(skill.UID, skill.ResourceVersion); ok {
		updated.Status = last.status
		version = last.version
	}
	fresh, err := r.gather.FreshSkill(ctx, &updated)
	if err != nil {
		return ctrl.Result{}, err
	}
	if fresh != &updated {
		version = fresh.ResourceVersion
	}
	observed, err := r.gather.ObserveAgentSkill(ctx, fresh, schemas)
	if err != nil {
		return ctrl.Result{}, err
	}
	updatedStatus := status.AgentSkill(fresh, observed, agents, now)
	if decision == operatorclaim.Free {
		updatedStatus.Operator = r.operators.Self()
	}
	err = r.writeStatus(ctx, fresh, version, updatedStatus)
	switch {
	case apply.Transient(err):
		return ctrl.Result{RequeueAfter: apply.RetryDelay(err)}, nil
	case err == nil && len(observed.Lost) > 0:
		return ctrl.Result{RequeueAfter: lostFieldsDelay}, nil
	default:
		return ctrl.Result{}, err
	}
}

// writeStatus writes a status, unless the AgentSkill already has the same status. If the
// AgentSkill does not exist any more, it returns nil. If the AgentSkill has another version than
// version, or another AgentSkill has its name, it returns a conflict.
func (r *AgentSkillReconciler) writeStatus(ctx context.Context, skill *a2av1alpha1.AgentSkill, version string, next a2av1alpha1.AgentSkillStatus) error {
	if equality.Semantic.DeepEqual(skill.Status, next) {
		return nil
	}
	applied := a2av1alpha1ac.AgentSkillStatus().
		WithAgents(*next.Agents).
		WithObservedGeneration(next.ObservedGeneration).
		WithObservedSpecDigest(next.ObservedSpecDigest).
		WithObservedSchemaGeneration(next.ObservedSchemaGeneration).
		WithConditions(conditionApplyConfigurations(next.Conditions, append(a2av1alpha1.AgentSkillConditions(), a2av1alpha1.ConditionStalled))...)
	if next.Operator != "" {
		applied.WithOperator(next.Operator)
	}
	config := a2av1alpha1ac.AgentSkill(skill.Name, skill.Namespace).WithResourceVersion(version).WithStatus(applied)
	err := r.client.Status().Apply(ctx, config, client.FieldOwner(a2av1alpha1.FieldOwner), client.ForceOwnership)
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("apply status of AgentSkill %s/%s: %w", skill.Namespace, skill.Name, err)
	}
	r.written.Put(skill.UID, newStatusWrite(skill.ResourceVersion, config.ObjectMetaApplyConfiguration, next))
	return nil
}

// count returns the number of Agents that refer to a skill and may use it.
func (r *AgentSkillReconciler) count(ctx context.Context, skill *a2av1alpha1.AgentSkill) (int32, error) {
	users := map[types.UID]bool{}
	allows := map[string]bool{} // by namespace
	for _, key := range []string{skillKey(skill.Namespace, skill.Name), skillKey(skill.Namespace, anySkill)} {
		list := &a2av1alpha1.AgentList{}
		if err := r.client.List(ctx, list, client.MatchingFields{agentsBySkill: key}, client.UnsafeDisableDeepCopy); err != nil {
			return 0, fmt.Errorf("list Agents of AgentSkill %s/%s: %w", skill.Namespace, skill.Name, err)
		}
		for i := range list.Items {
			agent := &list.Items[i]
			if !agent.DeletionTimestamp.IsZero() || !agentskill.AsksFor(agent, skill) {
				continue
			}
			allowed, known := allows[agent.Namespace]
			if !known {
				var err error
				if allowed, err = r.allows(ctx, skill, agent.Namespace); err != nil {
					return 0, err
				}
				allows[agent.Namespace] = allowed
			}
			if allowed {
				users[agent.UID] = true
			}
		}
	}
	return int32(len(users)), nil //nolint:gosec // no cluster has 2^31 Agents
}

// allows reports whether a skill allows the Agents of a namespace. It reads the labels of the
// namespace only if the skill selects namespaces by label.
func (r *AgentSkillReconciler) allows(ctx context.Context, skill *a2av1alpha1.AgentSkill, namespace string) (bool, error) {
	if namespace == skill.Namespace || skill.Spec.AllowedAgents.Namespaces.From != a2av1alpha1.FromSelector {
		return agentskill.Admits(skill, namespace, nil), nil
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.client.Get(ctx, client.ObjectKey{Name: namespace}, metadata); err != nil {
		// A Namespace that no longer exists has no Agents.
		return false, client.IgnoreNotFound(err)
	}
	return agentskill.Admits(skill, namespace, metadata.Labels), nil
}

// SetupWithManager adds the controller of AgentSkills to a manager. tracer makes the spans
// of its reconciles; nil for none. Call AgentReconciler.SetupWithManager first: it adds the
// index of Agents by skill.
func (r *AgentSkillReconciler) SetupWithManager(mgr ctrl.Manager, schemas *installedcrds.Source, tracer *reconciletrace.Tracer) error {
	fanOuts := &fanOuts{dependents: map[string]func(context.Context, types.NamespacedName) []reconcile.Request{
		kindNamespace: r.skillsOfNamespace,
		kindReference: r.referenced,
		kindSkill:     r.skillsIn,
	}}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("a2a-agentskill").
		For(&a2av1alpha1.AgentSkill{}).
		// For an update, controller-runtime maps the old and the new Agent, so a skill to
		// which the Agent no longer refers is counted again, too.
		Watches(&a2av1alpha1.Agent{}, handler.EnqueueRequestsFromMapFunc(r.skillsOfAgent), builder.WithPredicates(notInitial, usesChanged)).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(ofObject(kindNamespace)),
			builder.WithPredicates(notInitial, predicate.LabelChangedPredicate{}, r.watched.only())).
		WatchesRawSource(issuerSource{
			Source: source.Channel(schemas.AgentSkillChanges(), enqueueAllAgents[*state.Schemas](r.all)),
			tried:  schemas.Tried(),
		}).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: skillWorkers,
			NewQueue:                fanOuts.newQueue(skillWorkers),
			ReconciliationTimeout:   reconcileTimeout,
			EnableWarmup:            new(true),
		}).
		Complete(fanOuts.reconciler(tracer.Reconciler("AgentSkill", reconcile.AsReconciler(mgr.GetClient(), r), r.clock.Now)))
	if err != nil {
		return fmt.Errorf("build controller of AgentSkills: %w", err)
	}
	return nil
}

// usesChanged accepts an update of an Agent that may change which AgentSkills the Agent uses.
var usesChanged = predicate.Funcs{UpdateFunc: func(update event.UpdateEvent) bool {
	before, _ := update.ObjectOld.(*a2av1alpha1.Agent)
	after, ok := update.ObjectNew.(*a2av1alpha1.Agent)
	return ok && (before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		!equality.Semantic.DeepEqual(before.Spec.SkillRefs, after.Spec.SkillRefs) ||
		!equality.Semantic.DeepEqual(before.Spec.SkillSelector, after.Spec.SkillSelector))
}}

// all maps to all AgentSkills.
func (r *AgentSkillReconciler) all(ctx context.Context) []reconcile.Request { return r.skills(ctx) }

// skillsIn returns requests for the AgentSkills of a namespace.
func (r *AgentSkillReconciler) skillsIn(ctx context.Context, in types.NamespacedName) []reconcile.Request {
	return r.skills(ctx, client.InNamespace(in.Namespace))
}

func (r *AgentSkillReconciler) skills(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	list := &a2av1alpha1.AgentSkillList{}
	if err := r.client.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		log.FromContext(ctx).Error(err, "listing AgentSkills failed")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, request(list.Items[i].Namespace, list.Items[i].Name)...)
	}
	return requests
}

// skillsOfAgent maps an Agent to its references to skills. If the Agent selects skills, the skills of its namespace are counted again.
func (r *AgentSkillReconciler) skillsOfAgent(_ context.Context, obj client.Object) []reconcile.Request {
	agent, ok := obj.(*a2av1alpha1.Agent)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	for _, ref := range agent.Spec.SkillRefs {
		requests = append(requests, fanOut(kindReference, agent.Namespace, agentskill.Target(agent, ref).String())...)
	}
	if agent.Spec.SkillSelector != nil {
		requests = append(requests, fanOut(kindSkill, agent.Namespace, "")...)
	}
	return requests
}

// kindReference is the kind of fan-outs for references of Agents to AgentSkills. The namespace is that of the Agent, which may invent any
// number of AgentSkills in other namespaces.
const kindReference = "reference"

// referenced returns the request for an AgentSkill to which an Agent refers, if it exists.
func (r *AgentSkillReconciler) referenced(ctx context.Context, reference types.NamespacedName) []reconcile.Request {
	namespace, name, _ := strings.Cut(reference.Name, "/")
	if !r.watched.has(namespace) {
		return nil
	}
	skill := &a2av1alpha1.AgentSkill{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, skill, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	return request(namespace, name)
}

// skillsOfNamespace returns requests for the skills of other namespaces to which the Agents of a
// Namespace refer. Such a skill may admit these Agents by the labels of their Namespace.
func (r *AgentSkillReconciler) skillsOfNamespace(ctx context.Context, namespace types.NamespacedName) []reconcile.Request {
	list := &a2av1alpha1.AgentList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace.Name), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing Agents failed")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		agent := &list.Items[i]
		for _, ref := range agent.Spec.SkillRefs {
			if target := agentskill.Target(agent, ref); target.Namespace != agent.Namespace && r.watched.has(target.Namespace) {
				requests = append(requests, request(target.Namespace, target.Name)...)
			}
		}
	}
	return requests
}
