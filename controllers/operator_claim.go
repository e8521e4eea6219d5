// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	a2av1alpha1ac "github.com/a2a-operator/a2a-operator/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/events"
	"github.com/a2a-operator/a2a-operator/internal/operator/operatorclaim"
)

// claimed returns the Agent with a claim of this operator, and its resource version. It writes the claim before the
// operator writes any object of the Agent, so that a second operator, which writes at the same time, gets a conflict.
// mine is false if another operator manages the Agent.
func (r *AgentReconciler) claimed(ctx context.Context, agent *a2av1alpha1.Agent, version string) (claimed *a2av1alpha1.Agent, newVersion string, mine bool, err error) {
	operators := r.config.Operators
	decision, err := operators.Decide(ctx, agent, agent.Status.Operator)
	if err != nil || decision == operatorclaim.Foreign {
		return agent, version, false, err
	}
	if decision == operatorclaim.Held || r.config.Gather.CurrentSchemas().Outdated != "" {
		// A CRD without the field would drop the claim.
		return agent, version, true, nil
	}
	former := agent.Status.Operator
	withClaim := *agent
	withClaim.Status = *agent.Status.DeepCopy()
	withClaim.Status.Operator = operators.Self()
	if err := r.writeStatus(ctx, agent, version, withClaim.Status); err != nil {
		return agent, version, false, err
	}
	if last, ok := r.written.Last(agent.UID); ok {
		version = last.version
	}
	if former != "" {
		events.Publish(r.config.Events, agent, events.TakenOver(former, operators.Self()))
	}
	return &withClaim, version, true, nil
}

// leaveAlone tells, by a condition and an event, that another operator manages the Agent. If two operators leave the
// Agent alone, the condition is of the first one.
func (r *AgentReconciler) leaveAlone(ctx context.Context, agent *a2av1alpha1.Agent) error {
	left := r.config.Operators.Left("Agent", agent.Status.Operator)
	if last, pending := r.observed.Pending(agent.UID, agent.ResourceVersion); pending && last.status == left.Message {
		return nil
	}
	if present := meta.FindStatusCondition(agent.Status.Conditions, left.Type); present != nil && present.Message != left.Message {
		if observer := operatorclaim.Observer(present); observer != r.config.Operators.Self() {
			gone, err := r.config.Operators.Gone(ctx, observer, agent.Namespace)
			if err != nil || !gone {
				return err
			}
		}
	} else if present != nil {
		return nil
	}
	left.LastTransitionTime = metav1.NewTime(r.config.Clock.Now())
	left.ObservedGeneration = agent.Generation
	if err := r.applyObserved(ctx, agent, left); err != nil {
		return err
	}
	events.Publish(r.config.Events, agent, events.Left(left.Message))
	return nil
}

// removeObserver removes the condition of leaveAlone from an Agent of this operator if the operator that has set it
// is this one or is gone. It returns the delay after which to try again if the condition stays.
func (r *AgentReconciler) removeObserver(ctx context.Context, agent *a2av1alpha1.Agent) (recheckAfter time.Duration, err error) {
	present := meta.FindStatusCondition(agent.Status.Conditions, a2av1alpha1.ConditionManagedByAnotherOperator)
	if present == nil || r.config.Operators == nil {
		return 0, nil
	}
	if last, pending := r.observed.Pending(agent.UID, agent.ResourceVersion); pending && last.status == "" {
		return 0, nil
	}
	if observer := operatorclaim.Observer(present); observer != r.config.Operators.Self() {
		gone, err := r.config.Operators.Gone(ctx, observer, agent.Namespace)
		if err != nil || !gone {
			return operatorclaim.Recheck, err
		}
	}
	return 0, r.applyObserved(ctx, agent, metav1.Condition{})
}

// applyObserved applies the condition that a second operator owns, or removes it if it has no type.
func (r *AgentReconciler) applyObserved(ctx context.Context, agent *a2av1alpha1.Agent, condition metav1.Condition) error {
	var conditions []*metav1ac.ConditionApplyConfiguration
	if condition.Type != "" {
		conditions = conditionApplyConfigurations([]metav1.Condition{condition}, []string{condition.Type})
	}
	config := a2av1alpha1ac.Agent(agent.Name, agent.Namespace).WithStatus(a2av1alpha1ac.AgentStatus().WithConditions(conditions...))
	err := r.config.Client.Status().Apply(ctx, config, client.FieldOwner(a2av1alpha1.FieldOwnerObserver), client.ForceOwnership)
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("apply conditions of Agent %s/%s: %w", agent.Namespace, agent.Name, err)
	}
	r.observed.Put(agent.UID, newStatusWrite(agent.ResourceVersion, config.ObjectMetaApplyConfiguration, condition.Message))
	return nil
}
