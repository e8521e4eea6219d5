// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers reconciles the custom resources.
//
// A reconcile has four steps: gather reads, desired and status compute, and apply writes. This
// package calls these steps, sets up the watches that start a reconcile, and writes the status.
// The rules are in the packages of the steps.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	k8sevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/apply"
	"github.com/a2a-operator/a2a-operator/internal/operator/desired"
	"github.com/a2a-operator/a2a-operator/internal/operator/events"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
	"github.com/a2a-operator/a2a-operator/internal/operator/memo"
	"github.com/a2a-operator/a2a-operator/internal/operator/operatorclaim"
	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/operator/status"
)

// +kubebuilder:rbac:groups=a2a-operator.dev,resources=agents;agentskills,verbs=list;watch
// +kubebuilder:rbac:groups=a2a-operator.dev,resources=agents/status;agentskills/status,verbs=patch
// +kubebuilder:rbac:groups=a2a-operator.dev,resources=agents/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=list;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services;serviceaccounts;configmaps,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes;grpcroutes,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// lostFieldsDelay is the delay after which an Agent that seems to have lost fields is read again
	// (gather.Gatherer.Fresh): the fields may be back without an event.
	lostFieldsDelay = time.Minute
	// maxWrittenStatuses bounds the memo of written statuses. If an entry is dropped and the cache
	// does not show the write yet, the next reconcile may write again. The API server refuses this
	// write, because the write names an old resource version.
	maxWrittenStatuses = 4096
)

// AgentReconciler reconciles Agents.
type AgentReconciler struct {
	config AgentConfig
	apply  *apply.Applier
	claims *addressClaims
	// inSync and written are described in package memo.
	inSync  *memo.Memo[types.NamespacedName, gather.InputDigest, desired.Result]
	written *memo.Writes[types.UID, writtenStatus[a2av1alpha1.AgentStatus]]
	// observed has the messages of the conditions that applyObserved wrote, "" for none.
	observed *memo.Writes[types.UID, writtenStatus[string]]
	// outdated has the Agents with an event of publishOutdated.
	outdated *memo.Memo[types.UID, string, struct{}]
}

var _ reconcile.ObjectReconciler[*a2av1alpha1.Agent] = (*AgentReconciler)(nil)

// AgentConfig configures an AgentReconciler. All fields but Operators are required.
type AgentConfig struct {
	// Client reads from the informer caches and writes to the API server.
	Client client.Client
	// Gather reads the state. NewAgentReconciler sets its fields Reader and Claims.
	Gather   gather.Gatherer
	Events   k8sevents.EventRecorder
	Platform desired.Platform
	Clock    clock.PassiveClock
	// Operators decides whether another operator manages an Agent; nil if there is no other one.
	Operators *operatorclaim.Claims
}

// NewAgentReconciler returns an AgentReconciler.
func NewAgentReconciler(config AgentConfig) *AgentReconciler {
	claims := newAddressClaims(config.Client, config.Gather.Optional)
	config.Gather.Reader = config.Client
	config.Gather.Claims = claims.oldestOf
	config.Gather.Revisions = gather.NewRevisions(config.Clock)
	config.Gather.ImageVolumes = gather.NewImageVolumes(config.Client, config.Clock)
	return &AgentReconciler{
		config: config,
		claims: claims,
		apply: apply.New(apply.Config{
			Writer:           config.Client,
			FieldOwner:       a2av1alpha1.FieldOwner,
			DigestAnnotation: a2av1alpha1.AnnotationAppliedDigest,
			OwnerLabel:       a2av1alpha1.LabelAgent,
			OwnerExists:      agentExists(config.Gather.Live),
			Clock:            config.Clock,
			Live:             config.Gather.Live,
		}),
		inSync:   memo.New[types.NamespacedName, gather.InputDigest, desired.Result](0, config.Clock),
		outdated: memo.New[types.UID, string, struct{}](maxWrittenStatuses, config.Clock),
		written:  memo.NewWrites[types.UID, writtenStatus[a2av1alpha1.AgentStatus]](maxWrittenStatuses, config.Clock),
		observed: memo.NewWrites[types.UID, writtenStatus[string]](maxWrittenStatuses, config.Clock),
	}
}

// agentExists returns a function that reports, by a live read, whether an Agent exists and is
// not being deleted. The function lists Agents, because the operator has no right to get
// them.
func agentExists(live client.Reader) func(context.Context, string, apply.Owner) (bool, error) {
	return func(ctx context.Context, namespace string, owner apply.Owner) (bool, error) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(owner.Kind)
		exists := false
		err := pagedlist.Each(ctx, live, list, 1, func(o runtime.Object) {
			m := o.(*metav1.PartialObjectMetadata)
			exists = m.UID == owner.UID && m.DeletionTimestamp.IsZero()
		}, client.InNamespace(namespace), client.MatchingFields{"metadata.name": owner.Name})
		if err != nil {
			return false, fmt.Errorf("list Agent %s/%s: %w", namespace, owner.Name, err)
		}
		return exists, nil
	}
}

// ReconcileRequest reconciles the Agent that the request names. It passes the cached object
// itself to Reconcile, because a copy for each reconcile would be a large part of the cost.
func (r *AgentReconciler) ReconcileRequest(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	agent := &a2av1alpha1.Agent{}
	err := r.config.Client.Get(ctx, request.NamespacedName, agent, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		r.inSync.Drop(request.NamespacedName)
		r.config.Gather.Remote.AgentDeleted(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get Agent %s: %w", request.NamespacedName, err)
	}
	return r.Reconcile(ctx, agent)
}

// Reconcile writes the objects of an Agent that differ from their desired state, and the
// Agent's status if it differs from the observed state. It does not modify agent.
func (r *AgentReconciler) Reconcile(ctx context.Context, agent *a2av1alpha1.Agent) (ctrl.Result, error) {
	if !agent.DeletionTimestamp.IsZero() {
		// The garbage collector deletes the objects of the Agent.
		return ctrl.Result{}, nil
	}
	agent, version, err := r.current(ctx, agent)
	if err != nil {
		return ctrl.Result{}, err
	}
	agent, version, mine, err := r.claimed(ctx, agent, version)
	switch {
	case apply.Transient(err):
		return ctrl.Result{RequeueAfter: apply.RetryDelay(err)}, nil
	case err != nil:
		return ctrl.Result{}, err
	case !mine:
		return ctrl.Result{RequeueAfter: operatorclaim.Recheck}, r.leaveAlone(ctx, agent)
	}
	return r.reconcileClaimed(ctx, agent, version)
}

// reconcileClaimed reconciles an Agent of this operator.
func (r *AgentReconciler) reconcileClaimed(ctx context.Context, agent *a2av1alpha1.Agent, version string) (ctrl.Result, error) {
	in, err := r.config.Gather.Agent(ctx, agent)
	if err != nil {
		return ctrl.Result{}, err
	}
	key := client.ObjectKeyFromObject(agent)
	digest := gather.DigestInputs(in)
	want, inSync := r.inSync.Get(key, digest)
	var results writeResults
	var writeErr error
	if !inSync {
		if in, want, err = r.render(ctx, in); err != nil {
			return ctrl.Result{}, err
		}
		results, writeErr = writeObjects(ctx, r.apply, in, want)
	}
	for _, err := range []error{writeErr, results.routesErr} {
		if errors.Is(err, apply.ErrOwnerGone) {
			return ctrl.Result{}, nil
		}
		if apply.Transient(err) {
			return ctrl.Result{RequeueAfter: apply.RetryDelay(err)}, nil
		}
	}
	results.contests, results.contestsFor = r.apply.Contested(agent.UID)
	applied := want.Objects != nil && results.core.Complete() && writeErr == nil
	if !inSync && writeErr == nil && (applied || want.Objects == nil) && results.inSync() {
		r.inSync.Put(key, digest, withoutObjects(want), time.Time{})
	}
	var annotateErr error
	if applied {
		results.pods, annotateErr = r.apply.Annotate(ctx, in.Pods,
			a2av1alpha1.AnnotationConfigDigest, want.Card.ConfigDigest, a2av1alpha1.FieldOwnerPublisher)
	}

	if outdated := in.Schemas.Outdated; outdated != "" {
		// A write of the status would make the API server store the spec without the fields that the CRD
		// lacks, and they would be lost.
		r.publishOutdated(agent, outdated)
		return ctrl.Result{}, writeErr
	}
	next, revisions, recordErr := r.recordIfNew(ctx, in, want, statusInputs(in, r.config.Platform, want, results, applied, r.config.Clock.Now()))
	statusErr := r.writeStatus(ctx, agent, version, next.Status)
	observed, observedErr := r.removeObserver(ctx, agent)
	requeueAfter := recheckAfter(in, next, results, observed, revisions)
	switch {
	case statusErr == nil:
		events.Publish(r.config.Events, agent, events.Transitions(agent.Status, next.Status)...)
	case apply.Transient(statusErr):
		requeueAfter = apply.RetryDelay(statusErr)
		statusErr = nil
	}
	return ctrl.Result{RequeueAfter: requeueAfter}, errors.Join(writeErr, results.routesErr, annotateErr, recordErr, observedErr, statusErr)
}

// render returns the desired state of an Agent, and the state from which it was rendered, with the files of the skills and the
// instructions.
func (r *AgentReconciler) render(ctx context.Context, in state.Agent) (state.Agent, desired.Result, error) {
	if err := r.config.Gather.ReadSkillFiles(ctx, &in); err != nil {
		return in, desired.Result{}, err
	}
	if err := r.config.Gather.ReadInstructions(ctx, &in); err != nil {
		return in, desired.Result{}, err
	}
	in = withCopies(in)
	want, err := desired.Agent(in, r.config.Platform)
	if err != nil {
		return in, want, reconcile.TerminalError(err)
	}
	return in, want, nil
}

// publishOutdated sends an event that the operator does not apply the spec of an Agent, once for each text.
func (r *AgentReconciler) publishOutdated(agent *a2av1alpha1.Agent, outdated string) {
	if _, sent := r.outdated.Get(agent.UID, outdated); sent {
		return
	}
	r.outdated.Put(agent.UID, outdated, struct{}{}, time.Time{})
	events.Publish(r.config.Events, agent, events.Outdated(outdated))
}

// current returns the Agent with its last status (withWrittenStatus) and with all its fields
// (gather.Gatherer.Fresh), and its resource version.
func (r *AgentReconciler) current(ctx context.Context, cached *a2av1alpha1.Agent) (agent *a2av1alpha1.Agent, version string, err error) {
	agent, version = r.withWrittenStatus(cached)
	fresh, err := r.config.Gather.Fresh(ctx, agent)
	if err == nil && fresh != agent {
		agent = fresh
		version = fresh.ResourceVersion
	}
	return agent, version, err
}

// withWrittenStatus returns a copy of the Agent with the status that the operator wrote last,
// while the cache possibly does not show this write yet. Otherwise it returns the cached object
// itself. It never modifies the cached object. version is the resource version of the Agent that
// it returns.
func (r *AgentReconciler) withWrittenStatus(agent *a2av1alpha1.Agent) (updated *a2av1alpha1.Agent, version string) {
	last, ok := r.written.Pending(agent.UID, agent.ResourceVersion)
	if !ok {
		return agent, agent.ResourceVersion
	}
	withStatus := *agent
	withStatus.Status = *last.status.DeepCopy()
	return &withStatus, last.version
}

// writeStatus writes a status, unless the Agent already has the same status. If the Agent does
// not exist any more, writeStatus returns nil. If the Agent has another version than version,
// or another Agent has its name, writeStatus returns a conflict.
func (r *AgentReconciler) writeStatus(ctx context.Context, agent *a2av1alpha1.Agent, version string, next a2av1alpha1.AgentStatus) error {
	if status.Equal(agent.Status, next) {
		return nil
	}
	config := statusApplyConfiguration(agent, version, next)
	err := r.config.Client.Status().Apply(ctx, config, client.FieldOwner(a2av1alpha1.FieldOwner), client.ForceOwnership)
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("apply status of Agent %s/%s: %w", agent.Namespace, agent.Name, err)
	}
	r.written.Put(agent.UID, newStatusWrite(agent.ResourceVersion, config.ObjectMetaApplyConfiguration, next))
	return nil
}

// withCopies returns the state with copies of the Agent and its skills. The desired objects
// share memory with the Agent and its skills, and the client decodes the responses of the API
// server into the desired objects. Without the copies, this decoding would change cached
// objects.
func withCopies(in state.Agent) state.Agent {
	in.Agent = in.Agent.DeepCopy()
	in.Skills.Referenced = maps.Clone(in.Skills.Referenced)
	for key, skill := range in.Skills.Referenced {
		in.Skills.Referenced[key] = skill.DeepCopy()
	}
	in.Skills.Selected = slices.Clone(in.Skills.Selected)
	for i, skill := range in.Skills.Selected {
		in.Skills.Selected[i] = skill.DeepCopy()
	}
	return in
}

// anyObjects replaces the desired objects in the memo of Agents in sync, to save memory. The code
// that reads the memo only checks whether the objects are nil.
var anyObjects = &desired.Objects{}

// withoutObjects returns the result with anyObjects instead of its desired objects, or with
// nil if it has none.
func withoutObjects(want desired.Result) desired.Result {
	if want.Objects != nil {
		want.Objects = anyObjects
	}
	return want
}

// recheckAfter returns the delay after which to reconcile the Agent again if no event starts a
// reconcile earlier; 0 if only an event starts one. observed is the delay of removeObserver.
func recheckAfter(in state.Agent, next status.Result, results writeResults, observed, revisions time.Duration) time.Duration {
	var shortest time.Duration
	if len(in.Observed.Lost) > 0 {
		shortest = lostFieldsDelay
	}
	if len(in.RestartOn) > 0 {
		shortest = state.RestartAge
	}
	for _, delay := range []time.Duration{next.RecheckAfter, results.core.RecheckAfter, results.routes.RecheckAfter, results.pods.RecheckAfter, results.contestsFor, observed, revisions} {
		if delay > 0 && (shortest == 0 || delay < shortest) {
			shortest = delay
		}
	}
	return shortest
}
