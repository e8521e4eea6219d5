// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueue asks for looks at Agents. Of several priorities the highest counts.
func enqueue(queue requests, priority int, of ...reconcile.Request) {
	if queue, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, of...)
		return
	}
	for _, each := range of {
		queue.Add(each)
	}
}

// waited has a manager that starts look first at the Agents that have changed
// since anybody looked at them. All others come with a low priority then.
func waited() handler.EventHandler {
	return handler.Funcs{CreateFunc: func(_ context.Context, e event.CreateEvent, queue requests) {
		agent, ok := e.Object.(*a2av1alpha1.Agent)
		if ok && agent.Status.ObservedGeneration != agent.Generation {
			enqueue(queue, 0, request(agent.Namespace, agent.Name)...)
		}
	}}
}

// behind looks at Agents for a reason that all of them have, after those that
// have one of their own.
func behind[T any](of handler.TypedMapFunc[T, reconcile.Request]) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedFuncs[T, reconcile.Request]{GenericFunc: func(ctx context.Context, e event.TypedGenericEvent[T], queue requests) {
		enqueue(queue, handler.LowPriority, of(ctx, e.Object)...)
	}}
}
