// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/crdwatch"
	"github.com/a2a-operator/a2a-operator/internal/gather"
	"github.com/a2a-operator/a2a-operator/internal/issuerkeys"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/remote"
	"github.com/a2a-operator/a2a-operator/internal/skillsharing"
)

// AgentWatches is what starts reconciles of Agents, beside the cache.
type AgentWatches struct {
	// Issuer tells when the keys of ServiceAccount tokens have changed.
	Issuer *issuerkeys.Source
	// Remote tells of which remote agents something else is known.
	Remote *remote.Source
	// Optional are the kinds that the cluster may not have.
	Optional *crdwatch.Kinds
	// MaxConcurrentReconciles is the number of Agents that are worked on at
	// the same time.
	MaxConcurrentReconciles int
}

// SetupWithManager lets a manager run the reconciler.
func (r *AgentReconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watches AgentWatches) error {
	if err := indexAgents(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	overdue, err := r.overdue(mgr)
	if err != nil {
		return fmt.Errorf("add overdue Agents: %w", err)
	}
	byName := func(name string) string { return name }
	// No predicate on Agents: a status that comes back from the API server must
	// be looked at again, for it may have been made from an older one.
	err = ctrl.NewControllerManagedBy(mgr).
		Named("agent").
		For(&a2av1alpha1.Agent{}).
		Watches(&a2av1alpha1.Agent{}, handler.EnqueueRequestsFromMapFunc(r.rivalsOf),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.agentOf(byName))).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(r.agentOf(byName))).
		Watches(&corev1.ServiceAccount{}, handler.EnqueueRequestsFromMapFunc(r.agentOf(byName))).
		Watches(&networkingv1.NetworkPolicy{}, handler.EnqueueRequestsFromMapFunc(r.agentOf(byName))).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, handler.EnqueueRequestsFromMapFunc(r.agentOf(byName))).
		Watches(&policyv1.PodDisruptionBudget{}, handler.EnqueueRequestsFromMapFunc(r.agentOf(byName))).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.agentOf(names.AgentOfConfigMap))).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(agentOfPod)).
		// The status of a skill, which is written whenever an Agent comes or goes,
		// is none of the others' business.
		Watches(&a2av1alpha1.AgentSkill{}, handler.EnqueueRequestsFromMapFunc(r.agentsOfSkill),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}))).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.agentsOfNamespace),
			builder.WithPredicates(predicate.LabelChangedPredicate{}, r.watched.only())).
		WatchesRawSource(overdue).
		WatchesRawSource(issuerSource{
			Source: source.Channel(watches.Issuer.Changes(), sweep(r.everyAgent)),
			tried:  watches.Issuer.Tried(),
		}).
		WatchesRawSource(source.Channel(watches.Remote.Changes(),
			handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, key types.NamespacedName) []reconcile.Request {
				return request(key.Namespace, key.Name)
			}))).
		WatchesRawSource(watches.Optional.Source(crdwatch.Handlers{
			Objects: map[schema.GroupResource]handler.MapFunc{
				gather.Gateways:   r.agentsOfGateway,
				gather.HTTPRoutes: r.agentsOfRoute,
				gather.GRPCRoutes: r.agentsOfRoute,
			},
			Changed: r.gatewayAPIChanged,
		})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: watches.MaxConcurrentReconciles,
			EnableWarmup:            new(true),
			LogConstructor:          lateLog(mgr.GetLogger(), "agent", a2av1alpha1.AgentKind),
		}).
		Complete(reconcile.Func(r.look))
	if err != nil {
		return fmt.Errorf("build controller of Agents: %w", err)
	}
	return nil
}

// issuerSource keeps the workers waiting until the keys were asked for once.
// Else every Agent would be told, after each start, that they are not known.
type issuerSource struct {
	source.Source
	tried <-chan struct{}
}

var _ source.SyncingSource = issuerSource{}

// WaitForSync waits until the keys were read, or could not be.
func (s issuerSource) WaitForSync(ctx context.Context) error {
	select {
	case <-s.tried:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for issuer keys: %w", ctx.Err())
	}
}

// agentOf maps an object to the Agent that owns it, or, for an object that no
// Agent owns, to the Agent that would like to have its name.
func (r *AgentReconciler) agentOf(agentName func(string) string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		owner := metav1.GetControllerOfNoCopy(obj)
		if owner != nil && owner.Kind == a2av1alpha1.AgentKind && owner.APIVersion == a2av1alpha1.GroupVersion.String() {
			return request(obj.GetNamespace(), owner.Name)
		}
		name := agentName(obj.GetName())
		if name == "" {
			return nil
		}
		agent := &a2av1alpha1.Agent{}
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}, agent, client.UnsafeDisableDeepCopy); err != nil {
			return nil
		}
		return request(obj.GetNamespace(), name)
	}
}

// agentOfPod maps a pod to the Agent of its label.
func agentOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[a2av1alpha1.LabelAgent]
	if name == "" {
		return nil
	}
	return request(pod.GetNamespace(), name)
}

// agentsOfSkill maps an AgentSkill to the Agents that name or select it,
// whether it admits them or not. For an update it is asked twice, with the
// labels before and after.
func (r *AgentReconciler) agentsOfSkill(ctx context.Context, skill client.Object) []reconcile.Request {
	asks := func(agent *a2av1alpha1.Agent) bool { return skillsharing.AsksFor(agent, skill) }
	return append(
		r.agents(ctx, asks, client.MatchingFields{agentsBySkill: skillKey(skill.GetNamespace(), skill.GetName())}),
		r.agents(ctx, asks, client.MatchingFields{agentsBySkill: skillKey(skill.GetNamespace(), anySkill)})...)
}

// agentsOfNamespace maps a Namespace to its Agents that may be admitted by
// skills of others, or by Gateways, for its labels.
func (r *AgentReconciler) agentsOfNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	asks := func(agent *a2av1alpha1.Agent) bool {
		return skillsharing.LeavesNamespace(agent) || agent.Spec.Exposure != nil
	}
	return r.agents(ctx, asks, client.InNamespace(namespace.GetName()))
}

// agentsOfGateway maps a Gateway to the Agents that name it.
func (r *AgentReconciler) agentsOfGateway(ctx context.Context, gateway client.Object) []reconcile.Request {
	key := client.ObjectKeyFromObject(gateway).String()
	return r.agents(ctx, func(*a2av1alpha1.Agent) bool { return true }, client.MatchingFields{agentsByGateway: key})
}

// rivalsOf maps an Agent to the others that ask a Gateway for an address of its.
func (r *AgentReconciler) rivalsOf(ctx context.Context, obj client.Object) []reconcile.Request {
	other := func(agent *a2av1alpha1.Agent) bool {
		return agent.Namespace != obj.GetNamespace() || agent.Name != obj.GetName()
	}
	var requests []reconcile.Request
	for _, key := range gather.AddressKeys(obj) {
		requests = append(requests, r.agents(ctx, other, client.MatchingFields{gather.AgentsByAddress: key})...)
	}
	return requests
}

// agentsOfRoute maps a route to its Agent, and to those that wait for what it
// has.
func (r *AgentReconciler) agentsOfRoute(ctx context.Context, route client.Object) []reconcile.Request {
	requests := r.agentOf(func(name string) string { return name })(ctx, route)
	for _, its := range requests {
		agent := &a2av1alpha1.Agent{}
		if err := r.client.Get(ctx, its.NamespacedName, agent, client.UnsafeDisableDeepCopy); err == nil {
			requests = append(requests, r.rivalsOf(ctx, agent)...)
		}
	}
	return requests
}

// gatewayAPIChanged looks at the Agents that the presence of the Gateway API
// matters to, or its schema: with another one, a route that was refused may be
// taken.
func (r *AgentReconciler) gatewayAPIChanged(ctx context.Context, queue requests) {
	r.apply.Forget()
	enqueue(queue, prioritySweep, r.agents(ctx, func(agent *a2av1alpha1.Agent) bool { return agent.Spec.Exposure != nil })...)
}

// everyAgent maps a change of the issuer to all Agents.
func (r *AgentReconciler) everyAgent(ctx context.Context, _ *clusterstate.Issuer) []reconcile.Request {
	return r.agents(ctx, func(*a2av1alpha1.Agent) bool { return true })
}

func (r *AgentReconciler) agents(ctx context.Context, wanted func(*a2av1alpha1.Agent) bool, options ...client.ListOption) []reconcile.Request {
	list := &a2av1alpha1.AgentList{}
	// The list is only looked at.
	if err := r.client.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		log.FromContext(ctx).Error(err, "cannot list Agents")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if wanted(&list.Items[i]) {
			requests = append(requests, request(list.Items[i].Namespace, list.Items[i].Name)...)
		}
	}
	return requests
}

func request(namespace, name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}
