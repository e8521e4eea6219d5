// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	a2av1alpha1ac "github.com/a2a-operator/a2a-operator/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/skillsharing"
	"github.com/a2a-operator/a2a-operator/internal/status"
)

// skillInterval is the least time between two looks at one AgentSkill. Ten
// thousand Agents that come at once are counted, and written, once a second.
const skillInterval = time.Second

// AgentSkillReconciler tells of an AgentSkill whether it can be used, and by
// how many it is. It writes nothing but that status.
type AgentSkillReconciler struct {
	client  client.Client
	watched watchedNamespaces
	clock   clock.PassiveClock
	written writtenStatuses[a2av1alpha1.AgentSkillStatus]
	// looked holds when each was looked at.
	looked *lru.Cache
}

var _ reconcile.ObjectReconciler[*a2av1alpha1.AgentSkill] = (*AgentSkillReconciler)(nil)

// NewAgentSkillReconciler returns an AgentSkillReconciler. The client reads from
// a cache with the index of SetupWithManager, of the namespaces that are named,
// or of all if none is.
func NewAgentSkillReconciler(c client.Client, namespaces []string, passive clock.PassiveClock) *AgentSkillReconciler {
	return &AgentSkillReconciler{
		client:  c,
		watched: namespaces,
		clock:   passive,
		written: newWrittenStatuses[a2av1alpha1.AgentSkillStatus](),
		looked:  lru.New(recentlyWritten),
	}
}

// Reconcile writes the status of an AgentSkill, if it has changed.
func (r *AgentSkillReconciler) Reconcile(ctx context.Context, skill *a2av1alpha1.AgentSkill) (ctrl.Result, error) {
	if !skill.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	now := r.clock.Now()
	if last, ok := r.looked.Get(skill.UID); ok {
		if rest := skillInterval - now.Sub(last.(time.Time)); rest > 0 {
			return ctrl.Result{RequeueAfter: rest}, nil
		}
	}
	agents, err := r.count(ctx, skill)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.looked.Add(skill.UID, now)
	seen := *skill
	if last, ok := r.written.of(skill); ok {
		seen.Status = last
	}
	return ctrl.Result{}, r.write(ctx, &seen, status.AgentSkill(&seen, agents, now))
}

// write writes a status, but for one that is there already.
func (r *AgentSkillReconciler) write(ctx context.Context, skill *a2av1alpha1.AgentSkill, next a2av1alpha1.AgentSkillStatus) error {
	if equality.Semantic.DeepEqual(skill.Status, next) {
		return nil
	}
	config := a2av1alpha1ac.AgentSkill(skill.Name, skill.Namespace).WithUID(skill.UID).WithStatus(
		a2av1alpha1ac.AgentSkillStatus().
			WithAgents(*next.Agents).
			WithObservedGeneration(next.ObservedGeneration).
			WithConditions(conditionApplyConfigurations(next.Conditions, a2av1alpha1.AgentSkillConditions())...))
	err := r.client.Status().Apply(ctx, config, client.FieldOwner(a2av1alpha1.FieldOwner), client.ForceOwnership)
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("apply status of AgentSkill %s/%s: %w", skill.Namespace, skill.Name, err)
	}
	r.written.remember(skill, next)
	return nil
}

// count returns how many Agents ask for a skill and may have it.
func (r *AgentSkillReconciler) count(ctx context.Context, skill *a2av1alpha1.AgentSkill) (int32, error) {
	users := map[types.UID]bool{}
	for _, key := range []string{skillKey(skill.Namespace, skill.Name), skillKey(skill.Namespace, anySkill)} {
		list := &a2av1alpha1.AgentList{}
		// The list is only looked at.
		if err := r.client.List(ctx, list, client.MatchingFields{agentsBySkill: key}, client.UnsafeDisableDeepCopy); err != nil {
			return 0, fmt.Errorf("list Agents of AgentSkill %s/%s: %w", skill.Namespace, skill.Name, err)
		}
		for i := range list.Items {
			agent := &list.Items[i]
			if !agent.DeletionTimestamp.IsZero() || !skillsharing.AsksFor(agent, skill) {
				continue
			}
			admitted, err := r.admits(ctx, skill, agent.Namespace)
			if err != nil {
				return 0, err
			}
			if admitted {
				users[agent.UID] = true
			}
		}
	}
	return int32(len(users)), nil //nolint:gosec // no cluster has as many
}

// admits reads the labels of a namespace if they decide.
func (r *AgentSkillReconciler) admits(ctx context.Context, skill *a2av1alpha1.AgentSkill, namespace string) (bool, error) {
	if namespace == skill.Namespace || skill.Spec.AllowedAgents.Namespaces.From != a2av1alpha1.FromSelector {
		return skillsharing.Admits(skill, namespace, nil), nil
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.client.Get(ctx, client.ObjectKey{Name: namespace}, metadata); err != nil {
		// An Agent of a namespace that is going goes, too.
		return false, client.IgnoreNotFound(err)
	}
	return skillsharing.Admits(skill, namespace, metadata.Labels), nil
}
