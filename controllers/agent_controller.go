// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers reconciles the custom resources.
//
// It is thin on purpose. A reconcile is a straight line: gather reads, desired
// and status think, apply writes, and what stands here is the line itself, the
// watches that start it and the one write of the status.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/apply"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/desired"
	"github.com/a2a-operator/a2a-operator/internal/events"
	"github.com/a2a-operator/a2a-operator/internal/gather"
	"github.com/a2a-operator/a2a-operator/internal/status"
)

// +kubebuilder:rbac:groups=a2a-operator.dev,resources=agents;agentskills,verbs=list;watch
// +kubebuilder:rbac:groups=a2a-operator.dev,resources=agents/status;agentskills/status,verbs=patch
// +kubebuilder:rbac:groups=a2a-operator.dev,resources=agents/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=services;serviceaccounts;configmaps,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes;grpcroutes,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// settleAfter is when to look again after somebody else wrote at the same
// moment. An event about it usually comes first.
const settleAfter = time.Second

// AgentReconciler brings the cluster to what an Agent says.
type AgentReconciler struct {
	client   client.Client
	gather   *gather.Gatherer
	apply    *apply.Applier
	events   *events.Recorder
	platform desired.Platform
	watched  watchedNamespaces
	clock    clock.PassiveClock
	written  writtenStatuses[a2av1alpha1.AgentStatus]
	settled  *settledAgents
}

var _ reconcile.ObjectReconciler[*a2av1alpha1.Agent] = (*AgentReconciler)(nil)

// AgentConfig is what an AgentReconciler needs.
type AgentConfig struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Issuer knows the keys of ServiceAccount tokens.
	Issuer gather.IssuerSource
	// Remote knows the cards of agents that run elsewhere.
	Remote gather.RemoteSource
	// Optional reads the kinds that the cluster may not have.
	Optional gather.OptionalKinds
	// Namespaces are those whose objects can be read; empty means all.
	Namespaces []string
	// Events records what happens to Agents.
	Events *events.Recorder
	// Platform is what the installation offers.
	Platform desired.Platform
	// Clock tells the time.
	Clock clock.PassiveClock
}

// NewAgentReconciler returns an AgentReconciler.
func NewAgentReconciler(config AgentConfig) *AgentReconciler {
	return &AgentReconciler{
		client: config.Client,
		gather: gather.New(gather.Config{
			Reader: config.Client, Issuer: config.Issuer, Remote: config.Remote,
			Optional: config.Optional, Namespaces: config.Namespaces,
		}),
		apply: apply.New(apply.Config{
			Writer:           config.Client,
			FieldOwner:       a2av1alpha1.FieldOwner,
			DigestAnnotation: a2av1alpha1.AnnotationAppliedDigest,
			OwnerLabel:       a2av1alpha1.LabelAgent,
			Lives:            agentLives(config.Live),
			Clock:            config.Clock,
		}),
		events:   config.Events,
		platform: config.Platform,
		watched:  config.Namespaces,
		clock:    config.Clock,
		written:  newWrittenStatuses[a2av1alpha1.AgentStatus](),
		settled:  newSettledAgents(),
	}
}

// look reconciles an Agent by its name. The object is the cache's own.
func (r *AgentReconciler) look(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	agent := &a2av1alpha1.Agent{}
	err := r.client.Get(ctx, request.NamespacedName, agent, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		r.settled.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get Agent %s: %w", request.NamespacedName, err)
	}
	return r.Reconcile(ctx, agent)
}

// Reconcile brings the cluster to what the Agent says, and the Agent's status
// to what the cluster is. The Agent is not changed.
func (r *AgentReconciler) Reconcile(ctx context.Context, agent *a2av1alpha1.Agent) (ctrl.Result, error) {
	if !agent.DeletionTimestamp.IsZero() {
		// The garbage collector deletes what the Agent owns.
		return ctrl.Result{}, nil
	}
	agent = r.asWritten(agent)
	in, err := r.gather.Agent(ctx, agent)
	if err != nil {
		return ctrl.Result{}, err
	}
	basis := gather.BasisOf(in)
	want, settled := r.settled.of(agent, basis)
	var outcome outcomes
	var applyErr error
	if !settled {
		in = copied(in)
		if want, err = desired.Agent(in, r.platform); err != nil {
			return ctrl.Result{}, reconcile.TerminalError(err)
		}
		outcome, applyErr = r.applyObjects(ctx, in, want)
	}
	for _, err := range []error{applyErr, outcome.routesErr} {
		if errors.Is(err, apply.ErrOwnerGone) {
			return ctrl.Result{}, nil
		}
		if apply.Ephemeral(err) {
			return ctrl.Result{RequeueAfter: settleAfter}, nil
		}
	}
	applied := want.Objects != nil && outcome.core.Complete() && applyErr == nil
	if applyErr == nil && (applied || want.Objects == nil) && outcome.settled() {
		r.settled.remember(agent, basis, want)
	}
	var publishErr error
	if applied {
		outcome.pods, publishErr = r.publish(ctx, in, want.Card)
	}

	next := status.Agent(statusInputs(in, r.platform, want, outcome, applied, r.clock.Now()))
	writeErr := r.writeStatus(ctx, agent, next.Status)
	if writeErr == nil {
		r.events.Publish(agent, events.Transitions(agent.Status, next.Status)...)
	}
	return ctrl.Result{RequeueAfter: recheckAfter(next, outcome)}, errors.Join(applyErr, outcome.routesErr, publishErr, writeErr)
}

// publish tells the pods to read the contract that was written.
func (r *AgentReconciler) publish(ctx context.Context, in clusterstate.Agent, card desired.Publication) (apply.Outcome, error) {
	return r.apply.Annotate(ctx, in.Pods, a2av1alpha1.AnnotationConfigDigest, card.ConfigDigest, a2av1alpha1.FieldOwnerPublisher)
}

// writeStatus writes a status, but for one that is there already.
func (r *AgentReconciler) writeStatus(ctx context.Context, agent *a2av1alpha1.Agent, next a2av1alpha1.AgentStatus) error {
	if sameStatus(agent.Status, next) {
		return nil
	}
	err := r.client.Status().Apply(ctx, statusApplyConfiguration(agent, next),
		client.FieldOwner(a2av1alpha1.FieldOwner), client.ForceOwnership)
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("apply status of Agent %s/%s: %w", agent.Namespace, agent.Name, err)
	}
	r.written.remember(agent, next)
	return nil
}

// sameStatus compares the conditions, which are most of a status, by themselves:
// to do so by reflection was a seventh of a look.
func sameStatus(a, b a2av1alpha1.AgentStatus) bool {
	if !slices.EqualFunc(a.Conditions, b.Conditions, sameCondition) {
		return false
	}
	a.Conditions, b.Conditions = nil, nil
	return equality.Semantic.DeepEqual(a, b)
}

func sameCondition(a, b metav1.Condition) bool {
	since := a.LastTransitionTime.Equal(&b.LastTransitionTime)
	a.LastTransitionTime, b.LastTransitionTime = metav1.Time{}, metav1.Time{}
	return since && a == b
}

// asWritten returns the Agent with the status that was written last. The
// cache's own object is not changed.
func (r *AgentReconciler) asWritten(agent *a2av1alpha1.Agent) *a2av1alpha1.Agent {
	last, ok := r.written.of(agent)
	if !ok {
		return agent
	}
	seen := *agent
	seen.Status = *last.DeepCopy()
	return &seen
}

// recheckAfter is when to look again if nothing happens before.
func recheckAfter(next status.Result, outcome outcomes) time.Duration {
	after := next.RecheckAfter
	for _, each := range []apply.Outcome{outcome.core, outcome.routes, outcome.pods} {
		after = sooner(after, each.RecheckAfter)
	}
	return after
}

// sooner is the smaller of two times of which zero is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
