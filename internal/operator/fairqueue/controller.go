// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// RateLimiter delays the retries of a request that failed.
type RateLimiter = workqueue.TypedRateLimiter[reconcile.Request]

// New returns the function that makes the queue of a controller with a number of workers, for the
// field NewQueue of its options. One namespace never has all workers, if there are several.
func New(workers int) func(name string, limiter RateLimiter) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string, limiter RateLimiter) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		order := newTenants(max(workers-1, 1))
		return &queue{
			order: order,
			TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{
				Name: name,
				DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{
					Name: name,
					Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{
						Name:  name,
						Queue: order,
					}),
				}),
			}),
		}
	}
}

// queue adds priorities to the queue of client-go, which has none. A request that is added with a
// delay keeps its priority until its delay ends, unless it is added again and runs before.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	order *tenants
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = (*queue)(nil)

// AddWithOpts adds requests. If a request waits already, the highest of its priorities applies.
func (q *queue) AddWithOpts(options priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, each := range requests {
		q.order.prefer(each, ptr.Deref(options.Priority, 0))
		switch {
		case options.RateLimited:
			q.AddRateLimited(each)
		case options.After > 0:
			q.AddAfter(each, options.After)
		default:
			q.TypedRateLimitingInterface.Add(each)
		}
	}
}

// Add adds a request with the priority 0.
func (q *queue) Add(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{}, request)
}

// Get waits for the next request. After ShutDown, it returns no request, while the queue of
// client-go would return all that wait.
func (q *queue) Get() (request reconcile.Request, shutdown bool) {
	request, _, shutdown = q.GetWithPriority()
	return request, shutdown
}

// GetWithPriority does the same as Get, and returns the priority of the request.
func (q *queue) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	request, shutdown = q.TypedRateLimitingInterface.Get()
	if shutdown {
		return reconcile.Request{}, 0, true
	}
	if q.ShuttingDown() {
		q.Done(request)
		return reconcile.Request{}, 0, true
	}
	return request, q.order.priorityOf(request), false
}

// Done ends a request that Get has returned.
func (q *queue) Done(request reconcile.Request) {
	q.order.release(request)
	q.TypedRateLimitingInterface.Done(request)
}
