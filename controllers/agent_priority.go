// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// The priorities of looks at Agents, beside those of the library: 0 for an
// event, and handler.LowPriority for what is there when a manager starts. Of
// several the highest counts.
const (
	// prioritySweep is for what concerns all Agents.
	prioritySweep = handler.LowPriority / 2
	// priorityOverdue is for what a new leader owes. The queue of one that has
	// waited for long has nearly all Agents at 0.
	priorityOverdue = 1
)

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

func enqueue(queue requests, priority int, of ...reconcile.Request) {
	if queue, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, of...)
		return
	}
	for _, each := range of {
		queue.Add(each)
	}
}

// sweep looks at Agents for a reason that all of them have, after those that
// have one of their own.
func sweep[T any](of handler.TypedMapFunc[T, reconcile.Request]) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedFuncs[T, reconcile.Request]{GenericFunc: func(ctx context.Context, e event.TypedGenericEvent[T], queue requests) {
		enqueue(queue, prioritySweep, of(ctx, e.Object)...)
	}}
}

// overdue has a manager that becomes the leader look first at the Agents that
// have changed since anybody looked at them. It returns the source that is to be
// given its queue.
func (r *AgentReconciler) overdue(mgr ctrl.Manager) (source.Source, error) {
	queues := make(chan requests, 1)
	err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case queue := <-queues:
			enqueue(queue, priorityOverdue, r.agents(ctx, func(agent *a2av1alpha1.Agent) bool {
				return agent.Status.ObservedGeneration != agent.Generation
			})...)
		}
		return nil
	}))
	return source.Func(func(_ context.Context, queue requests) error {
		queues <- queue
		return nil
	}), err
}
