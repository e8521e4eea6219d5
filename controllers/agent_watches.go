// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/crdwatch"
	"github.com/a2a-operator/a2a-operator/internal/operator/exposure"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
	"github.com/a2a-operator/a2a-operator/internal/operator/informercache"
	"github.com/a2a-operator/a2a-operator/internal/operator/installedcrds"
	"github.com/a2a-operator/a2a-operator/internal/operator/issuerkeys"
	"github.com/a2a-operator/a2a-operator/internal/operator/reconciletrace"
	"github.com/a2a-operator/a2a-operator/internal/operator/registryca"
	"github.com/a2a-operator/a2a-operator/internal/operator/remote"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenkeys"
)

// AgentWatches holds the options of the controller of Agents, and the sources of events that start
// reconciles of Agents in addition to the informer caches.
type AgentWatches struct {
	// Issuer sends an event when the keys of the token issuer have changed.
	Issuer *issuerkeys.Source
	// RegistryCA sends an event when the certificate authorities of the registry have changed.
	// It may be nil.
	RegistryCA *registryca.Source
	// TokenKeys sends an event when the public keys of the registry's tokens have changed; nil
	// if the manager issues no tokens.
	TokenKeys *tokenkeys.Source
	// Remote sends an event when the card of a remote agent has changed.
	Remote *remote.Source
	// Exposure sends an event when the rules of exposure have changed. It may be nil.
	Exposure *exposure.Source
	// Schemas sends an event when a CRD of the operator has changed.
	Schemas *installedcrds.Source
	// Optional watches the kinds of the Gateway API.
	Optional *crdwatch.Kinds
	// MaxConcurrentReconciles is the number of Agents that are reconciled at the same time.
	MaxConcurrentReconciles int
	// Tracer makes the spans of reconciles; nil for none.
	Tracer *reconciletrace.Tracer
}

// SetupWithManager adds the indexes and the controller of Agents to a manager.
func (r *AgentReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watches AgentWatches) error {
	if err := indexAgents(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	mapping := agentMapping{cache: r.config.Client, claims: r.claims}
	overdue, err := overdueAgents(mgr, mapping)
	if err != nil {
		return fmt.Errorf("add overdue Agents: %w", err)
	}
	fanOuts := mapping.fanOuts()
	child := handler.EnqueueRequestsFromMapFunc(mapping.ofChild(sameName))
	// The watch of Agents has no predicate: the event of a status write must start a reconcile,
	// because the status may have been computed from an older Agent.
	agents := ctrl.NewControllerManagedBy(mgr).
		Named("a2a-agent").
		For(&a2av1alpha1.Agent{}).
		Watches(&a2av1alpha1.Agent{}, handler.EnqueueRequestsFromMapFunc(mapping.competitorsOf),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appsv1.Deployment{}, child).
		Watches(&corev1.Service{}, child).
		Watches(&corev1.ServiceAccount{}, handler.EnqueueRequestsFromMapFunc(mapping.ofAccount), builder.WithPredicates(notInitial)).
		Watches(&networkingv1.NetworkPolicy{}, child).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, child).
		Watches(&policyv1.PodDisruptionBudget{}, child).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(mapping.ofConfigMap), builder.WithPredicates(notInitial)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(mapping.ofPod)).
		// The predicates ignore changes of a skill's status: it changes with each Agent that
		// starts or stops using the skill, and no other Agent depends on it.
		Watches(&a2av1alpha1.AgentSkill{}, handler.EnqueueRequestsFromMapFunc(ofObject(kindSkill)),
			builder.WithPredicates(notInitial, predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, observedChanged))).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(ofObject(kindNamespace)),
			builder.WithPredicates(notInitial, predicate.LabelChangedPredicate{}, watchedNamespaces(r.config.Gather.Namespaces).only())).
		WatchesRawSource(overdue).
		WatchesRawSource(issuerSource{
			Source: source.Channel(watches.Issuer.Changes(), enqueueAllAgents[*state.Issuer](mapping.all)),
			tried:  watches.Issuer.Tried(),
		}).
		WatchesRawSource(issuerSource{
			Source: source.Channel(watches.Schemas.AgentChanges(), enqueueAllAgents[*state.Schemas](mapping.all)),
			tried:  watches.Schemas.Tried(),
		}).
		WatchesRawSource(source.Channel(watches.RegistryCA.Changes(), enqueueAllAgents[*state.RegistryCA](mapping.all))).
		WatchesRawSource(source.Channel(watches.Exposure.Changes(), enqueueAllAgents[*exposure.Rules](mapping.exposed))).
		WatchesRawSource(source.Channel(watches.Remote.Changes(),
			handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, key types.NamespacedName) []reconcile.Request {
				return request(key.Namespace, key.Name)
			}))).
		WatchesRawSource(watches.Optional.Source(crdwatch.Handlers{
			Objects: map[schema.GroupResource]handler.MapFunc{
				gather.Gateways:   ofObject(kindGateway),
				gather.HTTPRoutes: mapping.ofRoute,
				gather.GRPCRoutes: mapping.ofRoute,
			},
			Changed: r.gatewayAPIChanged,
		})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: watches.MaxConcurrentReconciles,
			NewQueue:                fanOuts.newQueue(watches.MaxConcurrentReconciles),
			ReconciliationTimeout:   reconcileTimeout,
			EnableWarmup:            new(true),
		})
	if keys := watches.TokenKeys; keys != nil {
		agents.WatchesRawSource(issuerSource{
			Source: source.Channel(keys.Changes(), enqueueAllAgents[*state.Issuer](mapping.all)),
			tried:  keys.Tried(),
		})
	}
	if err := agents.Complete(fanOuts.reconciler(watches.Tracer.Reconciler("Agent", reconcile.Func(r.ReconcileRequest), r.config.Clock.Now))); err != nil {
		return fmt.Errorf("build controller of Agents: %w", err)
	}
	return nil
}

// observedChanged accepts an update of an AgentSkill that changes which fields of its spec the operator has
// accepted, or which loss of fields a user has accepted.
var observedChanged = predicate.Funcs{UpdateFunc: func(update event.UpdateEvent) bool {
	before, _ := update.ObjectOld.(*a2av1alpha1.AgentSkill)
	after, ok := update.ObjectNew.(*a2av1alpha1.AgentSkill)
	return ok && (before.Status.ObservedSpecDigest != after.Status.ObservedSpecDigest ||
		before.Status.ObservedSchemaGeneration != after.Status.ObservedSchemaGeneration ||
		before.Annotations[a2av1alpha1.AnnotationAcceptSpec] != after.Annotations[a2av1alpha1.AnnotationAcceptSpec])
}}

// gatewayAPIChanged enqueues the Agents with spec.exposure. It is called when a kind of the
// Gateway API was added or removed, when its CRD has changed, and when its objects became
// readable or unreadable. It also forgets rejected writes, because the API server may accept a
// rejected route after a change of the route's schema.
func (r *AgentReconciler) gatewayAPIChanged(ctx context.Context, queue requestQueue) {
	r.apply.ForgetRejections()
	mapping := agentMapping{cache: r.config.Client, claims: r.claims}
	requests := mapping.exposed(ctx)
	for _, each := range requests {
		mapping.ofClaims(ctx, each.NamespacedName) // only updates the index: requests already contains all exposed Agents
	}
	enqueue(queue, priorityAllAgents, requests...)
}

// indexAgents adds the indexes by which the caches find the Agents of a skill, of a Gateway, of an
// address at a Gateway, of a ServiceAccount and of a ConfigMap with files of skills, and the pods of an Agent.
func indexAgents(ctx context.Context, indexer client.FieldIndexer) error {
	err := errors.Join(
		indexer.IndexField(ctx, &a2av1alpha1.Agent{}, agentsBySkill, skillKeys),
		indexer.IndexField(ctx, &a2av1alpha1.Agent{}, agentsByGateway, gatewayKeys),
		indexer.IndexField(ctx, &a2av1alpha1.Agent{}, agentsByAddress, addressKeys),
		indexer.IndexField(ctx, &a2av1alpha1.Agent{}, agentsByAccount, accountKeys),
		indexer.IndexField(ctx, &a2av1alpha1.Agent{}, byConfigMap, configMapKeys),
		indexer.IndexField(ctx, &a2av1alpha1.AgentSkill{}, byConfigMap, configMapKeys),
		indexer.IndexField(ctx, &corev1.Pod{}, names.PodsByAgent, informercache.PodKeys),
	)
	if err != nil {
		return fmt.Errorf("index Agents and Pods: %w", err)
	}
	return nil
}

// overdueAgents returns a source that enqueues the Agents whose current generation no manager has
// reconciled. It does so once, when the manager becomes the leader. These Agents precede all other
// Agents in the queue.
func overdueAgents(mgr ctrl.Manager, mapping agentMapping) (source.Source, error) {
	queues := make(chan requestQueue, 1)
	err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case queue := <-queues:
			enqueue(queue, priorityOverdue, mapping.agents(ctx, func(agent *a2av1alpha1.Agent) bool {
				return agent.Status.ObservedGeneration != agent.Generation
			})...)
		}
		return nil
	}))
	return source.Func(func(_ context.Context, queue requestQueue) error {
		queues <- queue
		return nil
	}), err
}

// issuerSource delays the first reconciles until the keys of a token issuer have been requested
// once. Otherwise, after each start, every Agent would report that the keys are unknown.
type issuerSource struct {
	source.Source
	tried <-chan struct{}
}

var _ source.SyncingSource = issuerSource{}

// WaitForSync waits until the first request for the keys has succeeded or failed.
func (s issuerSource) WaitForSync(ctx context.Context) error {
	select {
	case <-s.tried:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for issuer keys: %w", ctx.Err())
	}
}
