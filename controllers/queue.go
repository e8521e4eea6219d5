// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Priorities of reconciles of Agents, besides those of controller-runtime: 0 for an event,
// and handler.LowPriority for objects that exist when a manager starts. A request that is
// enqueued several times has the highest of its priorities.
const (
	// priorityAllAgents is for a change that concerns all Agents.
	priorityAllAgents = handler.LowPriority / 2
	// priorityOverdue is for Agents whose current generation no manager has reconciled when a
	// manager becomes the leader. The queue of a manager that waited for long has nearly all
	// Agents at priority 0.
	priorityOverdue = 1
)

type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueue adds requests to a queue with a priority, if it is a priority queue.
func enqueue(queue requestQueue, priority int, requests ...reconcile.Request) {
	if queue, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, requests...)
		return
	}
	for _, each := range requests {
		queue.Add(each)
	}
}

// enqueueAllAgents returns a handler that enqueues requests with priorityAllAgents.
func enqueueAllAgents[T any](requests handler.TypedMapFunc[T, reconcile.Request]) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedFuncs[T, reconcile.Request]{GenericFunc: func(ctx context.Context, e event.TypedGenericEvent[T], queue requestQueue) {
		enqueue(queue, priorityAllAgents, requests(ctx, e.Object)...)
	}}
}

// request returns one request.
func request(namespace, name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}
