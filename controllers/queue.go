// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The priorities of reconciles of Agents, in addition to those of controller-runtime: 0 for an
// event, and handler.LowPriority for objects that exist when a manager starts. If a request
// is enqueued several times, the highest priority applies. Package fairqueue orders namespaces.
const (
	// priorityAllAgents is the priority of reconciles after a change that affects all Agents.
	priorityAllAgents = handler.LowPriority / 2
	// priorityOverdue is the priority of the Agents that overdueAgents enqueues. It is above
	// 0, because a manager that waited long for its leadership has nearly all Agents in its
	// queue with priority 0.
	priorityOverdue = 1
)

// reconcileTimeout ends the context of a reconcile. A reconcile of an Agent sends some ten requests to
// the API server. Each of them may wait ten seconds for an admission webhook. The bounds of packages
// celcompile and agentskill limit the time of what does not wait.
const reconcileTimeout = 2 * time.Minute

type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueue adds requests to a queue. If it is a priority queue, the requests have the given
// priority.
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
func enqueueAllAgents[T any](requests func(context.Context) []reconcile.Request) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedFuncs[T, reconcile.Request]{GenericFunc: func(ctx context.Context, _ event.TypedGenericEvent[T], queue requestQueue) {
		enqueue(queue, priorityAllAgents, requests(ctx)...)
	}}
}

// request returns a list with the request for one object. If no object can have the name, it returns none: an owner reference of a
// tenant may have any name, also that of a fan-out.
func request(namespace, name string) []reconcile.Request {
	if strings.Contains(name, fanOutMark) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// watchedNamespaces lists the namespaces whose objects are cached; empty means all. A cached
// read of another namespace fails.
type watchedNamespaces []string

func (w watchedNamespaces) has(name string) bool {
	return len(w) == 0 || slices.Contains(w, name)
}

// only returns a predicate that accepts only the events of watched Namespaces. The cache
// contains all Namespaces, because they are cluster-scoped.
func (w watchedNamespaces) only() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(namespace client.Object) bool { return w.has(namespace.GetName()) })
}
